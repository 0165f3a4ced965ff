"""Comparison of texts with and without drafts: where they part, and the margin there."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from benchmarks.hosts.drafts import margin, parting, roundings, spacing

PLAIN = [("a", {"a": -0.1, "b": -2.5}), ("c", {"c": -0.7, "d": -0.75}), ("e", {"e": 0.0})]


def test_the_margin_is_that_of_the_first_different_token() -> None:
    """Equal texts part nowhere; a shorter one, and a token that nobody thought of, has no margin that could be near."""
    assert parting(PLAIN, PLAIN) is None
    other = [PLAIN[0], ("d", {"d": -0.7, "c": -0.71}), ("x", {"x": 0.0})]
    assert parting(other, PLAIN) == 1
    assert margin(PLAIN, other, 1) == pytest.approx(0.05)
    assert parting(PLAIN[:2], PLAIN) == 2
    assert margin(PLAIN, PLAIN[:2], 2) == inf
    assert margin(PLAIN, [PLAIN[0], ("z", {"z": 0.0})], 1) == inf


def test_near_ties_are_measured_where_texts_are_equal() -> None:
    """Rounding is how a token's logits differ before texts part; those at that place aren't counted."""
    other = [("a", {"a": -0.1, "b": -2.25, "x": 9.0}), ("d", {"d": 5.0, "c": -0.7})]
    assert sorted(roundings(other, PLAIN)) == sorted(roundings(PLAIN, other)) == pytest.approx([0, 0.25])
    assert roundings(PLAIN, PLAIN) == [0] * 5
    assert roundings([], []) == []


@pytest.mark.parametrize(("logit", "expected"), [(16.0, 0.125), (31.9, 0.125), (-8.5, 0.0625), (1.0, 2**-7)])
def test_the_spacing_is_that_of_bfloat16(logit: float, expected: float) -> None:
    """The next number of bfloat16 lies that far, as its bits say: the upper half of a float32's."""
    upper = np.array([abs(logit)], np.float32).view(np.uint32) >> 16
    below, above = (((upper + step) << 16).view(np.float32)[0] for step in (0, 1))
    assert spacing(logit) == expected == above - below
