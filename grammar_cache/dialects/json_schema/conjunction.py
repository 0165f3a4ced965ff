"""Schemas that hold together, brought into the form: one shape or another.

A conjunction is a list of pointers. Following `$ref`, `allOf` and `anyOf` from each gives the alternatives;
in each of them the assertions are merged, type by type, into a `Shape`. What a shape says of items and
members is again a conjunction, so that merging is exact, and never looks further down than one level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from grammar_cache.dialects.json_schema.arrays import ArrayFacts
from grammar_cache.dialects.json_schema.facts import ANY_TYPE, FactReader
from grammar_cache.dialects.json_schema.loading import Json
from grammar_cache.dialects.json_schema.numbers import Interval
from grammar_cache.dialects.json_schema.objects import ObjectFacts
from grammar_cache.dialects.json_schema.strings import StringFacts
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded
from grammar_cache.limits import Limits

Conjunction: TypeAlias = tuple[str, ...]
_STEPS_PER_RULE = 4
_MOST_SHAPES = 10_000


@dataclass(frozen=True, slots=True)
class Shape:
    """The merged assertions of the schemas in `key`."""

    key: Conjunction
    types: frozenset[str]
    values: tuple[tuple[Json, ...], ...]
    text: StringFacts
    interval: Interval
    arrays: tuple[ArrayFacts, ...]
    objects: tuple[ObjectFacts, ...]


@dataclass(frozen=True, slots=True)
class _Todo:
    """A schema to follow; `own`: its own assertions, in their place among others. `parent` tells loops."""

    pointer: str
    parent: _Todo | None
    own: bool = False

    def leads_back(self) -> bool:
        above = self.parent
        while above is not None:
            if above.pointer == self.pointer:
                return True
            above = above.parent
        return False


class Conjunctions:
    """The shapes of conjunctions, each worked out once."""

    def __init__(self, reader: FactReader, limits: Limits) -> None:
        self._reader = reader
        self._limits = limits
        self._fuel = limits.rules * _STEPS_PER_RULE
        self._known: dict[Conjunction, tuple[Shape, ...]] = {}
        self._ends: dict[str, str] = {}

    def shapes(self, conjunction: Conjunction) -> tuple[Shape, ...]:
        """The alternatives, without those whose types exclude each other."""
        if conjunction not in self._known:
            keys = dict.fromkeys(self._alternatives(conjunction))
            shapes = (self._shape(key) for key in keys)
            self._known[conjunction] = tuple(shape for shape in shapes if shape.types)
        return self._known[conjunction]

    def _alternatives(self, conjunction: Conjunction) -> Iterator[Conjunction]:
        todo = [_Todo(pointer, None) for pointer in reversed(conjunction)]
        states: list[tuple[list[_Todo], dict[str, None], set[str]]] = [(todo, {}, set())]
        found = 0
        while states:
            todo, own, seen = states.pop()
            choices = self._follow(todo, own, seen)
            if choices is None:
                found += 1
                if found > _MOST_SHAPES:
                    message = f"anyOf makes more than {_MOST_SHAPES} combinations"
                    raise LimitExceeded(message, limit="rules", pointer=conjunction[0])
                yield tuple(own)
            else:
                states.extend(([*todo, choice], own.copy(), seen.copy()) for choice in reversed(choices))

    def _follow(self, todo: list[_Todo], own: dict[str, None], seen: set[str]) -> list[_Todo] | None:
        """Take from `todo` until it is empty (None) or a choice has to be made."""
        while todo:
            item = todo.pop()
            if item.own:
                own[item.pointer] = None
                continue
            self.spend(item.pointer)
            item = _Todo(self._end(item.pointer), item.parent)
            if item.pointer in seen:
                if item.leads_back():
                    raise GrammarSyntaxError("the schema leads back to itself", pointer=item.pointer)
                continue
            seen.add(item.pointer)
            facts = self._reader.facts(item.pointer)
            after = [_Todo(pointer, item) for pointer in facts.others]
            if facts.asserts:
                after.insert(facts.leading, _Todo(item.pointer, item, own=True))
            todo.extend(reversed(after))
            if facts.choices is not None:
                return [_Todo(choice, item) for choice in facts.choices]
        return None

    def _end(self, pointer: str) -> str:
        """Where a chain of schemas that do nothing but refer to one other ends."""
        trail: dict[str, None] = {}
        while pointer not in self._ends:
            if pointer in trail:
                raise GrammarSyntaxError("the schema leads back to itself", pointer=pointer)
            trail[pointer] = None
            facts = self._reader.facts(pointer)
            if facts.asserts or facts.choices is not None or len(facts.others) != 1:
                self._ends[pointer] = pointer
            else:
                pointer = facts.others[0]
        end = self._ends[pointer]
        self._ends.update(dict.fromkeys(trail, end))
        return end

    def spend(self, pointer: str, steps: int = 1) -> None:
        """Count steps of work, of which a small schema can ask for millions."""
        self._fuel -= steps
        if self._fuel < 0:
            message = f"the schema asks for more than {self._limits.rules * _STEPS_PER_RULE} steps of work"
            raise LimitExceeded(message, limit="rules", pointer=pointer)

    def _shape(self, key: Conjunction) -> Shape:
        self.spend(key[-1] if key else "", len(key))
        all_facts = [self._reader.facts(pointer) for pointer in key]
        text, interval = StringFacts(), Interval()
        for facts in all_facts:
            text, interval = text.both(facts.text), interval.both(facts.interval)
        return Shape(
            key,
            ANY_TYPE.intersection(*(facts.types for facts in all_facts)),
            tuple(values for facts in all_facts for values in facts.values),
            text,
            interval,
            tuple(facts.array for facts in all_facts if not facts.array.free),
            tuple(facts.object for facts in all_facts if not facts.object.free),
        )
