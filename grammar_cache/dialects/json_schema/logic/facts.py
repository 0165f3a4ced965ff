"""Facts that one schema object asserts by itself, apart from the schemas it refers to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from grammar_cache.dialects.json_schema.containers import array_facts, object_facts
from grammar_cache.dialects.json_schema.containers.array_facts import ArrayFacts
from grammar_cache.dialects.json_schema.containers.object_facts import ObjectFacts
from grammar_cache.dialects.json_schema.numbers import interval as intervals
from grammar_cache.dialects.json_schema.numbers.interval import Interval
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.values import ANY_TYPE, NUMBERS
from grammar_cache.dialects.json_schema.strings import string_facts
from grammar_cache.dialects.json_schema.strings.string_facts import StringFacts

_STRING, _ARRAY, _OBJECT = (frozenset({name}) for name in ("string", "array", "object"))
_NOTHING: frozenset[str] = frozenset()


@dataclass(slots=True)  # not frozen, which takes seven times as long to make
class Facts:
    """`values`: each `enum` or `const`, the value being one of each. `others`: atoms that hold as well. `choices`:
    groups of conjunctions, of each of which one or more hold. `exactly`: groups of atoms, of each of which one holds
    and no other. `refusal`: why a fact that no schema states by itself can't be enforced. `incomplete`: whether
    keywords were dropped. `unevaluated_...`: what the keywords of these names say of what is left. `evaluated_items`:
    what items that `contains` evaluates satisfy.
    """

    types: frozenset[str] = ANY_TYPE
    values: tuple[tuple[Json, ...], ...] = ()
    text: StringFacts = string_facts.FREE
    interval: Interval = intervals.FREE
    array: ArrayFacts = array_facts.FREE
    object: ObjectFacts = object_facts.FREE
    others: tuple[str, ...] = ()
    choices: tuple[tuple[Conjunction, ...], ...] = ()
    exactly: tuple[tuple[str, ...], ...] = ()
    refusal: str = ""
    incomplete: bool = False
    unevaluated_properties: str | None = None
    unevaluated_items: str | None = None
    evaluated_items: tuple[str, ...] = ()
    # What follows is known once, as searches ask over and over.
    asked: frozenset[str] = field(init=False, repr=False, compare=False)
    """Types of whose values the own keywords ask more than the type."""
    arrays: tuple[ArrayFacts, ...] = field(init=False, repr=False, compare=False)
    """Facts of arrays, if they ask anything."""
    objects: tuple[ObjectFacts, ...] = field(init=False, repr=False, compare=False)
    asserts: bool = field(init=False, repr=False, compare=False)
    """Whether something is said that the atoms referred to don't say."""
    refers: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.arrays = () if self.array.free else (self.array,)
        self.objects = () if self.object.free else (self.object,)
        if self.values or self.refusal or self.looks_around:
            self.asked = ANY_TYPE
        else:
            asked = _NOTHING if self.text.free else _STRING
            asked |= _NOTHING if self.interval.free else NUMBERS
            self.asked = asked | (_ARRAY if self.arrays else _NOTHING) | (_OBJECT if self.objects else _NOTHING)
        self.asserts = bool(self.asked) or self.types != ANY_TYPE
        self.refers = bool(self.others or self.choices or self.exactly)

    @property
    def asks(self) -> bool:
        """Whether the own keywords ask more of some value than its type."""
        return not self.types.isdisjoint(self.asked)

    @property
    def looks_around(self) -> bool:
        """Whether it matters which other schemas hold."""
        return self.unevaluated_properties is not None or self.unevaluated_items is not None

    @property
    def named(self) -> frozenset[str]:
        """Atoms that are referred to."""
        ways = (atom for group in self.choices for way in group for atom in way)
        return frozenset(self.others).union(ways, *self.exactly)

    def holds_of_all(self, types: frozenset[str]) -> bool:
        """Whether the schema's own keywords are satisfied by all values of these types."""
        return types <= self.types and types.isdisjoint(self.asked)

    def seen_alone(self) -> Facts:
        """Facts of a schema alone: where no other is applied in place, what is not evaluated is what is additional."""
        members, items = self.object, self.array
        if members.additional is None:
            members = replace(members, additional=self.unevaluated_properties)
        if self.evaluated_items:
            return replace(self, object=members, unevaluated_properties=None)
        if items.rest is None:
            items = replace(items, rest=self.unevaluated_items)
        return replace(self, object=members, array=items, unevaluated_properties=None, unevaluated_items=None)
