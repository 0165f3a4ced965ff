"""Few candidates in order and what they weigh: as a sort and numpy have it, whatever they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.algorithms.candidate_order import leading, log_sum, ordered
from tests.strategies import examples

FEW = st.integers(0, 40)
SEEDS = st.integers(0, 2**32)


@given(FEW, SEEDS, st.integers(-1, 6), st.booleans())
@examples(300)
def test_those_that_fit_in_order_and_the_best_that_does_not(
    count: int, seed: int, most: int, sorted_already: bool
) -> None:
    """Many are equal in what they are compared by first; tokens differ."""
    rng = np.random.default_rng(seed)
    tokens = rng.permutation(1000)[:count].astype(np.int32)
    values = rng.integers(-3, 3, count).astype(np.float64)
    if sorted_already:
        values = -np.sort(-values)
    distances, after = rng.integers(0, 6, count).astype(np.int32), rng.integers(-1, 3, count).astype(np.int32)
    order, beyond, lost = ordered(tokens, values, distances, most, after)
    fit = [i for i in range(count) if distances[i] <= most]
    assert order.tolist() == sorted(fit, key=lambda i: (-values[i], distances[i], tokens[i]))
    far = [i for i in range(count) if distances[i] > most and after[i] >= 0]
    assert beyond.tolist() == far
    best = max(far, key=lambda i: values[i], default=None)  # the first of them
    beaten = best is not None and all(values[best] > values[i] for i in fit)
    assert lost == (best if beaten else None)


@given(st.integers(1, 40), SEEDS, FEW, st.floats(-9, 9))
@examples(200)
def test_the_leading_ones_are_those_of_a_stable_sort(count: int, seed: int, wanted: int, normaliser: float) -> None:
    """Scores are numpy's, too: values less the normaliser, and the logarithm of the softmax of all logits."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-5, 5, count).astype(np.float64)
    logits = -np.sort(rng.normal(scale=9, size=count))
    order, scores, viable = leading(values, normaliser, logits, wanted)
    assert order.tolist() == np.argsort(-values, kind="stable")[:wanted].tolist()
    assert scores.tolist() == (values[order] - normaliser).tolist()
    softmax = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    assert viable == pytest.approx(np.log(softmax[order]), abs=1e-12)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40))
@examples(200)
def test_a_sum_of_exponentials_has_no_range(values: list[float]) -> None:
    exact = max(values) + np.log(np.exp(np.array(values) - max(values)).sum())
    assert log_sum(np.array(values)) == pytest.approx(exact, rel=1e-12, abs=1e-12)
