"""Spare items: texts that complete an array which needs several items that may not repeat.

As many different items as the array needs are found beforehand. Whatever else has been written, some of them haven't,
and so the array can be completed. The array's own rule reads all of them, as if they were the only ones; which other
items may stand in their places, and how far the array can be completed then, `unique_items` says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from grammar_cache.errors import EmptyLanguage, UnsupportedFeature
from grammar_cache.expression import EMPTY, NOTHING, Bytes, Expression, Grammar, Ref, Required, Seq, Unique, references

Texts: TypeAlias = Callable[[Grammar, int], list[bytes]]
"""Function that gives at most so many of the shortest texts of a grammar, of those that a bounded search finds. It
raises EmptyLanguage where there are none.
"""


def with_spares(grammar: Grammar, texts: Texts) -> Grammar:
    """The grammar with spare items where they are needed. Raises UnsupportedFeature where not enough are found, and
    for such arrays in the items of others, and with such in theirs.
    """
    _check_nesting(grammar)
    rules, unique = dict(grammar.rules), dict(grammar.unique)
    for name, array in grammar.unique.items():
        if array.required is not None:
            try:
                spares = _spares(array.required, grammar, texts)
            except EmptyLanguage:  # where no item can be there is no array, which may be left out
                rules[name] = NOTHING
                del unique[name]
            else:
                made, unique[name] = _spared(name, array, array.required, spares)
                rules |= made
    return replace(grammar, rules=rules, unique=unique)


def _spared(name: str, array: Unique, required: Required, spares: list[bytes]) -> tuple[dict[str, Expression], Unique]:
    """Rules of the spare items, and the array that knows of them."""
    made: dict[str, Expression] = {f"{name} spare {at}": Bytes(b"," + spare) for at, spare in enumerate(spares)}
    required = replace(required, spares=tuple(made), end=f"{name} end")
    made[required.end] = Bytes(b"]")
    gap = EMPTY if required.gap is None else Ref(required.gap)
    made[name] = Seq((Bytes(b"["), gap, Bytes(b",".join(spares) + b"]")))
    return made, replace(array, required=required)


def _spares(required: Required, grammar: Grammar, texts: Texts) -> list[bytes]:
    rules = dict(grammar.rules)
    if required.gap is not None:
        rules[required.gap] = EMPTY
    alone = Grammar(rules, required.item)
    found = texts(alone, required.least)
    if len(found) < required.least:
        why = f"that needs {required.least} different items, of which a bounded search finds {len(found)}"
        raise _refused(required, why)
    return found


def _check_nesting(grammar: Grammar) -> None:
    """Raises UnsupportedFeature where an array that needs several items stands in an item of another one, or an array
    of unique items in one of its own.
    """
    users: dict[str, list[str]] = defaultdict(list)
    for name, body in grammar.rules.items():
        for used in (*references(body), *(grammar.unique[name].beside if name in grammar.unique else ())):
            users[used].append(name)
    needing = {name: array.required for name, array in grammar.unique.items() if array.required is not None}
    around_any, around_needing = _around(grammar.unique, users), _around(needing, users)
    for array in grammar.unique.values():
        around = around_needing if array.required is None else around_any
        if not around.isdisjoint(array.beside[:2]):
            required = array.required or next(iter(needing.values()))
            raise _refused(required, "that needs two items or more, inside of another one or around it")


def _around(arrays: Iterable[str], users: Mapping[str, Sequence[str]]) -> set[str]:
    """Rules that lead to some arrays."""
    found, todo = set[str](), list(arrays)
    while todo:
        new = [user for user in users.get(todo.pop(), ()) if user not in found]
        found.update(new)
        todo += new
    return found


def _refused(required: Required, why: str) -> UnsupportedFeature:
    return UnsupportedFeature(f"uniqueItems can't be enforced in an array {why}", pointer=required.pointer)
