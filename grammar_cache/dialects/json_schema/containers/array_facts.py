"""Facts that a schema asserts of arrays: their items by position, how many there are, and what is among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.reading import Keywords


@dataclass(frozen=True, slots=True)
class Contains:
    """Condition that between `least` and `most` of the items from the place `after` on satisfy `value`."""

    value: str
    least: int = 1
    most: int | None = None
    after: int = 0

    @property
    def free(self) -> bool:
        return self.least == 0 and self.most is None


@dataclass(frozen=True, slots=True)
class ArrayFacts:
    """Facts that one schema asserts of arrays, its subschemas by their atoms. `pointer`: the schema, for messages."""

    prefix: tuple[str, ...] = ()
    rest: str | None = None
    least: int = 0
    most: int | None = None
    contains: tuple[Contains, ...] = ()
    unique: bool = False
    pointer: str = field(default="", compare=False)

    @staticmethod
    def read(keywords: Keywords) -> ArrayFacts:
        if keywords.none_of(_KEYWORDS):
            return FREE
        prefix = keywords.parts("prefixItems") if keywords.schemas("prefixItems") else ()
        rest = "items"
        if isinstance(keywords.values.get("items"), list):
            if not keywords.draft.has_item_lists or prefix:
                raise keywords.wrong("items", "a schema (a list of them is prefixItems)")
            prefix, rest = keywords.parts("items"), "additionalItems"
        return ArrayFacts(
            prefix,
            keywords.part(rest),
            keywords.count("minItems") or 0,
            keywords.count("maxItems"),
            _contains(keywords),
            keywords.boolean("uniqueItems"),
            keywords.pointer,
        )

    @property
    def free(self) -> bool:
        return self is FREE or self == FREE

    def about(self, place: int) -> tuple[str, ...]:
        """The schemas of the item at that place."""
        if place < len(self.prefix):
            return (self.prefix[place],)
        return () if self.rest is None else (self.rest,)


class Wanted(NamedTuple):
    """Facts that several schemas assert of one array. `asks`: what it has to contain; `least`, `most`: items."""

    facts: tuple[ArrayFacts, ...]
    asks: tuple[Contains, ...]
    least: int
    most: int | None


FREE = ArrayFacts()
_KEYWORDS = frozenset(
    {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"}
    | {"contains", "minContains", "maxContains"}
)


def _contains(keywords: Keywords) -> tuple[Contains, ...]:
    value = keywords.schema("contains")
    least, most = keywords.count("minContains"), keywords.count("maxContains")
    if value is None:
        return ()
    if least is None or (least == 0 and keywords.draft <= Draft.DRAFT_7):
        least = 1  # a draft that doesn't know minContains would still want one
    found = Contains(value, least, most)
    return () if found.free else (found,)


def about(all_facts: tuple[ArrayFacts, ...], place: int) -> tuple[str, ...]:
    return tuple(atom for facts in all_facts for atom in facts.about(place))


def counts(all_facts: tuple[ArrayFacts, ...]) -> tuple[int, int | None]:
    """The fewest and the most items."""
    caps = [facts.most for facts in all_facts if facts.most is not None]
    return max([facts.least for facts in all_facts], default=0), min(caps, default=None)


def first_items(all_facts: tuple[ArrayFacts, ...]) -> int:
    """Number of the items that have schemas by their places."""
    return max(len(facts.prefix) for facts in all_facts)
