"""Numbers as Markdown."""

from __future__ import annotations

from benchmarks.tables import markdown, number, percent, quantile


def test_columns_are_padded() -> None:
    """Every line of a table is as wide as the others, numbers to the right."""
    assert markdown(["a", "count"], [["x", "1"], ["longer", "20"]]).splitlines() == [
        "| a      | count |",
        "| ------ | ----: |",
        "| x      |     1 |",
        "| longer |    20 |",
    ]


def test_numbers_have_three_digits() -> None:
    """Times are written with three significant digits, shares with one decimal, nothing of nothing with a dash."""
    assert [number(value) for value in (0.123, 1.234, 12.34, 123.4, 12345.6)] == [
        "0.12",
        "1.23",
        "12.3",
        "123",
        "12346",
    ]
    assert [percent(1, 3), percent(0, 0)] == ["33.3 %", "–"]


def test_quantiles_are_measured_values() -> None:
    """A quantile is one of the values: the least that so many don't exceed."""
    values = [float(value) for value in range(1, 101)]
    assert [quantile(values, share) for share in (0.5, 0.95, 1.0)] == [50.0, 95.0, 100.0]
