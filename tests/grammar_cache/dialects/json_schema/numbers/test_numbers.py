"""Numbers between bounds, against exact decimal arithmetic and the reference validator."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.errors import UnsupportedFeature
from tests.expression_matcher import matches
from tests.grammar_cache.dialects.json_schema.oracle import generates, is_valid

BOUNDS = st.decimals(min_value=-2000, max_value=2000, places=2).map(lambda value: value.normalize())
NUMBERS = st.decimals(min_value=-2100, max_value=2100, places=3)


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that a schema with bounds allows."""

    kind: str
    low: Decimal | None
    high: Decimal | None
    low_open: bool = False
    high_open: bool = False

    @property
    def schema(self) -> str:
        parts = [f'"type": "{self.kind}"']
        if self.low is not None:
            parts.append(f'"{"exclusiveMinimum" if self.low_open else "minimum"}": {self.low:f}')
        if self.high is not None:
            parts.append(f'"{"exclusiveMaximum" if self.high_open else "maximum"}": {self.high:f}')
        return "{" + ", ".join(parts) + "}"

    def __contains__(self, value: Decimal) -> bool:
        above = self.low is None or value > self.low or (value == self.low and not self.low_open)
        below = self.high is None or value < self.high or (value == self.high and not self.high_open)
        return above and below and (self.kind == "number" or value == value.to_integral_value())


RANGES = st.builds(
    Range,
    st.sampled_from(["integer", "number"]),
    st.none() | BOUNDS,
    st.none() | BOUNDS,
    st.booleans(),
    st.booleans(),
)


@settings(deadline=None, max_examples=200)
@given(RANGES, st.lists(NUMBERS, max_size=6))
@example(Range("number", Decimal(0), Decimal(1), True, True), [Decimal("0.001"), Decimal("0.999")])
@example(Range("number", Decimal(-1), Decimal(0), True), [Decimal("-0.5"), Decimal("-1.001")])
@example(Range("integer", Decimal("-99.5"), Decimal("100.5")), [Decimal(-100), Decimal(100), Decimal(101)])
def test_bounds_are_exact(allowed: Range, candidates: list[Decimal]) -> None:
    """A decimal is generated exactly if it lies between the bounds, and is an integer where that is asked."""
    grammar = parse(allowed.schema)
    steps = [Decimal(step) for step in ("-1", "-0.001", "0", "0.001", "1")]
    near = [bound + step for bound in (allowed.low, allowed.high) if bound is not None for step in steps]
    for value in (*candidates, *near):
        text = f"{value + 0:f}"
        plain = text.rstrip("0").rstrip(".") if "." in text else text
        assert matches(grammar, plain.encode()) is (value in allowed), plain


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"type": "integer"}, "12345678901234567890", True),
        ({"type": "integer"}, "123456789012345678901", False),
        ({"type": "integer"}, "01", False),
        ({"type": "integer"}, "1.0", False),
        ({"type": "number"}, "-1.5e-7", True),
        ({"type": "number"}, "1E+279", True),
        ({"type": "number"}, "1e999", False),
        ({"type": "number"}, "1.", False),
        ({"type": "number"}, ".5", False),
        ({"type": "number"}, "+1", False),
        ({"type": "number", "minimum": 0}, "1e5", True),
        ({"type": "number", "exclusiveMinimum": 0}, "0.0", False),
        ({"type": "number", "exclusiveMinimum": 0}, "0e5", False),
        ({"type": "number", "exclusiveMinimum": 0}, "0.01e5", True),
        ({"type": "number", "maximum": 1}, "1.000", True),
        ({"type": "number", "maximum": 1}, "1.0001", False),
        ({"type": "number", "maximum": 1.7976931348623157e308}, "12.5", True),
        ({"type": "number", "minimum": -1.7976931348623157e308}, "-12.5", True),
        ({"type": "number", "minimum": 5e-324}, "0.1", True),
        ({"type": "number", "minimum": 5e-324}, "0.0", False),
        ({"type": "integer", "minimum": 1e21}, "1000000000000000000000", True),
        ({"type": "integer", "minimum": 1e21}, "999999999999999999999", False),
        ({"type": "number", "minimum": 0, "exclusiveMaximum": 1e16}, "1.5", True),
        ({"type": "number", "minimum": 0, "exclusiveMaximum": 1e16}, "9999999999999999", True),
        ({"type": "number", "minimum": 0, "exclusiveMaximum": 1e16}, "10000000000000000", False),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1e13}, "12.34", True),
        ({"type": "number", "not": {"const": 9007199254740993}}, "1.5", True),
        ({"type": "number", "not": {"const": 9007199254740993}}, "9007199254740993.0", False),
        ({"type": "number", "exclusiveMaximum": 1.7976931348623157e308}, "1.5", True),
        ({"minimum": 3, "maximum": 2}, "2", False),
        ({"minimum": 3, "maximum": 2}, "null", True),
    ],
)
def test_numbers_are_written_as_json_and_capped(schema: Any, text: str, expected: bool) -> None:
    """Syntax, caps on digits, exponents, and bounds far outside of what is written."""
    assert generates(schema, text) is expected


@pytest.mark.parametrize("bound", [1, 0.3, 1000.1, 123456.789, 0.1234567890123456])
def test_no_number_is_rounded_onto_an_open_bound(bound: float) -> None:
    """Texts just below an exclusive maximum are valid for a reader that keeps numbers as floats."""
    schema = {"type": "number", "exclusiveMaximum": bound}
    grammar = parse(json.dumps(schema))
    units = [Decimal(10) ** -digits for digits in range(1, 24)]
    exact = Decimal(repr(bound))
    below = [f"{exact - unit:f}" for unit in units] + [f"{exact.quantize(unit, ROUND_FLOOR):f}" for unit in units[:15]]
    generated = [text for text in below if matches(grammar, text.encode())]
    assert generated
    assert all(is_valid(schema, text) for text in generated)


