"""Multiples, and numbers that are excluded, by exact arithmetic."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.dialects.json_schema.numbers.digit_conditions import Comparison
from grammar_cache.dialects.json_schema.numbers.multiples import fewest, is_multiple, reduced, remainders, within
from grammar_cache.errors import EmptyLanguage, GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from server.checking.membership import Recogniser

STEPS = ["1", "2", "3", "7", "10", "12", "100", "1e2", "0.1", "0.01", "2.5", "0.25", "1.50", "0.003", "1e-7"]
NUMBERS = ["0", "1", "-1", "5", "2.5", "-7.25", "100", "33", "-40", "1e2", "12.50"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A part of a schema, and what it says of a number."""

    text: str
    holds: Callable[[Fraction], bool]


def _exact(literal: str) -> Fraction:
    return Fraction(Decimal(literal))


def multiple(step: str) -> Asked:
    return Asked(f'{{"multipleOf": {step}}}', lambda value: (value / _exact(step)).denominator == 1)


def at_least(bound: str) -> Asked:
    return Asked(f'{{"minimum": {bound}}}', lambda value: value >= _exact(bound))


def below(bound: str) -> Asked:
    return Asked(f'{{"exclusiveMaximum": {bound}}}', lambda value: value < _exact(bound))


def equal(literal: str) -> Asked:
    return Asked(f'{{"const": {literal}}}', lambda value: value == _exact(literal))


def negation(asked: Asked) -> Asked:
    return Asked(f'{{"not": {asked.text}}}', lambda value: not asked.holds(value))


INTEGER = Asked('{"type": "integer"}', lambda value: value.denominator == 1)
PARTS = st.one_of(
    st.sampled_from(STEPS).map(multiple),
    st.sampled_from(STEPS).map(multiple).map(negation),
    st.sampled_from(NUMBERS).map(at_least),
    st.sampled_from(NUMBERS).map(below),
    st.sampled_from(NUMBERS).map(equal).map(negation),
    st.just(INTEGER),
)
CANDIDATES = st.one_of(
    st.decimals(-300, 300, places=2),
    st.tuples(st.sampled_from(STEPS), st.integers(-50, 50)).map(lambda pair: Decimal(pair[0]) * pair[1]),
    st.sampled_from(NUMBERS).map(Decimal),
)


@settings(max_examples=30)
@given(st.lists(PARTS, min_size=1, max_size=3), st.lists(CANDIDATES, min_size=1, max_size=20))
@example([multiple("0.01"), negation(equal("1"))], [Decimal("1.0"), Decimal("1.01")])
@example([multiple("0.25"), negation(multiple("12"))], [Decimal(100), Decimal(105)])
def test_multiples_are_exact(parts: list[Asked], candidates: list[Decimal]) -> None:
    """A number in any spelling is generated only where all that is asked of it holds; plainly written, always."""
    integral = any(part is INTEGER for part in parts)
    schema = f'{{"type": "number", "allOf": [{", ".join(part.text for part in parts)}]}}'
    try:
        judge = Recogniser(parse(schema)).judge
    except EmptyLanguage:
        judge = None
    for value in candidates:
        plain = f"{value + 0:f}"
        plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
        spellings = [plain, f"{plain}e0", f"{plain}0" if "." in plain else f"{plain}.0"]
        expected = all(part.holds(Fraction(value)) for part in parts)
        found = [judge is not None and judge(text.encode()).accepted for text in spellings]
        assert expected or not any(found), (schema, spellings, found)
        few_digits = abs(value) < 1000 and value == round(value, 2)
        assert not expected or not few_digits or found[0] or (integral and "." in plain), (schema, plain)


@given(st.integers(0, 2), st.integers(1, 40), st.integers(0, 10**6))
def test_the_automaton_divides(tens: int, divisor: int, number: int) -> None:
    """The automaton of digits ends in a state that holds exactly for multiples, both times."""
    for table, holds in (remainders(tens, divisor), fewest(*remainders(tens, divisor))):
        state = 0
        for digit in str(number):
            state = table[state][int(digit)]
        assert bool(holds[state]) is (number % (divisor * 10**tens) == 0)


