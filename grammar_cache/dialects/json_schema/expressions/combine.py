"""Small constructors that keep expressions flat. They know nothing of JSON or schemas."""

from __future__ import annotations

from collections.abc import Iterable

from grammar_cache.dialects.combine import is_nothing, repetition, sequence
from grammar_cache.expression import (
    EMPTY,
    NOTHING,
    Alt,
    And,
    Automaton,
    Bytes,
    Expression,
    Not,
    Repeat,
    Seq,
    char_class,
)

_SEVERAL = (Seq, Alt, And)
_ONE = (Repeat, Not)


def seq(*items: Expression) -> Expression:
    """One after the other; nothing if any item is."""
    return sequence(items)


def alt(items: Iterable[Expression]) -> Expression:
    """Any of the items: flattened, literals not repeated."""
    flat: list[Expression] = []
    literals: set[bytes] = set()
    for item in items:
        for part in item.items if type(item) is Alt else (item,):
            if type(part) is Bytes:
                if part.data in literals:
                    continue
                literals.add(part.data)
            flat.append(part)
    return flat[0] if len(flat) == 1 else Alt(tuple(flat))


def optional(item: Expression) -> Expression:
    return EMPTY if is_nothing(item) else Repeat(item, 0, 1)


def repeat(item: Expression, least: int, most: int | None) -> Expression:
    """`item` from `least` to `most` times; nothing where no count is left."""
    if most is not None and most < least:
        return NOTHING
    return repetition(item, least, most)


def chars(members: str) -> Expression:
    """One of these characters."""
    return char_class((ord(member), ord(member)) for member in members)


def larger_than(expression: Expression, size: int) -> bool:
    """Whether an expression, as a tree, has more than `size` nodes."""
    stack = [expression]
    while stack and size >= 0:
        node = stack.pop()
        size -= 1
        if isinstance(node, _SEVERAL):
            if len(node.items) > size:
                return True
            stack.extend(node.items)
        elif isinstance(node, _ONE):
            stack.append(node.item)
        elif isinstance(node, Automaton):
            size -= len(node.steps)
    return bool(stack) or size < 0
