"""The values that a schema names: which of them satisfy the rest of it."""

from __future__ import annotations

from decimal import Decimal
from typing import TypeAlias

from grammar_cache.dialects.json_schema.containers import array_facts, object_facts
from grammar_cache.dialects.json_schema.containers.array_facts import Contains
from grammar_cache.dialects.json_schema.containers.canonical_scalars import has_own_spelling
from grammar_cache.dialects.json_schema.containers.keys import ByName
from grammar_cache.dialects.json_schema.containers.object_facts import Some
from grammar_cache.dialects.json_schema.logic.conjunction import Conjunctions
from grammar_cache.dialects.json_schema.logic.shape import Shape
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction, pointer
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.values import identity, type_name
from grammar_cache.dialects.json_schema.strings.patterns import Patterns

_Task: TypeAlias = "tuple[Json, Conjunction]"
_CHARACTERS_A_STEP = 20


def _key(value: Json, conjunction: Conjunction) -> tuple[int | str, Conjunction]:
    """Values live as long as their document, so that each is known by its place in memory; strings by themselves,
    since the name of a member has no place of its own."""
    return (value if isinstance(value, str) else id(value)), conjunction


class Literals:
    """Judges the values of one schema text."""

    def __init__(self, conjunctions: Conjunctions, patterns: Patterns, *, integral_decimals: bool) -> None:
        self._conjunctions = conjunctions
        self._patterns = patterns
        self._integral_decimals = integral_decimals
        self._listings: dict[Conjunction, frozenset[str]] = {}
        self._satisfied: dict[tuple[int | str, Conjunction], bool] = {}

    def values(self, shape: Shape) -> dict[str, Json]:
        """The values that all enumerations of the shape hold and that satisfy the rest of it, by their identity."""
        found: dict[str, Json] = {}
        all_listed = len(shape.values) == 1 and not shape.denied
        for value in shape.values[0]:
            name = identity(value)
            if name not in found and (all_listed or self._listed(name, shape)) and self._fits(value, shape):
                found[name] = value
        return found

    def are_spelled(self, conjunction: Conjunction) -> bool:
        """Whether those of the values that satisfy all these schemas which are listed have a spelling of their own."""
        listings = (shape for shape in self._conjunctions.shapes(conjunction) if shape.values)
        return all(self.is_spelled(value) for shape in listings for value in self.values(shape).values())

    def is_spelled(self, value: Json) -> bool:
        """Whether a listed value has a spelling of its own."""
        return has_own_spelling(value, integral_decimals=self._integral_decimals)

    def satisfies(self, value: Json, conjunction: Conjunction) -> bool:
        self._decide([(value, conjunction)])
        return self._satisfied[_key(value, conjunction)]

    def _fits(self, value: Json, shape: Shape) -> bool:
        self._decide(self._parts_in(value, shape))
        return self._within(value, shape)

    def _decide(self, tasks: list[_Task]) -> None:
        """Find out which of the values satisfy their schemas; bottom up, with a stack of its own."""
        stack = tasks
        while stack:
            task = stack[-1]
            waiting = [] if _key(*task) in self._satisfied else self._parts(*task)
            waiting = [part for part in waiting if _key(*part) not in self._satisfied]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if _key(*task) not in self._satisfied:
                self._satisfied[_key(*task)] = self._judged(*task)

    def _parts(self, value: Json, conjunction: Conjunction) -> list[_Task]:
        """Parts to be judged before the value is."""
        return [part for shape in self._conjunctions.shapes(conjunction) for part in self._parts_in(value, shape)]

    def _parts_in(self, value: Json, shape: Shape) -> list[_Task]:
        """The items, or the names and values of members, each with what it may have to satisfy."""
        if isinstance(value, list):
            counted = [(count.value,) for facts in shape.arrays for count in facts.contains]
            found = [(item, array_facts.about(shape.arrays, place)) for place, item in enumerate(value)]
            return found + [(item, one) for item in value for one in counted]
        if isinstance(value, dict):
            some = [one for facts in shape.objects for one in facts.some]
            names = [facts.names for facts in shape.objects if facts.names] + [one.names for one in some if one.names]
            found = self._members(value, shape)
            found += [(item, (one.value,)) for item in value.values() for one in some]
            return found + [(name, one) for name in value for one in names]
        return []

    def _members(self, value: dict[str, Json], shape: Shape) -> list[_Task]:
        """The values of the members, each with what it has to satisfy."""
        by_name = ByName(shape.objects, value)
        return [(item, object_facts.about(by_name, name, self._patterns.matches)) for name, item in value.items()]

    def _judged(self, value: Json, conjunction: Conjunction) -> bool:
        shapes = self._conjunctions.shapes(conjunction)
        return any(self._listed(identity(value), shape) and self._within(value, shape) for shape in shapes)

    def _listed(self, name: str, shape: Shape) -> bool:
        """Whether all enumerations of the shape hold the value of that identity."""
        if not shape.values:
            return True
        if shape.key not in self._listings:
            listings = (frozenset(map(identity, values)) for values in shape.values)
            self._listings[shape.key] = frozenset.intersection(*listings) - shape.denied
        return name in self._listings[shape.key]

    def _within(self, value: Json, shape: Shape) -> bool:
        """Whether the value, the parts of which are decided, satisfies the shape, its enumerations apart."""
        self._conjunctions.spend(shape.key[-1] if shape.key else "")
        if type_name(value, integral_decimals=self._integral_decimals) not in shape.types:
            return False
        if isinstance(value, str):
            self._conjunctions.spend(shape.key[-1] if shape.key else "", len(value) // _CHARACTERS_A_STEP)
            return self._patterns.satisfied(shape.text, value)
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            return shape.interval.holds(Decimal(value))
        if isinstance(value, list):
            return self._array(value, shape)
        return self._object(value, shape) if isinstance(value, dict) else True

    def _array(self, value: list[Json], shape: Shape) -> bool:
        least, most = array_facts.counts(shape.arrays)
        if len(value) < least or (most is not None and len(value) > most):
            return False
        if any(facts.unique for facts in shape.arrays) and len(set(map(identity, value))) < len(value):
            return False
        items = ((item, array_facts.about(shape.arrays, place)) for place, item in enumerate(value))
        if not all(self._satisfied[_key(*task)] for task in items):
            return False
        return all(self._counted(count, value) for facts in shape.arrays for count in facts.contains)

    def _counted(self, count: Contains, value: list[Json]) -> bool:
        found = sum(self._satisfied[_key(item, (count.value,))] for item in value[count.after :])
        return count.least <= found and (count.most is None or found <= count.most)

    def _object(self, value: dict[str, Json], shape: Shape) -> bool:
        least, most = object_facts.counts(shape.objects)
        if len(value) < least or (most is not None and len(value) > most):
            return False
        if any(name not in value for name in object_facts.required(shape.objects)):
            return False
        named = (facts.names for facts in shape.objects if facts.names)
        if not all(self._satisfied[_key(name, names)] for names in named for name in value):
            return False
        if not all(self._satisfied[_key(*task)] for task in self._members(value, shape)):
            return False
        wanted = (some for facts in shape.objects for some in facts.some)
        return all(any(self._is(some, name, item) for name, item in value.items()) for some in wanted)

    def _is(self, some: Some, name: str, item: Json) -> bool:
        """Whether a member is one of those of which there must be some."""
        if name in some.beside or (some.names and not self._satisfied[_key(name, some.names)]):
            return False
        if some.pattern is not None and not self._patterns.matches(some.pattern, name, pointer(some.value)):
            return False
        if any(self._patterns.matches(pattern, name, pointer(some.value)) for pattern in some.unmatched):
            return False
        return self._satisfied[_key(item, (some.value,))]
