"""Possible types of values under a shape, as far as they are seen without writing the values.

A type that is called impossible is so by any reading of the schema; others may still be.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from grammar_cache.dialects.json_schema.containers import array_facts, object_facts
from grammar_cache.dialects.json_schema.containers.array_facts import Contains
from grammar_cache.dialects.json_schema.containers.keys import ByName
from grammar_cache.dialects.json_schema.containers.object_facts import Some
from grammar_cache.dialects.json_schema.logic.shape import Shape
from grammar_cache.dialects.json_schema.numbers.interval import Interval
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.values import NUMBERS, identity, type_name
from grammar_cache.dialects.json_schema.strings.patterns import Patterns

_PLACES = 16
"""Items looked at, from the first on."""
_ASKED_A_STEP = 10
"""Schemas asked about one member that count as one step of work."""


class Possibility:
    """`empty` says of a conjunction whether no value satisfies it, as far as that is seen so many levels deep. `spend`
    is told of the steps of work.
    """

    def __init__(
        self, empty: Callable[[Conjunction, int], bool], patterns: Patterns, spend: Callable[[str, int], None]
    ) -> None:
        self._empty = empty
        self._patterns = patterns
        self._spend = spend

    def types(self, shape: Shape, levels: int) -> frozenset[str]:
        """Types of the shape that are not seen to be impossible so many levels deep."""
        impossible: set[str] = set()
        if "string" in shape.types and shape.text.contradictory:
            impossible.add("string")
        if shape.types & NUMBERS and _crossed(shape.interval):
            impossible |= NUMBERS
        if "array" in shape.types and shape.arrays and not self._array(shape, levels):
            impossible.add("array")
        if "object" in shape.types and shape.objects and not self._object(shape, levels):
            impossible.add("object")
        left = shape.types - impossible
        return left if not shape.values or self._listed(shape, left) else frozenset()

    def _without(self, conjunction: Conjunction, levels: int) -> bool:
        """Whether a part of a value is seen to be impossible, the value being looked at so many levels deep."""
        return levels > 0 and self._empty(conjunction, levels - 1)

    def _listed(self, shape: Shape, types: frozenset[str]) -> bool:
        """Whether all enumerations hold some value that the shape doesn't evidently exclude."""
        first, *others = shape.values
        listings = [frozenset(map(identity, values)) for values in others]
        self._spend(shape.key[-1], sum(map(len, shape.values)))
        return any(
            _fits(value, shape, types) and self._held(identity(value), listings, shape.denied) for value in first
        )

    @staticmethod
    def _held(name: str, listings: list[frozenset[str]], denied: frozenset[str]) -> bool:
        return name not in denied and all(name in listing for listing in listings)

    def _array(self, shape: Shape, levels: int) -> bool:
        least, most = array_facts.counts(shape.arrays)
        if most is not None and most < least:
            return False
        if any(self._without(array_facts.about(shape.arrays, place), levels) for place in range(min(least, _PLACES))):
            return False
        counts = (count for facts in shape.arrays for count in facts.contains if count.least)
        return not any(self._missing(count, shape, levels) for count in counts)

    def _missing(self, count: Contains, shape: Shape, levels: int) -> bool:
        """Whether no item can be one of those that are to be contained."""
        length = max(len(facts.prefix) for facts in shape.arrays)
        if length > _PLACES:
            return False
        return all(
            self._without((*array_facts.about(shape.arrays, place), count.value), levels)
            for place in range(min(count.after, length), length + 1)
        )

    def _object(self, shape: Shape, levels: int) -> bool:
        needed = object_facts.required(shape.objects)
        if needed:
            members = ByName(shape.objects, needed)
            self._spend(shape.key[-1], len(needed) * (1 + members.asked // _ASKED_A_STEP))
            if any(self._without(self._member(members, name), levels) for name in needed):
                return False
        least, most = object_facts.counts(shape.objects)
        if most is not None and most < max(least, len(needed)):
            return False
        return not any(self._lacking(some, shape, levels) for facts in shape.objects for some in facts.some)

    def _member(self, members: ByName, name: str) -> Conjunction:
        return object_facts.about(members, name, self._patterns.matches)

    def _lacking(self, some: Some, shape: Shape, levels: int) -> bool:
        """Whether no member can be the one that there has to be."""
        if self._without((some.value,), levels) or (some.names and self._without(some.names, levels)):
            return True
        for facts in shape.objects:
            if facts.additional is not None and not facts.patterns and self._without((facts.additional,), levels):
                names = [name for name in facts.properties if name not in some.beside]
                self._spend(shape.key[-1], len(names))
                members = ByName(shape.objects, names)
                if all(self._without((*self._member(members, name), some.value), levels) for name in names):
                    return True
        return False


def _crossed(interval: Interval) -> bool:
    low, high = interval.low, interval.high
    if low is None or high is None:
        return False
    return high.value < low.value or (high.value == low.value and (low.open or high.open))


def _fits(value: Json, shape: Shape, types: frozenset[str]) -> bool:
    if isinstance(value, str):
        return "string" in types and shape.text.allows(value)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        # 1.0 is an integer in one draft and not in another.
        return bool(types & NUMBERS) and shape.interval.holds(Decimal(value))
    return type_name(value, integral_decimals=True) in types
