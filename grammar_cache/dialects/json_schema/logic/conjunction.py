"""Atoms that hold together, brought into the form: one shape or another.

Following what the atoms refer to, and choosing where there is a choice, gives the alternatives; in each of them the
assertions are merged into a `Shape`. What a shape says of items and members is again a conjunction, so that merging
is exact. Alternatives that contradict themselves are dropped as soon as that can be seen, a few levels deep.

There are two readings. The exact one is what is generated. The loose one is wider than the schema: where it has no
alternative left, no value satisfies the schema by any reading. That is how schemas are told to exclude each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Final

from grammar_cache.dialects.json_schema.logic.assertions import FactReader
from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.logic.member_values import FREE, MemberValues
from grammar_cache.dialects.json_schema.logic.negation_order import Denials
from grammar_cache.dialects.json_schema.logic.possibility import Possibility
from grammar_cache.dialects.json_schema.logic.search import Search
from grammar_cache.dialects.json_schema.logic.shape import Shape
from grammar_cache.dialects.json_schema.logic.tags import alike, told_by
from grammar_cache.dialects.json_schema.schema.atoms import TRUE, Conjunction, is_schema, negation, pointer
from grammar_cache.dialects.json_schema.strings.patterns import Patterns
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded
from grammar_cache.limits import Limits

_STEPS_PER_RULE = 4
"""Steps of a search per rule of the limit: 200,000 with the usual limit, which take some 0.7 s.
MaskBench's schemas that compile need up to 66,000."""
_MOST_SHAPES = 2_000
"""Alternatives, but for those that list their values: each takes half a millisecond. MaskBench's schemas make up to
729."""
_MOST_DENIALS = 32
"""Alternatives up to which each way to break a schema is one. Where there are more, one that is possible is taken: a
schema is broken by leaving out what it requires rather than by exotic values, and rather by leaving out what the
schemas that hold don't list."""
_MOST_TRIED = 1_000
_LEVELS: Final = 3
"""Depth to which contradictions are looked for; each level is a level of recursion, here and in `search`."""


