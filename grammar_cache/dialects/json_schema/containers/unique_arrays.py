"""Arrays whose items may not repeat: by their few values, by their types, or by their texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from grammar_cache.dialects.combine import is_nothing
from grammar_cache.dialects.json_schema.containers.array_facts import ArrayFacts, Wanted, about, first_items
from grammar_cache.dialects.json_schema.containers.item_counts import ANY_ORDER, in_their_order, once_each
from grammar_cache.dialects.json_schema.containers.writing import Writer
from grammar_cache.dialects.json_schema.expressions.combine import alt, seq
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction, pointer
from grammar_cache.dialects.json_schema.schema.places import child_pointer
from grammar_cache.dialects.json_schema.schema.values import NUMBERS
from grammar_cache.expression import NOTHING, Bytes, Expression

_MOST_APART = 16
"""Items of an array that are compared two by two."""
_MOST_REQUIRED = 64
"""Items that an array may need, unless their values are listed."""


def may_repeat(all_facts: tuple[ArrayFacts, ...], most: int | None, writer: Writer) -> bool:
    """Whether items that may not repeat could."""
    if not any(facts.unique for facts in all_facts) or (most is not None and most <= 1):
        return False
    places = [about(all_facts, place) for place in range(most)] if most is not None and most <= _MOST_APART else []
    return not places or not _apart(places, writer)


def differ_by_texts(wanted: Wanted, writer: Writer) -> bool:
    """Whether items are told apart by their texts, as they are written, rather than by a list of their values."""
    all_facts, asks, least, most = wanted
    if least > _MOST_REQUIRED or first_items(all_facts) or not may_repeat(all_facts, most, writer):
        return False
    if any(ask.least > 1 or ask.most is not None or ask.after for ask in asks) or len(asks) > (least < 2):
        return False
    item = about(all_facts, 0)
    listed = None if asks else writer.listed(item)
    return writer.are_spelled(item) and (listed is None or len(listed) > ANY_ORDER)


def of_other_texts(wanted: Wanted, name: str, writer: Writer) -> Expression:
    """The arrays of at most one item: what may follow it is known once it is there (see `unique_items`). An item that
    the array has to contain comes first. Where several items are required, their first texts are found later.
    """
    all_facts, asks, least, most = wanted
    gap, bracket = writer.layout.gap, Bytes(b"]")
    least = max([least, *(ask.least for ask in asks)])
    if most is not None and most < least:
        return NOTHING
    canonical = writer.canonical()
    value = canonical((*about(all_facts, 0), *(ask.value for ask in asks)))
    if is_nothing(value):
        return NOTHING if least else writer.layout.empty(b"[", b"]")
    item = seq(value, gap, bracket)
    if least > 1:
        alone = least, seq(gap, value, writer.layout.lead), _place_of(all_facts)
        return writer.define_unique(f"{name} unique", NOTHING, seq(gap, item), most, alone)  # its rule is written later
    further = seq(gap, canonical(about(all_facts, 1)), gap, bracket)
    first = writer.define_unique(f"{name} unique", item, further, most, None)
    return seq(Bytes(b"["), gap, first if least else alt((bracket, first)))


def listed_items(wanted: Wanted, name: str, writer: Writer) -> Expression | None:
    """The items where none may repeat; None where that is dropped."""
    all_facts, asks, least, most = wanted
    length = first_items(all_facts)
    listed = [] if asks else [writer.listed(about(all_facts, place)) for place in range(length + 1)]
    known = [values for values in listed if values is not None]
    if known and len(known) == len(listed):
        if len(dict.fromkeys(value for values in known for value in values)) <= ANY_ORDER:
            return once_each(known, least, most, name, writer)
        if length == 0:
            return in_their_order(known[0], least, most, name, writer)
    if asks or length:
        why = "whose items are told apart by `contains` or by their places"
    elif least > _MOST_REQUIRED:
        why = f"that needs more than {_MOST_REQUIRED} items"
    else:
        why = "with listed numbers without a spelling of their own"
    message = f"uniqueItems can't be enforced in an array {why}, unless their values are few and listed"
    writer.refuse(_place_of(all_facts), message)
    return None


def _place_of(all_facts: tuple[ArrayFacts, ...]) -> str:
    """Pointer to the keyword."""
    return child_pointer(pointer(next(facts for facts in all_facts if facts.unique).pointer), "uniqueItems")


def _apart(places: Sequence[Conjunction], writer: Writer) -> bool:
    """Whether the items of no two places can be equal: they are of other types, or other values are listed."""
    types = [found | NUMBERS if found & NUMBERS else found for found in map(writer.types, places)]
    listed = [writer.listed(place) for place in places]
    for (one, ours), (other, theirs) in combinations(zip(types, listed, strict=True), 2):
        told_apart = ours is not None and theirs is not None and ours.keys().isdisjoint(theirs)
        if not told_apart and one & other:
            return False
    return True