@given(
    st.decimals(-(10**6), 10**6, places=4),
    st.decimals("0.0001", 1000, places=4),
)
def test_division_is_exact(value: Decimal, step: Decimal) -> None:
    """No float takes part in it."""
    assert is_multiple(value, step) is ((Fraction(value) / Fraction(step)).denominator == 1)
    assert is_multiple(Decimal("1e999999"), step) is is_multiple(Decimal("1e30"), step)


@given(
    st.lists(st.sampled_from(STEPS).map(Decimal), max_size=3),
    st.lists(st.sampled_from(STEPS).map(Decimal), max_size=3),
    st.lists(CANDIDATES, max_size=20),
)
def test_fewer_steps_say_the_same(wanted: list[Decimal], unwanted: list[Decimal], values: list[Decimal]) -> None:
    """The least common multiple stands for all that are wanted, and no step that another covers stays."""
    found = reduced(wanted, unwanted)
    for value in values:
        expected = all(is_multiple(value, one) for one in wanted) and not any(
            is_multiple(value, one) for one in unwanted
        )
        if found is None:
            assert not expected
        else:
            fewer = all(is_multiple(value, one) for one in found[0]) and not any(
                is_multiple(value, one) for one in found[1]
            )
            assert fewer is expected


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ('{"type": "integer", "multipleOf": 7}', "49", True),
        ('{"type": "integer", "multipleOf": 7}', "50", False),
        ('{"type": "integer", "multipleOf": 7}', "-49", True),
        ('{"type": "integer", "multipleOf": 2.5}', "5", True),
        ('{"type": "integer", "multipleOf": 2.5}', "2", False),
        ('{"type": "number", "multipleOf": 0.01}', "0.07", True),
        ('{"type": "number", "multipleOf": 0.01}', "0.071", False),
        ('{"type": "number", "multipleOf": 1}', "3.0", True),
        ('{"type": "integer", "multipleOf": 1000000}', "3000000", True),
        ('{"type": "integer", "multipleOf": 1000000}', "300000", False),
        ('{"type": "integer", "multipleOf": 1009}', "10090", True),
        ('{"type": "integer", "multipleOf": 7, "minimum": 1000000000000}', "1000000000006", True),
        ('{"type": "integer", "multipleOf": 7, "minimum": 1000000000000}', "6", False),
        ('{"enum": [6, 7, 0.5], "multipleOf": 3}', "6", True),
        ('{"enum": [6, 7, 0.5], "multipleOf": 3}', "7", False),
        ('{"type": "number", "not": {"const": 5}}', "5.00", False),
        ('{"type": "number", "not": {"const": 5}}', "50e-1", False),
        ('{"type": "number", "not": {"const": 5}}', "5.01", True),
        ('{"type": "number", "not": {"const": 0}}', "-0", False),
        ('{"type": "number", "not": {"type": "integer"}}', "5.0", False),
        ('{"type": "number", "not": {"type": "integer"}}', "5.5", True),
    ],
)
def test_numbers_are_told_by_their_digits(schema: str, text: str, expected: bool) -> None:
    """Divisors large and small, with bounds, in enumerations, and exclusions in every spelling."""
    assert Recogniser(parse(schema)).judge(text.encode()).accepted is expected


def test_what_divides_too_much_is_refused() -> None:
    """A step of zero is no step; large divisors are refused by pointer, and large common multiples by a limit."""
    with pytest.raises(GrammarSyntaxError):
        parse('{"multipleOf": 0}')
    with pytest.raises(UnsupportedFeature) as refusal:
        parse('{"properties": {"a": {"multipleOf": 123457}}}')
    assert refusal.value.pointer == "/properties/a/multipleOf"
    with pytest.raises(LimitExceeded):
        parse('{"allOf": [{"multipleOf": 1009}, {"multipleOf": 1013}]}')


@given(
    st.sampled_from([Decimal(step) for step in STEPS if Decimal(step) >= Decimal("0.1")]),
    st.decimals(0, 300, places=2),
    st.decimals(0, 300, places=2),
    st.integers(1, 40),
)
def test_multiples_between_bounds_are_listed(step: Decimal, low: Decimal, high: Decimal, most: int) -> None:
    """All of them from the least to the largest, or None where they are many."""
    found = within(step, low, high, most)
    if found is None:
        assert high - low >= step * most
    else:
        count = int(Fraction(high) / Fraction(step)) + 2
        assert found == [step * number for number in range(count) if low <= step * number <= high]


