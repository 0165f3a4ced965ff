"""Numbers between bounds, exactly, digit by digit.

Where a bound is in force numbers are written out, without exponent, so that their order is that of their
digits. Digits are capped, because models run away with them (outlines #1131): 20 before and after the point.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache

from grammar_cache.dialects.json_schema.expressions.combine import alt, optional, seq
from grammar_cache.dialects.json_schema.expressions.right_linear import Define
from grammar_cache.dialects.json_schema.numbers import digits, multiples
from grammar_cache.dialects.json_schema.numbers.comparing import at_least, at_most
from grammar_cache.dialects.json_schema.numbers.digit_conditions import LONGEST, Comparison, Condition, Division
from grammar_cache.dialects.json_schema.numbers.digit_walk import EXACT_DIGITS
from grammar_cache.dialects.json_schema.numbers.interval import Bound, Interval
from grammar_cache.dialects.json_schema.numbers.multiples import EXACTLY
from grammar_cache.expression import ANY_CHAR, NOTHING, And, Bytes, Expression, Not, Ref, Repeat, char_class

NUMBER_RULE = "json.number"
INTEGER_RULE = "json.integer"
DIGITS = 20
_FEW_DIGITS = 6
"""Digits after the point below which numbers that are far from what they must not be taken for have more."""
_FEW = 300
"""Multiples between two bounds up to which they are listed instead of counted out."""
_TINIEST = -1000

_ZERO, _TEN = Decimal(0), Decimal(10)
_DIGIT = char_class([(0x30, 0x39)])
_NONZERO = char_class([(0x31, 0x39)])
_ANYTHING = Repeat(ANY_CHAR, 0, None)


def number(interval: Interval, name: str, define: Define, *, integral: bool) -> Expression:
    """The numbers, or only the integers, in an interval. `name` begins the names of the rules that they need."""
    if interval.free:
        return Ref(INTEGER_RULE if integral else NUMBER_RULE)
    low, high = interval.low, interval.high
    if low is None and high is None and interval.multiples and not interval.excluded:
        whole = _unsigned_in(interval, 1, Bound(_ZERO, False), None, name, define, integral)
        return seq(optional(Bytes(b"-")), whole)
    parts = []
    if high is None or high.value > 0 or (high.value == 0 and not high.open):
        start = low if low is not None and low.value >= 0 else Bound(_ZERO, False)
        parts.append(_unsigned_in(interval, 1, start, high, name, define, integral))
    if low is None or low.value < 0:
        start = (
            Bound(high.value.copy_negate(), high.open) if high is not None and high.value < 0 else Bound(_ZERO, True)
        )
        end = None if low is None else Bound(low.value.copy_negate(), low.open)
        parts.append(seq(Bytes(b"-"), _unsigned_in(interval, -1, start, end, name, define, integral)))
    return alt(part for part in parts if part != NOTHING)


def _unsigned_in(
    interval: Interval, sign: int, low: Bound, high: Bound | None, name: str, define: Define, integral: bool
) -> Expression:
    """Numbers without their sign, from `low`, which is not negative, to `high`, that meet the interval's other
    conditions with it. `name`: without the sign, of the rule that they may need.
    """
    excluded = [abs(value) for value in interval.excluded if value * sign > 0 or (value == 0 and sign > 0)]
    if not interval.multiples and not interval.not_multiples:
        return _magnitudes(low, high, excluded, integral) if excluded else _between(low, high, integral)
    reduced = multiples.reduced(interval.multiples, interval.not_multiples)
    if reduced is None:
        return NOTHING
    few = multiples.within(reduced[0][0], low.value, high.value, _FEW) if reduced[0] and high is not None else None
    if few is not None and all(len(value.normalize().as_tuple().digits) <= EXACT_DIGITS for value in few):
        fits = (value for value in few if interval.holds(value * sign) and not (low.open and value == low.value))
        return digits.listed(fits, multiples.places(reduced[0][0]), integral=integral)
    conditions: list[Condition] = [Division(step, True) for step in reduced[0]]
    conditions += [Division(step, False) for step in reduced[1]]
    if low.open or low.value:
        conditions.append(Comparison(low.value, frozenset({1}) if low.open else frozenset({0, 1})))
    if high is not None and high.value.adjusted() < LONGEST:
        conditions.append(Comparison(high.value, frozenset({-1}) if high.open else frozenset({-1, 0})))
    conditions += [Comparison(value, frozenset({-1, 1})) for value in excluded if value.adjusted() < LONGEST]
    largest = None if high is None else min(high.value.adjusted() + 1, LONGEST)
    return digits.magnitudes(
        conditions, (low.value.adjusted() + 1, largest), define, f"{name} {'-' if sign < 0 else '+'}", integral=integral
    )


@lru_cache(maxsize=128)
def _between(low: Bound, high: Bound | None, integral: bool) -> Expression:
    """Numbers without sign between bounds: many schemas have the same few, and what is made of one object is kept."""
    return _magnitudes(low, high, [], integral)


def _magnitudes(low: Bound, high: Bound | None, excluded: list[Decimal], integral: bool) -> Expression:
    """Numbers without sign from `low`, which is not negative, to `high`, without those that are excluded."""
    if high is None and low.value == 0 and not excluded:
        syntax = _unsigned(DIGITS, 0 if integral else DIGITS, exponent=not integral)
        return And((syntax, _NOT_ZERO)) if low.open else syntax
    largest = max(_open(low, high, excluded), key=Decimal.adjusted, default=None)
    fraction = DIGITS if largest is None else _fraction_digits(largest)
    if not integral and largest is not None and fraction < _FEW_DIGITS:
        cut = _TEN ** (largest.adjusted() - 1)
        if low.value < cut and (high is None or cut < high.value):  # nobody takes numbers below for the largest
            # What floats take for the cut counts on both sides.
            few = [value for value in excluded if value.adjusted() < LONGEST]
            below = _magnitudes(low, Bound(cut, False), [v for v in few if float(v) <= float(cut)], integral)
            above = _magnitudes(Bound(cut, False), high, [v for v in few if float(v) >= float(cut)], integral)
            return alt(part for part in (below, above) if part != NOTHING)
    fraction = 0 if integral else fraction
    least = _scaled(low, fraction, ROUND_CEILING, 1)
    most = None if high is None or high.value.adjusted() >= LONGEST else _scaled(high, fraction, ROUND_FLOOR, -1)
    if most is not None and most < least:
        return NOTHING
    first = _digits(least, fraction)
    longest = max(DIGITS, len(first[0]) + 1)
    conditions = [_unsigned(longest, fraction, exponent=False), at_least(*first, longest)]
    if most is not None and most < 10 ** (longest + fraction):
        conditions.append(at_most(*_digits(most, fraction)))
    if forms := [form for value in excluded for form in _forms(value, fraction)]:
        conditions.append(Not(alt(forms)))  # with a denial each, thousands would take the square of their number
    return And(tuple(conditions))


def _forms(value: Decimal, fraction: int) -> list[Expression]:
    """Spellings of a number with so many digits after the point, also of its neighbours that floats take for it."""
    if value.adjusted() >= LONGEST:
        return []
    found = {value} if value.adjusted() > _TINIEST else {_ZERO}
    for rounding in (ROUND_FLOOR, ROUND_CEILING):
        near = EXACTLY.scaleb(
            EXACTLY.scaleb(value, fraction).to_integral_value(rounding=rounding, context=EXACTLY), -fraction
        )
        if float(near) == float(value):
            found.add(near)
    forms = []
    for one in found:
        whole, _, rest = f"{one:f}".partition(".")
        rest = rest.rstrip("0")
        zeros = Repeat(Bytes(b"0"), 0, None)
        tail = seq(Bytes(f".{rest}".encode()), zeros) if rest else optional(seq(Bytes(b"."), zeros))
        forms.append(seq(Bytes(whole.encode()), tail))
    return forms


def _unsigned(whole: int, fraction: int, *, exponent: bool) -> Expression:
    parts = [alt((Bytes(b"0"), seq(_NONZERO, Repeat(_DIGIT, 0, whole - 1))))]
    if fraction:
        parts.append(optional(seq(Bytes(b"."), Repeat(_DIGIT, 1, fraction))))
    if exponent:
        parts.append(optional(_exponent()))
    return seq(*parts)


def _exponent() -> Expression:
    """Up to 279, so that a 64-bit float neither overflows nor becomes zero with 20 digits on either side."""
    value = alt(
        (
            Repeat(_DIGIT, 1, 2),
            seq(Bytes(b"1"), _DIGIT, _DIGIT),
            seq(Bytes(b"2"), char_class([(0x30, 0x37)]), _DIGIT),
        )
    )
    mark = char_class([(0x45, 0x45), (0x65, 0x65)])
    sign = char_class([(0x2B, 0x2B), (0x2D, 0x2D)])
    return seq(mark, optional(sign), value)


_NOT_ZERO = seq(Repeat(char_class([(0x2E, 0x2E), (0x30, 0x30)]), 0, None), _NONZERO, _ANYTHING)
ANY_INTEGER = seq(optional(Bytes(b"-")), _unsigned(DIGITS, 0, exponent=False))
ANY_NUMBER = seq(optional(Bytes(b"-")), _unsigned(DIGITS, DIGITS, exponent=True))


def _open(low: Bound, high: Bound | None, excluded: Iterable[Decimal]) -> list[Decimal]:
    """Values that numbers must not be taken for by a reader that keeps floats, of those that any number comes near."""
    longest = LONGEST if high is None else min(LONGEST, high.value.adjusted() + 2)
    found = [value for value in excluded if value.adjusted() < longest]
    found += [high.value] if high is not None and high.open and high.value.adjusted() < longest else []
    return [value for value in (*found, *([low.value] if low.open else [])) if value != 0]


def _fraction_digits(value: Decimal) -> int:
    """Digits after the point of numbers beside a value: few enough that no reader of floats rounds them onto it."""
    return max(0, EXACT_DIGITS - max(1, value.adjusted() + 1))


def _scaled(bound: Bound, fraction: int, rounding: str, inward: int) -> int:
    """The bound in units of the last digit, moved inwards to one that may be reached."""
    value = bound.value
    if value.adjusted() < _TINIEST and value != 0:
        return 1 if rounding == ROUND_CEILING else 0
    exact = EXACTLY.scaleb(value, fraction)
    rounded = int(exact.to_integral_value(rounding=rounding, context=EXACTLY))
    return rounded + inward if bound.open and rounded == exact else rounded


def _digits(scaled: int, fraction: int) -> tuple[str, str]:
    text = str(scaled).zfill(fraction + 1)
    return (text[:-fraction], text[-fraction:]) if fraction else (text, "")
