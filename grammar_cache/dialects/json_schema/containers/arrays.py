"""Arrays: the first items by position, the others alike, and how many there may be."""

from __future__ import annotations

from grammar_cache.dialects.combine import is_nothing
from grammar_cache.dialects.json_schema.containers import unique_arrays
from grammar_cache.dialects.json_schema.containers.array_facts import (
    ArrayFacts,
    Contains,
    Wanted,
    about,
    counts,
    first_items,
)
from grammar_cache.dialects.json_schema.containers.item_counts import (
    Ask,
    Counting,
)
from grammar_cache.dialects.json_schema.containers.writing import Writer
from grammar_cache.dialects.json_schema.expressions.combine import alt, repeat, seq
from grammar_cache.dialects.json_schema.expressions.whitespace import Layout
from grammar_cache.dialects.json_schema.schema.atoms import negation, pointer
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import EMPTY, NOTHING, Expression, Ref, Seq

RULE = "json.array"
_MOST_ASKS = 4


def array(all_facts: tuple[ArrayFacts, ...], name: str, writer: Writer) -> Expression:
    """The arrays for which all the facts hold; `name` begins the names of the rules that it needs."""
    least, most = counts(all_facts)
    asks = tuple(dict.fromkeys(ask for facts in all_facts for ask in facts.contains if not ask.free))
    for ask in asks:
        if _all_satisfy(ask, all_facts, writer):
            least, most = max(least, ask.least), _fewer(most, ask.most)
            asks = tuple(other for other in asks if other != ask)
    wanted = Wanted(all_facts, asks, least, most)
    if unique_arrays.differ_by_texts(wanted, writer):
        return unique_arrays.of_other_texts(wanted, name, writer)
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
    wanted, content = wanted._replace(most=most), None
    if unique_arrays.may_repeat(all_facts, most, writer):
        content = unique_arrays.listed_items(wanted, name, writer)
    if content is None and asks:
        content = _counting(wanted, name, writer)
    if content is None:
        content = NOTHING if most == 0 else _items(prefix, rest, max(least, 1), most, writer.layout)
    forms = [] if least or any(ask.least for ask in asks) else [writer.layout.empty(b"[", b"]")]
    return alt(forms if is_nothing(content) else (*forms, writer.layout.enclosed(b"[", content, b"]")))


def _fewer(one: int | None, other: int | None) -> int | None:
    """The smaller of two limits; None: there is none."""
    return min([limit for limit in (one, other) if limit is not None], default=None)


def _all_satisfy(ask: Contains, all_facts: tuple[ArrayFacts, ...], writer: Writer) -> bool:
    """Whether each item is what an array has to contain: where the values of items are listed."""
    if ask.after or first_items(all_facts):
        return False
    listed = writer.listed(about(all_facts, 0))
    asked = None if listed is None else writer.listed((*about(all_facts, 0), ask.value))
    return asked is not None and listed is not None and asked.keys() >= listed.keys()


def _counting(wanted: Wanted, name: str, writer: Writer) -> Expression:
    all_facts, asks, least, most = wanted
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
