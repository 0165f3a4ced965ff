"""Building expressions without what parsers leave: nested sequences, split literals, repeated branches."""

from __future__ import annotations

from collections.abc import Iterable

from grammar_cache.expression import (
    EMPTY,
    NOTHING,
    Alt,
    Bytes,
    CharClass,
    Expression,
    Range,
    Repeat,
    Seq,
    char_class,
)


def is_nothing(expression: Expression) -> bool:
    """Whether it is written as the empty language, which is asked so often that an equality test takes too long."""
    return type(expression) is Alt and not expression.items


def sequence(items: Iterable[Expression]) -> Expression:
    """The items one after the other, literals next to each other merged."""
    flat: list[Expression] = []
    literals: list[Bytes] = []
    for item in items:
        for part in item.items if type(item) is Seq else (item,):
            if type(part) is Bytes:
                if part.data:
                    literals.append(part)
                continue
            if type(part) is Alt and not part.items:
                return NOTHING
            if literals:
                flat.append(_joined(literals))
                literals = []
            flat.append(part)
    if literals:
        flat.append(_joined(literals))
    if not flat:
        return EMPTY
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def _joined(literals: list[Bytes]) -> Bytes:
    return literals[0] if len(literals) == 1 else Bytes(b"".join([literal.data for literal in literals]))


def repetition(item: Expression, least: int, most: int | None) -> Expression:
    """The item from `least` to `most` times."""
    if most == 0:
        return EMPTY
    if is_nothing(item):
        return EMPTY if least == 0 else NOTHING
    if item == EMPTY:
        return EMPTY
    return item if (least, most) == (1, 1) else Repeat(item, least, most)


def union(options: Iterable[Expression]) -> Expression:
    """An `Alt` without repeated literals or objects, its single characters merged into one class.

    Other equal items are kept: deep comparisons would cost more than they save.
    """
    ranges: list[Range] = []
    kept: dict[int | bytes, Expression] = {}
    for option in options:
        for item in option.items if isinstance(option, Alt) else (option,):
            char = _single_char(item)
            if char is not None:
                ranges.extend(char)
            else:
                kept[item.data if isinstance(item, Bytes) else id(item)] = item
    items = list(kept.values())
    if ranges:
        merged = char_class(ranges)
        items.insert(0, merged if merged.ranges[0][0] != merged.ranges[-1][1] else _literal(merged))
    return items[0] if len(items) == 1 else Alt(tuple(items))


def _single_char(item: Expression) -> tuple[Range, ...] | None:
    if isinstance(item, CharClass):
        return item.ranges
    if isinstance(item, Bytes) and 0 < len(item.data) <= 4:
        value = item.data.decode()
        if len(value) == 1:
            return ((ord(value), ord(value)),)
    return None


def _literal(single: CharClass) -> Bytes:
    return Bytes(chr(single.ranges[0][0]).encode())
