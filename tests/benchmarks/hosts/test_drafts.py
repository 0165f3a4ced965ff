"""Comparison of texts with and without drafts: where they part, and the margin there."""

from __future__ import annotations

from math import inf

import pytest

from benchmarks.hosts.drafts import margin, parting

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
