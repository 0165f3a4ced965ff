"""Arrays: the first items by position, the others alike, and how many there may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

from grammar_cache.dialects.combine import is_nothing
from grammar_cache.dialects.json_schema.containers.item_counts import (
    ANY_ORDER,
    Ask,
    Counting,
    in_their_order,
    once_each,
)
from grammar_cache.dialects.json_schema.containers.writing import Writer
from grammar_cache.dialects.json_schema.expressions.combine import alt, repeat, seq
from grammar_cache.dialects.json_schema.expressions.whitespace import Layout
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction, negation, pointer
from grammar_cache.dialects.json_schema.schema.document import child_pointer
from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.reading import Keywords
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import EMPTY, NOTHING, Bytes, Expression, Ref, Seq

RULE = "json.array"
_MOST_ASKS = 4
_MOST_APART = 16
"""Items of an array that are compared two by two."""
_NUMERIC = frozenset({"integer", "number"})


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


def array(all_facts: tuple[ArrayFacts, ...], name: str, writer: Writer) -> Expression:
    """The arrays for which all the facts hold; `name` begins the names of the rules that it needs."""
    least, most = counts(all_facts)
    asks = tuple(dict.fromkeys(ask for facts in all_facts for ask in facts.contains if not ask.free))
    for ask in asks:
        if _all_satisfy(ask, all_facts, writer):
            least, most = max(least, ask.least), _fewer(most, ask.most)
            asks = tuple(other for other in asks if other != ask)
    if _differ_by_texts(all_facts, asks, least, most, writer):
        return _of_other_texts(all_facts, asks, least, most, name, writer)
    length = max((len(facts.prefix) for facts in all_facts), default=0)
    if most is not None:
        length = min(length, most)
    prefix = []
    for place in range(length):
        item = writer.value(about(all_facts, place))
        if is_nothing(item):
            most = place
            break
        prefix.append(item)
    rest = NOTHING if most is not None and most <= len(prefix) else writer.value(about(all_facts, len(prefix)))
    if is_nothing(rest):
        most = len(prefix) if most is None else min(most, len(prefix))
    if most is not None and most < least:
        return NOTHING
    content = None
    if _may_repeat(all_facts, most, writer):
        content = _unique(all_facts, asks, least, most, name, writer)
    if content is None and asks:
        content = _counting(all_facts, asks, least, most, name, writer)
    if content is None:
        content = NOTHING if most == 0 else _items(prefix, rest, max(least, 1), most, writer.layout)
    forms = [] if least or any(ask.least for ask in asks) else [writer.layout.empty(b"[", b"]")]
    return alt(forms if is_nothing(content) else (*forms, writer.layout.enclosed(b"[", content, b"]")))


def _fewer(one: int | None, other: int | None) -> int | None:
    """The smaller of two limits; None: there is none."""
    return min([limit for limit in (one, other) if limit is not None], default=None)


def _all_satisfy(ask: Contains, all_facts: tuple[ArrayFacts, ...], writer: Writer) -> bool:
    """Whether each item is what an array has to contain: where the values of items are listed."""
    if ask.after or _first_items(all_facts):
        return False
    listed = writer.listed(about(all_facts, 0))
    asked = None if listed is None else writer.listed((*about(all_facts, 0), ask.value))
    return asked is not None and listed is not None and asked.keys() >= listed.keys()


def _counting(
    all_facts: tuple[ArrayFacts, ...],
    asks: tuple[Contains, ...],
    least: int,
    most: int | None,
    name: str,
    writer: Writer,
) -> Expression:
    if len(asks) > _MOST_ASKS:
        message = f"more than {_MOST_ASKS} conditions on what an array contains"
        raise LimitExceeded(message, limit="rules", pointer=pointer(all_facts[0].pointer))
    steady = max((*(len(facts.prefix) for facts in all_facts), *(ask.after for ask in asks)))
    return Counting(
        lambda place, atoms: writer.value((*about(all_facts, place), *atoms)),
        steady if most is None else min(steady, most),
        least,
        most,
        [Ask(ask.value, negation(ask.value), ask.least, ask.most, ask.after) for ask in asks],
        writer,
        name,
    ).expression()


def _unique(
    all_facts: tuple[ArrayFacts, ...],
    asks: tuple[Contains, ...],
    least: int,
    most: int | None,
    name: str,
    writer: Writer,
) -> Expression | None:
    """The items where none may repeat; None where that is dropped."""
    length = _first_items(all_facts)
    listed = [] if asks else [writer.listed(about(all_facts, place)) for place in range(length + 1)]
    known = [values for values in listed if values is not None]
    if known and len(known) == len(listed):
        if len(dict.fromkeys(value for values in known for value in values)) <= ANY_ORDER:
            return once_each(known, least, most, name, writer)
        if length == 0:
            return in_their_order(known[0], least, most, name, writer)
    where = child_pointer(pointer(next(facts for facts in all_facts if facts.unique).pointer), "uniqueItems")
    if asks or length:
        why = "whose items are told apart by `contains` or by their places"
    elif least > 1:
        why = "that needs two items or more"
    else:
        why = "with listed numbers without a spelling of their own"
    writer.refuse(where, f"uniqueItems can't be enforced in an array {why}, unless their values are few and listed")
    return None


def _may_repeat(all_facts: tuple[ArrayFacts, ...], most: int | None, writer: Writer) -> bool:
    """Whether items that may not repeat could."""
    if not any(facts.unique for facts in all_facts) or (most is not None and most <= 1):
        return False
    places = [about(all_facts, place) for place in range(most)] if most is not None and most <= _MOST_APART else []
    return not places or not _apart(places, writer)


def _first_items(all_facts: tuple[ArrayFacts, ...]) -> int:
    """Number of the items that have schemas by their places."""
    return max(len(facts.prefix) for facts in all_facts)


def _differ_by_texts(
    all_facts: tuple[ArrayFacts, ...], asks: tuple[Contains, ...], least: int, most: int | None, writer: Writer
) -> bool:
    """Whether items are told apart by their texts, as they are written, rather than by a list of their values."""
    if least > 1 or _first_items(all_facts) or not _may_repeat(all_facts, most, writer):
        return False
    if any(ask.least > 1 or ask.most is not None or ask.after for ask in asks) or len(asks) > 1:
        return False
    item = about(all_facts, 0)
    listed = None if asks else writer.listed(item)
    return writer.are_spelled(item) and (listed is None or len(listed) > ANY_ORDER)


def _of_other_texts(
    all_facts: tuple[ArrayFacts, ...],
    asks: tuple[Contains, ...],
    least: int,
    most: int | None,
    name: str,
    writer: Writer,
) -> Expression:
    """The arrays of at most one item: what may follow it is known once it is there (see `unique_items`). An item that
    the array has to contain comes first.
    """
    gap, bracket = writer.layout.gap, Bytes(b"]")
    least = max([least, *(ask.least for ask in asks)])
    value = writer.canonical((*about(all_facts, 0), *(ask.value for ask in asks)))
    if is_nothing(value):
        return NOTHING if least else writer.layout.empty(b"[", b"]")
    item = seq(value, gap, bracket)
    further = seq(gap, writer.canonical(about(all_facts, 1)), gap, bracket)
    first = writer.define_unique(f"{name} unique", item, further, most)
    return seq(Bytes(b"["), gap, first if least else alt((bracket, first)))


def _apart(places: Sequence[Conjunction], writer: Writer) -> bool:
    """Whether the items of no two places can be equal: they are of other types, or other values are listed."""
    types = [found | _NUMERIC if found & _NUMERIC else found for found in map(writer.types, places)]
    listed = [writer.listed(place) for place in places]
    for (one, ours), (other, theirs) in combinations(zip(types, listed, strict=True), 2):
        told_apart = ours is not None and theirs is not None and ours.keys().isdisjoint(theirs)
        if not told_apart and one & other:
            return False
    return True


def _items(prefix: list[Expression], rest: Expression, least: int, most: int | None, layout: Layout) -> Expression:
    """Expression for at least one item, with commas in between."""
    first, *others = prefix or [rest]
    after = [seq(layout.comma, item) for item in others]
    taken = 1 + len(after)
    more = None if most is None else max(most - taken, 0)
    last = repeat(seq(layout.comma, rest), max(least - taken, 0), more)
    needed = min(least, taken) - 1
    return seq(first, *after[:needed], _prefixes(after[needed:], last))


def _prefixes(items: list[Expression], last: Expression) -> Expression:
    """Any number of the items from the first on; `last` may follow them all.

    Halving makes the expression small: either not all of the first half, or all of it and any number of the others.
    Sequences are nested rather than flat, so that an item is one node wherever it is mentioned.
    """
    if not items:
        return last
    if len(items) == 1:
        return alt((EMPTY, Seq((items[0], last))))
    middle = len(items) // 2
    first, second = items[:middle], items[middle:]
    return alt((_prefixes(first[:-1], EMPTY), Seq((*first, _prefixes(second, last)))))


def any_array(layout: Layout, any_value: Ref) -> Expression:
    content = _items([], any_value, 1, None, layout)
    return alt((layout.empty(b"[", b"]"), layout.enclosed(b"[", content, b"]")))
