"""Digits that are at least, or at most, those of a bound.

Loosely: what is not a number is cut off by the intersection with the syntax.
"""

from __future__ import annotations

from grammar_cache.dialects.json_schema.expressions.combine import alt, optional, repeat, seq
from grammar_cache.expression import Bytes, Expression, Repeat, char_class

_DIGIT = char_class([(0x30, 0x39)])


def at_least(whole: str, fraction: str, longest: int) -> Expression:
    """Numbers of up to `longest` digits before the point, that are not below these digits."""
    parts: list[Expression] = [seq(Repeat(_DIGIT, len(whole) + 1, longest), _TAIL)]
    for place, digit in enumerate(whole):
        if digit < "9":
            parts.append(seq(Bytes(whole[:place].encode()), _above(digit), _rest(whole, place), _TAIL))
    kept = fraction.rstrip("0")
    for place, digit in enumerate(kept):
        if digit < "9":
            parts.append(seq(Bytes(f"{whole}.{kept[:place]}".encode()), _above(digit), _MORE))
    parts.append(seq(Bytes(f"{whole}.{kept}".encode()), _MORE) if kept else seq(Bytes(whole.encode()), _TAIL))
    return alt(parts)


def at_most(whole: str, fraction: str) -> Expression:
    """Numbers that are not above these digits, and have no more of them after the point."""
    parts: list[Expression] = [seq(Repeat(_DIGIT, 1, len(whole) - 1), _TAIL)] if len(whole) > 1 else []
    for place, digit in enumerate(whole):
        if digit > "0":
            parts.append(seq(Bytes(whole[:place].encode()), _below(digit), _rest(whole, place), _TAIL))
    parts.append(Bytes(whole.encode()))
    for place, digit in enumerate(fraction):
        start = f"{whole}.{fraction[:place]}".encode()
        if digit > "0":
            parts.append(seq(Bytes(start), _below(digit), _MORE))
        parts.append(Bytes(start + digit.encode()))
    return alt(parts)


def _above(digit: str) -> Expression:
    return char_class([(ord(digit) + 1, ord("9"))])


def _below(digit: str) -> Expression:
    return char_class([(ord("0"), ord(digit) - 1)])


def _rest(whole: str, place: int) -> Expression:
    count = len(whole) - place - 1
    return repeat(_DIGIT, count, count)


_MORE = Repeat(_DIGIT, 0, None)
_TAIL = optional(seq(Bytes(b"."), _MORE))
