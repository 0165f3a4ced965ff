"""Scalars in one spelling each, so that values are equal where their texts are: items that may not repeat."""

from __future__ import annotations

from decimal import Decimal

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
STRING = seq(QUOTE, Repeat(alt((_RAW, seq(Bytes(b"\\"), _ESCAPED))), 0, None), QUOTE)

_ONE_DIGIT, _NONZERO = chars("0123456789"), chars("123456789")
_MINUS = optional(Bytes(b"-"))


def _whole(digits: int) -> Expression:
    """Whole numbers above 0 of at most so many digits."""
    return seq(_NONZERO, Repeat(_ONE_DIGIT, 0, digits - 1))


_DIGITS = 15
"""Digits of numbers that every reader tells apart which keeps them as 64-bit floats."""

_BEFORE_DECIMALS, _DECIMALS = 8, 7
"""Digits of the parts of fractions."""

_INTEGER = alt((Bytes(b"0"), seq(_MINUS, _whole(_DIGITS))))
_DECIMAL_PART = seq(Repeat(_ONE_DIGIT, 0, _DECIMALS - 1), _NONZERO)
_FRACTION = seq(_MINUS, alt((Bytes(b"0"), _whole(_BEFORE_DECIMALS))), Bytes(b"."), _DECIMAL_PART)
SCALAR = alt((STRING, _INTEGER, _FRACTION, Bytes(b"true"), Bytes(b"false"), Bytes(b"null")))


def has_own_spelling(value: Json, *, integral_decimals: bool) -> bool:
    """Whether a listed value has a canonical text, and so have all parts of it. `integral_decimals`: 2.0 is an integer,
    so that it is written 2.
    """
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict | list):
            stack.extend(part.values() if isinstance(part, dict) else part)
        elif isinstance(part, int | Decimal):
            is_whole = isinstance(part, int) or (integral_decimals and part == part.to_integral_value())
            if not (abs(part) < 10**_DIGITS if is_whole else _is_fraction(Decimal(part))):
                return False
    return True


def spellings(value: int | Decimal) -> tuple[str, ...]:
    """The canonical text of a number that has one."""
    return (format(value.normalize() if value else Decimal(0), "f") if isinstance(value, Decimal) else str(value),)


def _is_fraction(value: Decimal) -> bool:
    """Whether a number is among `_FRACTION`."""
    _, digits, exponent = value.normalize().as_tuple()
    return isinstance(exponent, int) and -_DECIMALS <= exponent < 0 and len(digits) + exponent <= _BEFORE_DECIMALS


def canonical(values: Expression) -> Expression:
    """Texts of scalars in their one spelling: no two of them mean the same value."""
    return STRING if values == Ref(strings.RULE) else And((values, SCALAR))
