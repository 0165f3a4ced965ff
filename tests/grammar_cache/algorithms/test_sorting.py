"""Tests of sorting in place against Python's own."""

from __future__ import annotations

import random

import numpy as np
import pytest

from grammar_cache.algorithms.sorting import distinct, many_distinct
from grammar_cache.loops.array_types import Longs
from grammar_cache.loops.jit import jit_no_arrays


@jit_no_arrays
def _distinct(keys: Longs, size: int) -> int:
    return distinct(keys, size)


@jit_no_arrays
def _many_distinct(keys: Longs, size: int, room: Longs, counts: Longs) -> int:
    return many_distinct(keys, size, room, counts)


def _keys(rng: random.Random) -> list[int]:
    """Keys as items and edges are: few or many, of few or many states, most of them repetitions or none."""
    size, states, nodes = rng.choice((0, 1, 2, 40, 47, 48, 49, 300, 2_000)), rng.choice((1, 3, 90_000)), 10_000
    drawn = [rng.randrange(states) << 32 | rng.randrange(rng.choice((2, 300, nodes))) for _ in range(size)]
    return [-1 if rng.random() < 0.02 else key for key in drawn]


@pytest.mark.parametrize("seed", range(200))
def test_distinct_keys_ascend(seed: int) -> None:
    rng = random.Random(seed)
    keys, behind = _keys(rng), rng.randrange(3)
    expected = sorted(set(keys))
    by_shell = np.array([*keys, *[7] * behind], np.int64)
    assert by_shell[: _distinct(by_shell, len(keys))].tolist() == expected
    for places in (1 << room for room in range(5, 13)):
        found, room, counts = np.array([*keys, *[7] * behind], np.int64), *np.empty((2, places), np.int64)
        assert found[: _many_distinct(found, len(keys), room, counts)].tolist() == expected
        assert found[len(keys) :].tolist() == [7] * behind
