"""Small constructors that keep expressions flat. They know nothing of JSON or schemas."""

from __future__ import annotations

from collections.abc import Iterable

from grammar_cache.expression import (
    EMPTY,
    NOTHING,
    Alt,
    And,
    Bytes,
    Expression,
    Not,
    Ref,
    Repeat,
    Seq,
    char_class,
)


def seq(*items: Expression) -> Expression:
    """One after the other: flattened, literals joined, empty if any item is."""
    flat: list[Expression] = []
    for item in items:
        for part in item.items if isinstance(item, Seq) else (item,):
            if part == NOTHING:
                return NOTHING
            if isinstance(part, Bytes):
                if flat and isinstance(flat[-1], Bytes):
                    part = Bytes(flat.pop().data + part.data)  # type: ignore[union-attr]
                if not part.data:
                    continue
            flat.append(part)
    if not flat:
        return EMPTY
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def alt(items: Iterable[Expression]) -> Expression:
    """Any of the items: flattened, literals not repeated."""
    flat: list[Expression] = []
    literals: set[bytes] = set()
    for item in items:
        for part in item.items if isinstance(item, Alt) else (item,):
            if isinstance(part, Bytes):
                if part.data in literals:
                    continue
                literals.add(part.data)
            flat.append(part)
    return flat[0] if len(flat) == 1 else Alt(tuple(flat))


def optional(item: Expression) -> Expression:
    return EMPTY if item == NOTHING else Repeat(item, 0, 1)


def repeat(item: Expression, least: int, most: int | None) -> Expression:
    """`item` from `least` to `most` times; nothing where no count is left."""
    if most is not None and most < least:
        return NOTHING
    if most == 0 or item == NOTHING:
        return NOTHING if least > 0 and item == NOTHING else EMPTY
    return item if (least, most) == (1, 1) else Repeat(item, least, most)


def chars(members: str) -> Expression:
    """One of these characters."""
    return char_class((ord(member), ord(member)) for member in members)


def larger_than(expression: Expression, size: int) -> bool:
    """Whether an expression, as a tree, has more than `size` nodes."""
    stack = [expression]
    while stack and size >= 0:
        node = stack.pop()
        size -= 1
        if isinstance(node, Seq | Alt | And):
            if len(node.items) > size:
                return True
            stack.extend(node.items)
        elif isinstance(node, Repeat | Not):
            stack.append(node.item)
    return bool(stack) or size < 0


def references(expression: Expression) -> list[str]:
    """The names of the rules an expression uses, each once, in order."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    stack = [expression]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Ref):
            found[node.name] = None
        elif isinstance(node, Seq | Alt | And):
            stack.extend(reversed(node.items))
        elif isinstance(node, Repeat | Not):
            stack.append(node.item)
    return list(found)
