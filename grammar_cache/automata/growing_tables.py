"""Growing tables of an automaton under construction, compiled: edges, skips, calls, and what is built already."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_types import Ints, Longs
from grammar_cache.jit import jit

S = TypeVar("S", bound=np.generic)

EDGES, SKIPS, CALLS, STATES, KNOWN = range(5)
"""Places of `Built.counts`."""


class Built(NamedTuple):
    """Tables built so far. The first `counts` rows of each table, as of `keys` and `values`, are in use."""

    edges: Ints
    skips: Ints
    calls: Ints
    keys: Longs
    values: Ints
    counts: Longs


@jit
def new_state(built: Built) -> int:
    """A new state."""
    state = built.counts[STATES]
    built.counts[STATES] = state + 1
    return int(state)


@jit
def with_edge(built: Built, source: int, low: int, high: int, target: int) -> Built:
    count = built.counts[EDGES]
    if count == len(built.edges):
        built = Built(longer(built.edges), built.skips, built.calls, built.keys, built.values, built.counts)
    edges = built.edges
    edges[count, 0], edges[count, 1], edges[count, 2], edges[count, 3] = source, low, high, target
    built.counts[EDGES] = count + 1
    return built


@jit
def with_skip(built: Built, source: int, target: int) -> Built:
    count = built.counts[SKIPS]
    if count == len(built.skips):
        built = Built(built.edges, longer(built.skips), built.calls, built.keys, built.values, built.counts)
    built.skips[count, 0], built.skips[count, 1] = source, target
    built.counts[SKIPS] = count + 1
    return built


@jit
def noted(built: Built, node: int, target: int, before: int) -> Built:
    """Tables with the state before a node and the state behind it noted."""
    known = built.counts[KNOWN] + 1
    if 2 * known > len(built.keys):
        keys, values = _rehashed(built.keys, built.values)
        built = Built(built.edges, built.skips, built.calls, keys, values, built.counts)
    built.counts[KNOWN] = known
    _note(built.keys, built.values, int((np.int64(node) << 32) | target), before)
    return built


@jit
def longer(table: NDArray[S]) -> NDArray[S]:
    grown = np.empty((2 * len(table), table.shape[1]), table.dtype)
    grown[: len(table)] = table
    return grown


@jit
def _slot(key: int, size: int) -> int:
    mixed = key * -7046029254386353131  # 2^64 / the golden ratio, as a signed number
    return (mixed >> 32) & (size - 1)


@jit
def before(built: Built, node: int, target: int) -> int:
    """The state before a node and the state behind it, -1 if it isn't built."""
    keys, key = built.keys, (np.int64(node) << 32) | target
    slot = _slot(int(key), len(keys))
    while keys[slot] >= 0:
        if keys[slot] == key:
            return int(built.values[slot])
        slot = (slot + 1) & (len(keys) - 1)
    return -1


@jit
def _note(keys: Longs, values: Ints, key: int, value: int) -> None:
    slot = _slot(key, len(keys))
    while keys[slot] >= 0:
        slot = (slot + 1) & (len(keys) - 1)
    keys[slot], values[slot] = key, value


@jit
def _rehashed(keys: Longs, values: Ints) -> tuple[Longs, Ints]:
    larger, kept = np.full(4 * len(keys), -1, np.int64), np.empty(4 * len(keys), np.int32)
    for i in range(len(keys)):
        if keys[i] >= 0:
            _note(larger, kept, keys[i], values[i])
    return larger, kept
