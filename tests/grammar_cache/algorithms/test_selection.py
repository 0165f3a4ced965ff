"""The highest of many values: those of a sort, whatever the values; and when there is no order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.algorithms.selection import BLOCK, GROUP, highest
from tests.strategies import examples

SIZES = (0, 1, 2, GROUP, GROUP * BLOCK - 1, GROUP * BLOCK, GROUP * BLOCK + 9, 6 * GROUP * BLOCK + 100)
COUNTS = (0, 1, 2, 5, 64, 300, 5000)


@given(st.sampled_from(SIZES), st.sampled_from(COUNTS), st.integers(0, 2**32), st.integers(1, 4), st.booleans())
@examples(200)
def test_the_highest_are_those_of_a_sort(
    size: int, count: int, seed: int, values: int, mostly_impossible: bool
) -> None:
    """The highest of many values are those of a sort: with ties, which go by their index, zeros of both signs and
    -inf.
    """
    rng = np.random.default_rng(seed)
    given = rng.integers(-values, values, size).astype(np.float32) * rng.choice(np.array([1, -1], np.float32), size)
    if mostly_impossible:
        given[3:] = -np.inf
    expected = sorted(range(size), key=lambda i: (-given[i], i))[:count]
    found = highest(given, count)
    assert found is not None
    assert found.tolist() == expected
    assert found.dtype == np.int32


@given(st.sampled_from(SIZES), st.sampled_from(COUNTS), st.integers(0, 2**32))
@examples(60)
def test_the_highest_of_any_bits(size: int, count: int, seed: int) -> None:
    """Selection works for all numbers that a float can be, whatever their exponents."""
    bits = np.random.default_rng(seed).integers(-(1 << 31), 1 << 31, size, dtype=np.int64).astype(np.int32)
    given = np.nan_to_num(bits.view(np.float32), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    found = highest(given, count)
    assert found is not None
    assert found.tolist() == sorted(range(size), key=lambda i: (-given[i], i))[:count]


@given(st.sampled_from(SIZES[1:]), st.data(), st.sampled_from([np.nan, np.inf, 2.5]))
@examples(60)
def test_values_without_an_order(size: int, data: st.DataObject, odd: float) -> None:
    """Values without an order, not a number or above the most, may stand anywhere."""
    values = np.random.default_rng(size).uniform(0, 2, size).astype(np.float32)
    assert highest(values, 3, 2.0) is not None
    values[data.draw(st.integers(0, size - 1))] = odd
    assert highest(values, 3, 2.0) is None


@pytest.mark.parametrize("count", [3, 9000])
def test_values_of_any_layout(count: int) -> None:
    """A column of a table, and what can't be written to."""
    table = np.random.default_rng(1).normal(size=(9000, 2)).astype(np.float32)
    table.flags.writeable = False
    found, expected = highest(table[:, 1], count), highest(table[:, 1].copy(), count)
    assert found is not None
    assert expected is not None
    assert found.tolist() == expected.tolist()
