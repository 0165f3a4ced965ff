"""A row of logits: its order, its sums, and what becomes of values that are no numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from grammar_cache.algorithms.selection import BLOCK, GROUP
from server.decoding.logits import LARGEST, ArrayRow, finite, highest
from tests.strategies import examples

SIZES = (1, 2, GROUP, GROUP * BLOCK - 1, GROUP * BLOCK, GROUP * BLOCK + 9, 6 * GROUP * BLOCK + 100)


@given(st.sampled_from(SIZES), st.sampled_from([1, 2, 5, 64, 300]), st.integers(0, 2**32), st.integers(1, 4))
@examples(200)
def test_the_highest_are_those_of_a_sort(size: int, count: int, seed: int, values: int) -> None:
    """The highest of values with many ties go by their index."""
    logits = np.random.default_rng(seed).integers(-values, values, size).astype(np.float32)
    expected = sorted(range(size), key=lambda i: (-logits[i], i))[:count]
    assert highest(logits, count).tolist() == expected
    tokens, found = ArrayRow(logits).highest(count)
    assert tokens.tolist() == expected
    assert found.tolist() == logits[expected].tolist()


@pytest.mark.parametrize("logits", [[1.0, 3.0, 2.0], [3.0, 3.0, 1.0], [5.0], [np.nan, np.nan], [-np.inf, 0.0, -0.0]])
def test_the_best_and_whether_it_is_alone(logits: list[float]) -> None:
    """The best is the first of `highest`; two that are as high are told."""
    row = ArrayRow(np.array(logits))
    tokens, values = row.highest(2)
    assert row.best() == (tokens[0], len(values) == 1 or values[0] > values[1])


@pytest.mark.parametrize("temperature", [1.0, 0.3, 2.0])
def test_the_mass_is_the_sum_of_exponentials(temperature: float) -> None:
    logits = np.random.default_rng(1).normal(scale=4, size=50_000)
    expected = np.exp((logits - logits.max()) / temperature).sum()
    assert ArrayRow(logits).mass(temperature) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "values", [[np.nan, 1, 2], [np.inf, -np.inf, 0], [1e30, -1e30, 5], [np.nan] * 3, [-np.inf] * 3, [0, 1, np.nan]]
)
def test_all_logits_become_numbers(values: list[float]) -> None:
    """NaN and -inf are the least, +inf the largest; the rest stays as it is."""
    logits: NDArray[np.float32] = np.array(values, np.float32)
    found = finite(logits)
    ordered = np.nan_to_num(logits, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    assert np.isfinite(found).all()
    assert found.tolist() == np.clip(ordered, -LARGEST, LARGEST).tolist()


@given(
    st.sampled_from(SIZES),
    st.lists(
        st.tuples(st.integers(0, 1 << 20), st.sampled_from([np.nan, np.inf, -np.inf, 1e30, -1e30, LARGEST, -LARGEST]))
    ),
    st.sampled_from([1, 5, 64, 300]),
    st.booleans(),
)
@examples(200)
def test_a_row_answers_as_if_all_were_numbers(
    size: int, odd: list[tuple[int, float]], count: int, mostly_impossible: bool
) -> None:
    """Whatever it has looked at, and wherever odd values are."""
    logits = np.random.default_rng(size).normal(size=size).astype(np.float32)
    if mostly_impossible:
        logits[2:] = -np.inf
    for place, value in odd:
        logits[place % size] = value
    known, row = ArrayRow(finite(logits)), ArrayRow(logits)
    tokens, values = row.highest(count)
    assert [part.tolist() for part in (tokens, values)] == [part.tolist() for part in known.highest(count)]
    assert row.best() == known.best()
    assert row.mass(0.7) == pytest.approx(known.mass(0.7), rel=1e-6)
    assert row.at(tokens[::-1]).tolist() == values[::-1].tolist()
    assert row.whole().tolist() == known.whole().tolist()


def test_numbers_stay_where_they_are() -> None:
    logits = np.array([1.5, -LARGEST, LARGEST], np.float32)
    assert finite(logits) is logits
