"""Statistics of figures: intervals for shares and means, and tests for two methods on the same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt
from typing import TypeAlias

import numpy as np

Interval: TypeAlias = tuple[float, float]

NORMAL_975 = 1.959963984540054
"""The normal distribution's 97.5 % quantile: intervals are of 95 %."""
RESAMPLES = 10_000


def wilson(successes: int, trials: int) -> Interval:
    """Wilson's score interval of a share: it keeps inside [0, 1] and is never empty, also at 0 and at all."""
    if not 0 <= successes <= trials or not trials:
        raise ValueError(f"{successes} of {trials} is no share")
    share, z2 = successes / trials, NORMAL_975**2
    centre = share + z2 / (2 * trials)
    spread = NORMAL_975 * sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    low, high = ((centre + sign * spread) / (1 + z2 / trials) for sign in (-1, 1))
    # At the ends the formula gives 0 and 1 but for rounding.
    return (0.0 if successes == 0 else low, 1.0 if successes == trials else high)


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p of McNemar's test, from the tasks on which just one of two methods succeeds.

    Were they equally good, each such task would be a fair coin: a binomial test.
    """
    discordant = only_first + only_second
    tail = sum(comb(discordant, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << discordant))


def bootstrap(values: Sequence[float], seed: int = 0) -> Interval:
    """The percentile bootstrap's interval of a mean; of differences, where they come in pairs.

    Raises ValueError without values.
    """
    if not values:
        raise ValueError("there is no mean of nothing")
    sample = np.array(values, np.float64)
    picks = np.random.default_rng(seed).integers(len(sample), size=(RESAMPLES, len(sample)))
    low, high = np.quantile(sample[picks].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)
