"""Scalars in one spelling each, so that values are equal where their texts are: items that may not repeat."""

from __future__ import annotations

from grammar_cache.dialects.json_schema.expressions.combine import alt, chars, optional, seq
from grammar_cache.dialects.json_schema.expressions.encoding import QUOTE
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.strings import strings
from grammar_cache.expression import And, Bytes, Expression, Ref, Repeat, char_class

_RAW = char_class([(0x20, 0x21), (0x23, 0x5B), (0x5D, 0x10FFFF)])
_ESCAPED = alt(
    (
        chars('"\\bfnrt'),
        seq(Bytes(b"u000"), chars("01234567bef")),
        seq(Bytes(b"u001"), chars("0123456789abcdef")),
    )
)
_STRING = seq(QUOTE, Repeat(alt((_RAW, seq(Bytes(b"\\"), _ESCAPED))), 0, None), QUOTE)

_ONE_DIGIT, _NONZERO = chars("0123456789"), chars("123456789")
_MINUS = optional(Bytes(b"-"))


def _whole(digits: int) -> Expression:
    """Whole numbers above 0 of at most so many digits."""
    return seq(_NONZERO, Repeat(_ONE_DIGIT, 0, digits - 1))


_DIGITS = 15
"""Digits of numbers that every reader tells apart which keeps them as 64-bit floats."""

_INTEGER = alt((Bytes(b"0"), seq(_MINUS, _whole(_DIGITS))))
_FRACTION = seq(_MINUS, alt((Bytes(b"0"), _whole(8))), Bytes(b"."), Repeat(_ONE_DIGIT, 0, 6), _NONZERO)
_SCALAR = alt((_STRING, _INTEGER, _FRACTION, Bytes(b"true"), Bytes(b"false"), Bytes(b"null")))


def has_own_spelling(value: Json) -> bool:
    """Whether a listed value is among `canonical` texts for certain, as it is written."""
    if isinstance(value, int):
        return bool(-(10**_DIGITS) < value < 10**_DIGITS)
    return value is None or isinstance(value, str)


def canonical(values: Expression) -> Expression:
    """Texts of scalars in their one spelling: no two of them mean the same value."""
    return _STRING if values == Ref(strings.RULE) else And((values, _SCALAR))