class Conjunctions:
    """The shapes of conjunctions, each worked out once."""

    def __init__(self, reader: FactReader, patterns: Patterns, limits: Limits) -> None:
        self._reader = reader
        self._patterns = patterns
        self._limits = limits
        self._fuel = limits.rules * _STEPS_PER_RULE
        self._known: dict[Conjunction, tuple[Shape, ...]] = {}
        self._met: dict[frozenset[str], Conjunction] = {}
        self._empty: dict[tuple[Conjunction, int], bool] = {}
        self._excluded: dict[tuple[str, Conjunction], bool] = {}
        self._alone: dict[tuple[tuple[str, ...], frozenset[str]], tuple[Conjunction, ...]] = {}
        self._twice: dict[tuple[str, ...], frozenset[str]] = {}
        self._ends: dict[str, str] = {}
        self._members: dict[str, MemberValues] = {}

    def first_met(self, conjunction: Conjunction) -> Conjunction:
        """The schemas, each once, in the order in which they were first asked for together."""
        said = tuple([atom for atom in dict.fromkeys(conjunction) if atom != TRUE])
        return self._met.setdefault(frozenset(said), said) if len(said) > 1 else said

    def shapes(self, conjunction: Conjunction) -> tuple[Shape, ...]:
        """The alternatives, without those that are seen to exclude themselves."""
        if conjunction not in self._known:
            met = self.first_met(conjunction)
            self._known[conjunction] = self._worked_out(met) if met == conjunction else self.shapes(met)
        return self._known[conjunction]

    def _worked_out(self, conjunction: Conjunction) -> tuple[Shape, ...]:
        plain = self._plain(conjunction, self._reader.facts)
        if plain is not None:
            shape = self._one_shape(*plain, _LEVELS)
            return (shape,) if shape.types else ()
        found, whole = self._found(conjunction, Denials.EACH)
        if whole:
            return found
        thrifty = (self._found(conjunction, way)[0] for way in (Denials.GENTLEST, Denials.FIRST))
        fewer = {shape.key: shape for shape in chain.from_iterable(thrifty)}
        return tuple(fewer.values()) or found  # each way that a thrifty search takes may turn out to be impossible

    def _found(
        self, conjunction: Conjunction, denials: Denials, *, forgiving: bool = False
    ) -> tuple[tuple[Shape, ...], bool]:
        """The alternatives, and whether these are all: not where they are too many, but a thrifty search would find
        fewer.
        """
        search = Search(self, self._reader, _LEVELS, denials=denials, forgiving=forgiving)
        found: dict[Conjunction, Shape] = {}
        open_ended = 0
        for shape in search.alternatives(conjunction):
            found.setdefault(shape.key, shape)
            too_many = len(found) > _MOST_DENIALS or search.tried > _MOST_TRIED
            if too_many and search.denies and denials is Denials.EACH:
                return tuple(found.values()), False
            open_ended += not shape.values
            if open_ended > _MOST_SHAPES:
                message = f"the schema makes more than {_MOST_SHAPES} combinations"
                raise LimitExceeded(message, limit="rules", pointer=pointer(conjunction[0]))
        if not found and search.refused is not None and not forgiving:
            # Raises, unless the request is lenient.
            self._reader.unenforced.refuse(search.refused.pointer or "", search.refused.message)
            return self._found(conjunction, denials, forgiving=True)
        return tuple(found.values()), True

    def _plain(self, conjunction: Conjunction, read: Callable[[str], Facts]) -> tuple[str, Facts] | None:
        """The schema that all comes down to, as it does for most, and its facts: one that neither refers nor chooses,
        or that others do nothing but refer to. None for what is to be searched.
        """
        if not conjunction:
            self.spend("")
            return TRUE, read(TRUE)
        start, *more = conjunction
        if more or not is_schema(start):
            return None
        atom, facts = start, read(start)
        if facts.others:
            atom = self.end(start)
            facts = read(atom)
        if facts.refers or facts.refusal or facts.looks_around:
            return None
        if atom != start and facts.asserts:
            self.spend(start)
        self.spend(atom, 2)
        return atom, facts

    def _one_shape(self, atom: str, facts: Facts, levels: int) -> Shape:
        """The only shape of a schema that neither refers nor chooses; of no type where that is seen to be impossible
        so many levels deep.
        """
        shape = Shape.of((atom,) if facts.asserts else (), facts)
        if not facts.asks:
            return shape
        types = self.possible(shape, levels)
        return shape if types == shape.types else replace(shape, types=types)

    def empty(self, conjunction: Conjunction, levels: int = _LEVELS) -> bool:
        """Whether no value satisfies all the atoms, as far as that is seen so many levels deep."""
        known = (conjunction, levels)
        if known not in self._empty:
            plain = self._plain(conjunction, self._reader.loose)
            if plain is None:
                search = Search(self, self._reader, levels, loose=True)
                self._empty[known] = next(search.alternatives(conjunction), None) is None
            elif plain[1].asks:
                self._empty[known] = not self._one_shape(*plain, levels).types
            else:  # the same, however deep one looks
                self._empty |= {(conjunction, depth): not plain[1].types for depth in range(_LEVELS + 1)}
        return self._empty[known]

    def possible(self, shape: Shape, levels: int) -> frozenset[str]:
        """Types of the shape that are not seen to be impossible so many levels deep."""
        return Possibility(self.empty, self._patterns, self.spend).types(shape, levels)  # kept, it would be a cycle

    def held_twice(self, group: tuple[str, ...]) -> frozenset[str]:
        """Types of all of whose values two of the atoms hold, or more, as is seen from what they say themselves. None
        where it isn't known what they say, as keywords may be dropped.
        """
        if group not in self._twice:
            once, twice = frozenset[str](), frozenset[str]()
            for atom in () if self._reader.unenforced.lenient else group:
                facts = self._reader.facts(self.end(atom))
                if not (facts.refers or facts.refusal or facts.looks_around):
                    held = facts.types - facts.asked
                    once, twice = once | held, twice | (once & held)
            self._twice[group] = twice
        return self._twice[group]

    def one_alone(self, group: tuple[str, ...], types: frozenset[str]) -> tuple[Conjunction, ...]:
        """Conjunction for each atom: that it holds and no other does, of which those that it excludes needn't be
        denied, among values of these types.
        """
        known = (group, types)
        if known not in self._alone:
            telling = [told_by(self._loosely(atom), self._loosely, types) for atom in group]
            self.spend(group[0], sum(len(values) for told in telling for values in told.values()))
            self._alone[known] = tuple(
                (atom, *(negation(group[other]) for other in others if not self._disjoint(atom, group[other])))
                for atom, others in zip(group, alike(telling), strict=True)
            )
        return self._alone[known]

    def _loosely(self, atom: str) -> Facts:
        return self._reader.loose(self.end(atom))

    def _disjoint(self, atom: str, other: str) -> bool:
        """Whether two atoms are seen to exclude each other."""
        return self.empty((atom, other) if atom < other else (other, atom), _LEVELS - 1)

    def member_values(self, atom: str) -> MemberValues:
        """Values that the atom itself lists for members of objects, and members that it requires."""
        if atom not in self._members:
            facts = self._reader.loose(atom)
            asks = facts.objects and not facts.refusal
            members = MemberValues.of(facts.object, self._reader.lists, self._reader.loose) if asks else FREE
            self._members[atom] = members
        return self._members[atom]

    def excluded(self, atom: str, asserted: Conjunction) -> bool:
        """Whether an atom is seen to hold of no value of which the own assertions of these hold."""
        known = (atom, asserted)
        if known not in self._excluded:
            search = Search(self, self._reader, _LEVELS - 1, loose=True)
            self._excluded[known] = next(search.alternatives((atom,), asserted), None) is None
        return self._excluded[known]

    def end(self, atom: str) -> str:
        """End of a chain of atoms that do nothing but refer to one other, by keywords that their drafts know."""
        if atom in self._ends:
            return self._ends[atom]
        trail: dict[str, None] = {}
        while atom not in self._ends:
            if atom in trail:
                raise GrammarSyntaxError("the schema leads back to itself", pointer=pointer(atom))
            trail[atom] = None
            facts = self._reader.facts(atom)
            alone = not (facts.asserts or facts.choices or facts.exactly) and self._reader.loose(atom) is facts
            others = facts.others if alone else ()
            if len(others) == 1 and is_schema(others[0]) == is_schema(atom):
                atom = others[0]
            else:
                self._ends[atom] = atom
        end = self._ends[atom]
        self._ends.update(dict.fromkeys(trail, end))
        return end

    def spend(self, atom: str, steps: int = 1) -> None:
        """Count steps of work, of which a small schema can ask for millions."""
        self._fuel -= steps
        if self._fuel < 0:
            message = f"the schema asks for more than {self._limits.rules * _STEPS_PER_RULE} steps of work"
            raise LimitExceeded(message, limit="rules", pointer=pointer(atom))
