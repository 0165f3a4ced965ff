"""Arrays: the first items by position, the others alike, and how many there may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grammar_cache.dialects.json_schema.combine import alt, repeat, seq
from grammar_cache.dialects.json_schema.reading import Keywords
from grammar_cache.dialects.json_schema.whitespace import Layout
from grammar_cache.expression import EMPTY, NOTHING, Expression, Ref

RULE = "json.array"


@dataclass(frozen=True, slots=True)
class ArrayFacts:
    """What one schema asks of arrays, its subschemas by their pointers."""

    prefix: tuple[str, ...] = ()
    rest: str | None = None
    least: int = 0
    most: int | None = None

    @staticmethod
    def read(keywords: Keywords) -> ArrayFacts:
        prefix = keywords.schemas("prefixItems") or ()
        rest = keywords.schema("items")
        items = keywords.values.get("items")
        if isinstance(items, list):
            if not keywords.draft.has_item_lists or prefix:
                raise keywords.wrong("items", "a schema (a list of them is prefixItems)")
            prefix = tuple(keywords.at("items", index) for index in range(len(items)))
            rest = keywords.schema("additionalItems")
        return ArrayFacts(prefix, rest, keywords.count("minItems") or 0, keywords.count("maxItems"))

    @property
    def free(self) -> bool:
        return self == ArrayFacts()

    def about(self, place: int) -> tuple[str, ...]:
        """The schemas of the item at that place."""
        if place < len(self.prefix):
            return (self.prefix[place],)
        return () if self.rest is None else (self.rest,)


def about(all_facts: tuple[ArrayFacts, ...], place: int) -> tuple[str, ...]:
    return tuple(pointer for facts in all_facts for pointer in facts.about(place))


def counts(all_facts: tuple[ArrayFacts, ...]) -> tuple[int, int | None]:
    """The fewest and the most items."""
    caps = [facts.most for facts in all_facts if facts.most is not None]
    return max((facts.least for facts in all_facts), default=0), min(caps, default=None)


def array(
    all_facts: tuple[ArrayFacts, ...], layout: Layout, value: Callable[[tuple[str, ...]], Expression]
) -> Expression:
    """The arrays for which all the facts hold; `value` says what satisfies some schemas together."""
    least, most = counts(all_facts)
    length = max((len(facts.prefix) for facts in all_facts), default=0)
    if most is not None:
        length = min(length, most)
    prefix = []
    for place in range(length):
        item = value(about(all_facts, place))
        if item == NOTHING:
            most = place
            break
        prefix.append(item)
    rest = NOTHING if most is not None and most <= len(prefix) else value(about(all_facts, len(prefix)))
    return _brackets(prefix, rest, least, most, layout)


def _brackets(prefix: list[Expression], rest: Expression, least: int, most: int | None, layout: Layout) -> Expression:
    if rest == NOTHING:
        most = len(prefix) if most is None else min(most, len(prefix))
    if most is not None and most < least:
        return NOTHING
    forms = [layout.empty(b"[", b"]")] if least == 0 else []
    if most != 0:
        forms.append(layout.enclosed(b"[", _items(prefix, rest, max(least, 1), most, layout), b"]"))
    return alt(forms)


def _items(prefix: list[Expression], rest: Expression, least: int, most: int | None, layout: Layout) -> Expression:
    """At least one item, with commas in between."""
    first, *others = prefix or [rest]
    after = [seq(layout.comma, item) for item in others]
    taken = 1 + len(after)
    more = None if most is None else max(most - taken, 0)
    last = repeat(seq(layout.comma, rest), max(least - taken, 0), more)
    needed = min(least, taken) - 1
    return seq(first, *after[:needed], _prefixes(after[needed:], last))


def _prefixes(items: list[Expression], last: Expression) -> Expression:
    """Any number of the items from the first on; `last` may follow them all.

    By halves: either not all of the first half, or all of it and any number of the others.
    """
    if not items:
        return last
    if len(items) == 1:
        return alt((EMPTY, seq(items[0], last)))
    middle = len(items) // 2
    first, second = items[:middle], items[middle:]
    return alt((_prefixes(first[:-1], EMPTY), seq(*first, _prefixes(second, last))))


def any_array(layout: Layout, any_value: Ref) -> Expression:
    return array((), layout, lambda _: any_value)