@pytest.mark.parametrize(
    "schema",
    [
        '{"allOf": [{"multipleOf": 77}, {"multipleOf": 44}, {"multipleOf": 13}], "not": {"multipleOf": 8}}',
        '{"allOf": [{"multipleOf": 6.75}, {"multipleOf": 19}, {"multipleOf": 2.125}], "maximum": 90000, "minimum": 9}',
    ],
)
def test_common_multiples_of_thousands_are_quick(schema: str) -> None:
    """States from which no multiple is reached any more are not looked at."""
    step = Decimal(4004) if "77" in schema else Decimal(8721)
    judge = Recogniser(parse(schema)).judge
    for count in range(1, 11):
        value = step * count
        expected = value % 8 != 0 if "77" in schema else value <= 90000
        assert judge(str(value).encode()).accepted is expected
        assert not judge(str(value + 1).encode()).accepted


def test_many_numbers_are_excluded() -> None:
    """States of fifty conditions are told apart, though their numbers of states multiply to more than 2^62."""
    excluded = range(0, 100, 2)
    schema = {"type": "number", "multipleOf": 0.5, "not": {"enum": list(excluded)}}
    judge = Recogniser(parse(json.dumps(schema))).judge
    for halves in range(220):
        text = f"{halves / 2:g}"
        assert judge(text.encode()).accepted is (halves / 2 not in excluded), text


@pytest.mark.parametrize("zero", ["0", "0.000", "0E70", "-0E-70"])
def test_zero_is_compared_however_it_is_written(zero: str) -> None:
    """Digits that magnitudes are compared with are one for all zeros, and so are automata that are kept for them."""
    assert Comparison(Decimal(zero), frozenset({1})).digits() == ("0", "")


def test_too_many_states_are_told_with_what_makes_them_fewer() -> None:
    """A step of four digits behind the point, between bounds, is refused by what it takes; one of two is not."""
    with pytest.raises(LimitExceeded, match="step with fewer digits"):
        parse('{"multipleOf": 0.1999, "minimum": 12345, "maximum": 1e12}')
    parse('{"multipleOf": 0.19, "minimum": 12345, "maximum": 1e12}')


def test_bounds_too_fine_to_list_between_leave_zero_alone() -> None:
    """Multiples up to less than the step, from a bound with hundreds of digits on: there are none but zero. Digits that
    lead nowhere ended in an IndexError.
    """
    bounds = '"multipleOf": 100, "exclusiveMaximum": 0.5'
    grammar = parse(f'{{"type": "number", {bounds}, "minimum": -5e-324}}')
    assert Recogniser(grammar).judge(b"0").accepted
    with pytest.raises(EmptyLanguage):
        Recogniser(parse(f'{{"type": "number", {bounds}, "minimum": 5e-324}}'))


@pytest.mark.parametrize(
    "schema",
    [
        '{"type": "number", "minimum": 5e59, "maximum": 2e60}',
        '{"type": "integer", "maximum": -5e59, "minimum": -2e60}',
        '{"type": "number", "minimum": 5e59, "not": {"enum": [1e60, 2e60]}}',
        '{"type": "integer", "multipleOf": 1e59, "not": {"enum": [1e60, 2e60]}}',
        '{"type": "integer", "multipleOf": 1e59, "not": {"enum": [-1e60, -2e60]}}',
        '{"type": "number", "minimum": 1e59, "allOf": [{"multipleOf": 160e57}, {"multipleOf": 625e57}]}',
        '{"allOf": [{"multipleOf": 160e56}, {"multipleOf": 625e56}], "not": {"enum": [2e60, 4e60, 2e61, -2e61]}}',
    ],
)
def test_bounds_and_steps_near_the_largest_are_exact(schema: str) -> None:
    """Numbers of 61 digits, which a bound or a step of 60 may ask for, were written though a bound beyond them, an
    excluded number, or a common multiple forbids them.
    """
    stated = json.loads(schema, parse_float=Fraction)
    try:
        judge = Recogniser(parse(schema)).judge
    except EmptyLanguage:
        return
    for exponent in range(58, 63):
        for digit in (-4, -2, -1, 1, 2, 4):
            value = digit * 10**exponent
            if judge(str(value).encode()).accepted:
                assert Draft202012Validator(stated).is_valid(value), value
