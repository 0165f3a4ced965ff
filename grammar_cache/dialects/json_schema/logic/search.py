"""Going through the alternatives of a conjunction, depth first.

What holds without a choice is followed first; then the group with the fewest ways left is chosen from. There are two
readings, see `conjunction`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations

from grammar_cache.dialects.json_schema.logic.assertions import FactReader
from grammar_cache.dialects.json_schema.logic.facts import Facts
from grammar_cache.dialects.json_schema.logic.negation_order import Denials, apart, ordered, types_left
from grammar_cache.dialects.json_schema.logic.search_branch import Branch, ConjunctionGroup, Todo
from grammar_cache.dialects.json_schema.logic.search_context import SearchContext
from grammar_cache.dialects.json_schema.logic.shape import Shape, merged
from grammar_cache.dialects.json_schema.logic.unevaluated import left_over
from grammar_cache.dialects.json_schema.logic.written_order import written_names
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction, is_schema, negation, pointer
from grammar_cache.dialects.json_schema.schema.values import ANY_TYPE, OBJECTS
from grammar_cache.errors import GrammarSyntaxError, UnsupportedFeature

_MOST_TOGETHER = 4
"""Alternatives up to which any of them are looked at together, where it matters which hold."""
_TRIED = 200
"""Branches tried before two schemas are taken not to exclude each other."""
_STEPS_OF_A_CHOICE = 10
"""Steps that reading one group of choices is charged as, by its time. Many are charged as an eighth of their square:
each that is chosen from is a branch in which all the others are looked at."""

_NAMES_OF_A_STEP = 4
"""Names that are put in order in the time of a step."""
_VALUES_OF_A_STEP = 50
"""Values, listed or excluded, that are put together or compared in the time of a step."""


class Search:
    """Goes through the alternatives of conjunctions, in one of the two readings.

    `denials`: which ways to break a schema are gone. `forgiving`: passes over what can't be enforced.
    """

    def __init__(
        self,
        context: SearchContext,
        reader: FactReader,
        levels: int,
        *,
        loose: bool = False,
        denials: Denials = Denials.EACH,
        forgiving: bool = False,
    ) -> None:
        self._context = context
        self._reader = reader
        self._levels = levels
        self._loose = loose
        self._denials = denials
        self._thrifty = denials is not Denials.EACH
        self._forgiving = forgiving or loose
        self.refused: UnsupportedFeature | None = None
        """Reason why an alternative was left out, if one was."""
        self.denies = False
        """Whether a choice was between ways to break a schema."""
        self.tried = 0

    def alternatives(self, conjunction: Conjunction, asserted: Conjunction = ()) -> Iterator[Shape]:
        """Depth first. A branch is left out if it was only to be tried where those before it yield nothing.

        Atoms in `asserted` hold by their own assertions, not by what they refer to.
        """
        start = Branch.start(conjunction, {atom: self._facts(atom) for atom in asserted})
        branches: list[tuple[Branch, int | None]] = [(start, None)]
        found = 0
        while branches:
            branch, unless = branches.pop()
            self.tried += 1
            if (unless is not None and found > unless) or not self._settle(branch):
                continue
            shape = self._shape(branch)
            if not shape.types:
                continue
            if branch.unequal and not branch.groups and not shape.values:
                self._expand(branch)
                branches.append((branch, unless))
                continue
            if not branch.groups or (self._loose and self.tried > _TRIED):
                found += 1
                yield shape
                continue
            group = min(branch.groups, key=lambda each: (self._thrifty and each.denies, len(each.ways)))
            self.denies = self.denies or group.denies
            if self._thrifty and group.denies:
                branches.extend(reversed(self._broken(branch, group, found)))
            else:
                branch.groups.remove(group)
                branches.extend((branch.taking(way, group.owner), None) for way in reversed(group.ways))

    def _broken(self, branch: Branch, group: ConjunctionGroup, found: int) -> list[tuple[Branch, int | None]]:
        """The branches in which one way to break a schema is gone, the first that is possible for each type."""
        parts = apart(branch.types, group.ways, self._facts)
        if len(parts) > 1:
            return [(branch.taking((self._of_types(part, group.owner.atom),), group.owner), None) for part in parts]
        branch.groups.remove(group)
        ways = ordered(group.ways, self._denials, branch.own, self._facts)
        return [(branch.taking(way, group.owner), found) for way in ways]

    def _shape(self, branch: Branch) -> Shape:
        """Shape of a branch, with the types that are possible. What schemas state comes as it is written, before what
        follows from others.
        """
        own = tuple(branch.own)
        self._context.spend(own[-1] if own else "", len(own) + 1)
        key, names = own, tuple[str, ...]()
        if not self._loose:
            stated = self._reader.written.schemas(branch)
            # what is yet to be chosen may evaluate more
            unseen = () if branch.groups else left_over(branch, self._reader, self._context, self._facts)
            key = (*stated, *(atom for atom in own if not is_schema(atom)), *unseen)
            names = written_names(branch, stated, self._facts)
            self._context.spend(own[-1] if own else "", len(names) // _NAMES_OF_A_STEP)
        shape = merged(key, [self._facts(atom) for atom in key], branch.text, branch.interval, names)
        if shape.values and branch.unequal:
            atoms = tuple(item.atom for item in branch.unequal)
            shape = replace(shape, key=(*key, *atoms), denied=frozenset(filter(None, map(self._reader.denied, atoms))))
        types = self._context.possible(shape, self._levels)
        return shape if types == shape.types else replace(shape, types=types)

    def _expand(self, branch: Branch) -> None:
        """Denies, by its parts, a value that must not be, where no values are listed."""
        for item in branch.unequal:
            branch.groups += [self._group(item, ways) for ways in self._facts(item.atom).choices]
        branch.unequal = []

    def _facts(self, atom: str) -> Facts:
        facts = self._reader.loose(atom) if self._loose else self._reader.facts(atom)
        return Facts(types=facts.types) if facts.refusal and self._forgiving else facts

    def _settle(self, branch: Branch) -> bool:
        """Follow all that holds without a choice; False if it contradicts itself."""
        while True:
            while branch.todo:
                if not self._follow(branch):
                    return False
            groups, branch.groups = branch.groups, []
            for group in groups:
                ways = self._open(branch, group)
                if ways is None:
                    continue
                if not ways:
                    return False
                if len(ways) == 1:
                    branch.add(ways[0], group.owner)
                else:
                    branch.groups.append(ConjunctionGroup(group.owner, ways, group.watched))
            if not branch.todo:
                return True

    def _follow(self, branch: Branch) -> bool:
        """Take the next atom; False if it contradicts the others."""
        item = branch.todo.pop()
        if item.own:
            branch.note(item, self._facts(item.atom))
            excluded = len(branch.text.excluded) + len(branch.interval.excluded)
            self._context.spend(item.atom, excluded // _VALUES_OF_A_STEP)
            return True
        self._context.spend(item.atom)
        end = self._context.end(item.atom)
        item = item if end == item.atom else Todo(end, item.parent, choices=item.choices, named=item.atom)
        if item.parent is not None:
            branch.steps.append((item.parent.atom, item.atom))
        if item.atom in branch.seen:
            self._check_loop(item)
            return True
        if negation(item.atom) in branch.seen:
            # What comes to deny itself is no contradiction: it has no meaning, so it excludes nothing.
            return self._loose and item.comes_from(negation(item.atom))
        facts = self._facts(item.atom)
        if facts.refusal:
            self._refuse(item.atom, facts)
            return False
        branch.seen.add(item.atom)
        if self._reader.denied(item.atom) is not None:
            branch.unequal.append(item)
            return True
        spared = self._spared(branch, item.atom, facts)
        if spared is not None:
            branch.todo.extend(Todo(atom, item, choices=item.choices) for atom in spared)
            return True
        branch.types &= facts.types
        branch.todo.extend(Todo(atom, item, choices=item.choices) for atom in reversed(facts.others))
        if facts.asserts:
            branch.todo.append(Todo(item.atom, item, own=True, choices=item.choices))
        groups = len(facts.choices)
        self._context.spend(item.atom, groups * max(_STEPS_OF_A_CHOICE, groups // 8))
        branch.groups.extend(self._group(item, ways) for ways in facts.choices)
        for group in facts.exactly:
            self._take_one(branch, item, group)
        return bool(branch.types)

    def _take_one(self, branch: Branch, item: Todo, group: tuple[str, ...]) -> None:
        """One of the atoms holds and no other: types of all of whose values two of them hold are out."""
        held = frozenset[str]() if self._loose else self._context.held_twice(group)
        if not branch.types.isdisjoint(held):
            branch.types -= held
            branch.todo.append(Todo(self._of_types(ANY_TYPE - held, item.atom), item, choices=item.choices))
        branch.groups.append(ConjunctionGroup(item, self._one_way_each(group, branch.types)))

    def _spared(self, branch: Branch, atom: str, facts: Facts) -> Conjunction | None:
        """Conjunction that the denial of a schema comes down to where what holds excludes the schema anyway: no way to
        break it need be chosen, but values of types that it asks nothing of are out. None where it may hold.
        """
        if self._loose or not facts.choices or not branch.own or not is_schema(negation(atom)):
            return None
        types = types_left(chain.from_iterable(facts.choices), self._facts)
        left = () if branch.types <= types else (self._of_types(types, atom),)
        denied = negation(atom)
        if branch.types & types == OBJECTS and self._members_exclude(branch, denied):
            return left
        return left if self._context.excluded(denied, (*branch.own, *left)) else None

    def _members_exclude(self, branch: Branch, atom: str) -> bool:
        """Whether listed values of members leave no object of which the atom holds too."""
        if not self._facts(atom).objects:
            return False
        for own in branch.unread:
            more = self._context.member_values(own)
            branch.members = branch.members.both(more)
            self._context.spend(own, (branch.members.size + more.size) // _VALUES_OF_A_STEP)
        branch.unread = ()
        asked = self._context.member_values(atom)
        self._context.spend(atom, asked.size // _VALUES_OF_A_STEP)
        return branch.members.excludes(asked)

    def _of_types(self, types: frozenset[str], origin: str) -> str:
        return self._reader.make(Facts(types=types), pointer(origin))

    @staticmethod
    def _check_loop(item: Todo) -> None:
        if item.leads_back():
            raise GrammarSyntaxError("the schema leads back to itself", pointer=pointer(item.atom))

    def _one_way_each(self, group: tuple[str, ...], types: frozenset[str]) -> tuple[Conjunction, ...]:
        """One of the atoms, and none of the others, of values of these types."""
        return tuple((atom,) for atom in group) if self._loose else self._context.one_alone(group, types)

    def _group(self, owner: Todo, ways: tuple[Conjunction, ...]) -> ConjunctionGroup:
        """Group of these ways. Where it matters which of the ways are gone, several may be gone together."""
        watched = not self._loose and self._is_watched(owner)
        if watched and len(ways) <= _MOST_TOGETHER:
            sizes = range(1, len(ways) + 1)
            together = (chain.from_iterable(some) for size in sizes for some in combinations(ways, size))
            ways = tuple(tuple(dict.fromkeys(atoms)) for atoms in together)
        return ConjunctionGroup(owner, ways, watched)

    def _is_watched(self, owner: Todo) -> bool:
        above: Todo | None = owner if self._reader.looks_around else None
        while above is not None and is_schema(above.atom):
            if self._facts(above.atom).looks_around:
                return True
            above = above.parent
        return False

    def _open(self, branch: Branch, group: ConjunctionGroup) -> tuple[Conjunction, ...] | None:
        """The ways that may still be gone, of those that lead to the same one; None if one of them is gone already."""
        found: dict[Conjunction, Conjunction] = {}
        gone = False
        for way in group.ways:
            verdicts = [self._verdict(branch, atom, group.owner) for atom in way]
            if False not in verdicts:
                found.setdefault(tuple(map(self._context.end, way)), way)
                gone = gone or (None not in verdicts and not group.watched)
        return None if gone else tuple(found.values())

    def _verdict(self, branch: Branch, atom: str, owner: Todo) -> bool | None:
        """Whether an atom holds in the branch anyway, or never; None where that is open."""
        self._context.spend(atom)
        end = self._context.end(atom)
        if end in branch.seen:
            self._check_loop(Todo(end, owner))
            return True
        if negation(end) in branch.seen:
            return False
        facts = self._facts(end)
        if facts.refusal:
            self._refuse(end, facts)
            return False
        types = facts.types & branch.types
        if not types or (types == OBJECTS and self._members_exclude(branch, end)):
            return False
        return True if not facts.refers and facts.holds_of_all(branch.types) else None

    def _refuse(self, atom: str, facts: Facts) -> None:
        self.refused = self.refused or UnsupportedFeature(facts.refusal, pointer=pointer(atom))