LARGE = st.one_of(
    st.integers(9, 20).map(lambda digits: Decimal(10) ** digits),
    st.integers(30, 60).map(lambda bits: Decimal(2**bits)),
    st.integers(1, 10**16).map(Decimal),
    st.integers(1, 10**12).map(lambda value: Decimal(value) / 1000),
    st.integers(0, 20).map(Decimal),
)
SIGNED = st.tuples(LARGE, st.sampled_from([1, -1])).map(lambda pair: pair[0] * pair[1])
STEPS = ["0", "1", "-1", "0.5", "-0.25", "0.001", "-0.000001", "0.000000000001", "-0.000000000001"]


@settings(max_examples=60)
@given(
    st.dictionaries(st.sampled_from(["minimum", "exclusiveMinimum"]), SIGNED, max_size=1),
    st.dictionaries(st.sampled_from(["maximum", "exclusiveMaximum"]), SIGNED, max_size=1),
    st.lists(SIGNED, max_size=2),
    st.lists(st.decimals(min_value=-(10**6), max_value=10**6, places=3), min_size=4, max_size=8),
)
def test_large_bounds_leave_fractions_to_small_numbers(
    low: dict[str, Decimal], high: dict[str, Decimal], excluded: list[Decimal], near_zero: list[Decimal]
) -> None:
    """No text is outside, exactly or, below 10^14, as a float; few digits are only where numbers are near a value that
    they must not be taken for."""
    bounds = low | high
    stated = [f'"{name}": {value:f}' for name, value in bounds.items()]
    stated += [f'"not": {{"enum": [{", ".join(f"{value:f}" for value in excluded)}]}}'] if excluded else []
    grammar = parse("{" + ", ".join(['"type": "number"', *stated]) + "}")
    apart = [*bounds.values(), *excluded]
    around = [value + Decimal(step) for value in apart for step in STEPS]
    for value in (*around, *near_zero, *(value / 2 for value in apart)):
        number = Decimal(f"{value:.12f}".rstrip("0").rstrip(".")) + 0
        belongs = _belongs(number, bounds, excluded)
        if abs(number) < 10**14:
            as_floats = {name: float(bound) for name, bound in bounds.items()}
            belongs = belongs and _belongs(float(number), as_floats, [float(each) for each in excluded])
        generated = matches(grammar, f"{number:f}".encode())
        assert belongs or not generated, number
        if belongs and number in near_zero and all(abs(number - each) > 10 for each in apart):
            assert generated, number


def _belongs(number: Any, bounds: dict[str, Any], excluded: list[Any]) -> bool:
    kept = {
        "minimum": lambda bound: number >= bound,
        "exclusiveMinimum": lambda bound: number > bound,
        "maximum": lambda bound: number <= bound,
        "exclusiveMaximum": lambda bound: number < bound,
    }
    return number not in excluded and all(kept[name](bound) for name, bound in bounds.items())


@pytest.mark.parametrize("near", ["100000000.000000001", "99999999.9999999999"])
def test_excluded_numbers_that_floats_take_for_a_power_of_ten_are_denied_on_both_sides(near: str) -> None:
    """Numbers are written below and above 1e8 where 1e9 is excluded, and neither is to be read as the excluded one."""
    grammar = parse(f'{{"type": "number", "not": {{"enum": [{near}, 1000000000]}}}}')
    for text in ("100000000", "100000000.0", near, "1000000000"):
        assert not matches(grammar, text.encode())
    for text in ("99999999.75", "100000000.25", "999999999", "0.1"):
        assert matches(grammar, text.encode())


def test_excluded_numbers_are_denied_together() -> None:
    """Automata of a denial each took the square of their number: four seconds for 3,000 integers."""
    grammar = parse(json.dumps({"type": "integer", "not": {"enum": [*range(0, 200, 2), -4]}}))
    assert repr(grammar.rules).count("Not(") == 2  # of those without and with a sign
    for value in range(-6, 210):
        assert matches(grammar, str(value).encode()) == (value != -4 and (value < 0 or value > 198 or value % 2 == 1))


@pytest.mark.parametrize("zero", ["0", "0.0", "-0.0", "0E70", "-0e-70"])
def test_zero_is_zero_however_it_is_written(zero: str) -> None:
    """Bounds, excluded and listed values, and bounds beside multiples."""
    bounded = parse(f'{{"type": "integer", "minimum": -2, "maximum": {zero}}}')
    assert [n for n in range(-4, 4) if matches(bounded, str(n).encode())] == [-2, -1, 0]
    excluded = parse(f'{{"type": "integer", "not": {{"const": {zero}}}}}')
    assert [n for n in range(-2, 3) if matches(excluded, str(n).encode())] == [-2, -1, 1, 2]
    assert matches(parse(f'{{"enum": [{zero}]}}'), b"0")
    multiples = parse(f'{{"type": "number", "minimum": {zero}, "maximum": 100, "multipleOf": 0.7}}')
    assert [n / 10 for n in range(25) if matches(multiples, str(n / 10).encode())] == [0.0, 0.7, 1.4, 2.1]


@pytest.mark.parametrize("step", ["1e60", "1e400", "1" + "0" * 60])
def test_multiples_beyond_all_digits_are_refused(step: str) -> None:
    with pytest.raises(UnsupportedFeature) as caught:
        parse(f'{{"type": "integer", "multipleOf": {step}}}')
    assert caught.value.pointer == "/multipleOf"
