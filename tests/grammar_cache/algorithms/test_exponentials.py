"""The sum of exponentials of many values, beside numpy's in twice the digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.algorithms.exponentials import BLOCK, sum_of_exponentials
from tests.strategies import examples

SIZES = (1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 7 * BLOCK, 300 * BLOCK + 17)


@given(
    st.sampled_from(SIZES),
    st.integers(0, 2**32),
    st.floats(0.001, 50),
    st.floats(-1e9, 1e9, width=32),
    st.floats(0.01, 100),
    st.booleans(),
)
@examples(200)
def test_the_sum_is_that_of_numpy(
    size: int, seed: int, spread: float, middle: float, scale: float, mostly_impossible: bool
) -> None:
    """The sum is numpy's to a millionth, for values of any size and spread, -inf among them, at any temperature."""
    rng = np.random.default_rng(seed)
    values = rng.normal(middle, spread, size).astype(np.float32)
    if mostly_impossible:
        values[1:] = np.where(rng.random(size - 1) < 0.9, -np.inf, values[1:])
    top = values.max()
    expected = np.exp((values - top).astype(np.float64) / scale).sum()
    assert sum_of_exponentials(values, top, scale) == pytest.approx(expected, rel=2e-6)


def test_rows_that_cannot_be_written() -> None:
    """Arrays of other kinds are read as well."""
    values = np.arange(2 * BLOCK, dtype=np.float32)
    expected = sum_of_exponentials(values, values[-1], 1.0)
    turned = values[::-1]
    values.setflags(write=False)
    assert sum_of_exponentials(values, values[-1], 1.0) == expected
    assert sum_of_exponentials(turned, values[-1], 1.0) == pytest.approx(expected, rel=1e-6)
