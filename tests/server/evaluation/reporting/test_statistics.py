"""Intervals and tests against closed forms, and values that can be checked by hand."""

from __future__ import annotations

from itertools import product
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.evaluation.reporting.statistics import NORMAL_975, bootstrap, mcnemar, wilson


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_solves_its_equation(counts: tuple[int, int]) -> None:
    """The interval's ends are the shares p from which the observed one is exactly z standard errors away."""
    successes, trials = counts
    observed = successes / trials
    low, high = wilson(successes, trials)
    assert 0 <= low <= observed <= high <= 1
    for end in (low, high):
        assert abs(observed - end) == pytest.approx(NORMAL_975 * sqrt(end * (1 - end) / trials), abs=1e-9)


def test_wilson_known_values() -> None:
    """No success in n gives the upper end z² / (n + z²); half of four is symmetric."""
    assert wilson(0, 10) == pytest.approx((0, NORMAL_975**2 / (10 + NORMAL_975**2)))
    low, high = wilson(2, 4)
    assert low + high == pytest.approx(1)
    with pytest.raises(ValueError, match="no share"):
        wilson(1, 0)


@given(st.integers(0, 9), st.integers(0, 9))
def test_mcnemar_counts_coins(first: int, second: int) -> None:
    """p is the share of all sequences of fair coins that are at least as uneven."""
    n = first + second
    heads = [sum(coins) for coins in product((0, 1), repeat=min(n, 12))] if n <= 12 else []
    p = mcnemar(first, second)
    assert p == mcnemar(second, first)
    if heads:
        uneven = sum(abs(2 * k - n) >= abs(first - second) for k in heads)
        assert p == pytest.approx(uneven / len(heads))


def test_mcnemar_of_many() -> None:
    """No discordant task is no evidence; thousands don't overflow."""
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(0, 5) == pytest.approx(1 / 16)
    assert mcnemar(2000, 2000) == 1.0
    assert 0 <= mcnemar(1500, 3000) < 1e-50


def test_bootstrap_of_coins() -> None:
    """The interval for 0 and 1 in equal numbers is near the normal one; constants have none; seeds repeat."""
    values = [0.0, 1.0] * 200
    low, high = bootstrap(values)
    half = NORMAL_975 * 0.5 / sqrt(len(values))
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=0.005)
    assert bootstrap([3.0] * 7) == (3.0, 3.0)
    uneven = [value**0.5 for value in range(30)]
    assert bootstrap(uneven) == bootstrap(uneven) != bootstrap(uneven, seed=1)
    with pytest.raises(ValueError, match="nothing"):
        bootstrap([])
