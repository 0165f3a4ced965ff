"""Growing tables of an automaton under construction, compiled: edges, skips, calls, and what is built already."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammar_cache.loops.array_types import IntRows, Ints, LongRows, Longs
from grammar_cache.loops.jit import jit, jit_inline

EDGES, SKIPS, CALLS, KNOWN, STACK, STATES = range(6)
"""Places of `Built.counts`."""


class Built(NamedTuple):
    """Tables built so far, and the nodes under way. The first `counts` rows of each are in use; where there are more
    than it has room for, nothing was written, and the construction begins again with `grown` tables.

    Rows of the stack: node, state behind it, state reached so far (-1), and what is still to come.
    """

    edges: IntRows
    skips: IntRows
    calls: IntRows
    keys: Longs
    values: Ints
    stack: LongRows
    counts: Longs


@jit
def empty(edges: int, skips: int, calls: int, known: int, stack: int) -> Built:
    """Tables with room for so many rows, and the states of start and end. `known` is a power of two."""
    counts = np.zeros(6, np.int64)
    counts[STATES] = 2
    return Built(
        np.empty((edges, 4), np.int32),
        np.empty((skips, 2), np.int32),
        np.empty((calls, 3), np.int32),
        np.full(2 * known, -1, np.int64),
        np.empty(2 * known, np.int32),
        np.empty((stack, 4), np.int64),
        counts,
    )


@jit
def grown(built: Built) -> Built:
    """Empty tables with more room wherever more than half of it was needed."""
    counts = built.counts
    return empty(
        _room(len(built.edges), counts[EDGES]),
        _room(len(built.skips), counts[SKIPS]),
        _room(len(built.calls), counts[CALLS]),
        _room(len(built.keys) // 2, counts[KNOWN]),
        _room(len(built.stack), counts[STACK]),
    )


@jit_inline
def _room(room: int, needed: int) -> int:
    return 4 * room if 2 * needed > room else room


@jit_inline
def short(built: Built) -> bool:
    """Whether some table has too little room."""
    counts = built.counts
    crowded = counts[EDGES] > len(built.edges) or counts[SKIPS] > len(built.skips) or counts[CALLS] > len(built.calls)
    return bool(crowded or 2 * counts[KNOWN] > len(built.keys) or counts[STACK] > len(built.stack))


@jit_inline
def new_state(built: Built) -> int:
    """A new state."""
    state = built.counts[STATES]
    built.counts[STATES] = state + 1
    return int(state)


@jit_inline
def add_edge(built: Built, source: int, low: int, high: int, target: int) -> None:
    """Adds an edge for a range of bytes."""
    count, edges = built.counts[EDGES], built.edges
    if count < len(edges):
        edges[count, 0], edges[count, 1], edges[count, 2], edges[count, 3] = source, low, high, target
    built.counts[EDGES] = count + 1


@jit_inline
def add_skip(built: Built, source: int, target: int) -> None:
    """Adds an edge that reads nothing."""
    count, skips = built.counts[SKIPS], built.skips
    if count < len(skips):
        skips[count, 0], skips[count, 1] = source, target
    built.counts[SKIPS] = count + 1


@jit_inline
def add_call(built: Built, source: int, rule: int, target: int) -> None:
    """Adds a call."""
    count, calls = built.counts[CALLS], built.calls
    if count < len(calls):
        calls[count, 0], calls[count, 1], calls[count, 2] = source, rule, target
    built.counts[CALLS] = count + 1


@jit_inline
def push(built: Built, node: int, target: int) -> None:
    """Puts a node on the stack, with the state behind it."""
    count, stack = built.counts[STACK], built.stack
    if count < len(stack):
        stack[count, 0], stack[count, 1], stack[count, 2], stack[count, 3] = node, target, -1, 0
    built.counts[STACK] = count + 1


@jit_inline
def note(built: Built, node: int, target: int, before: int) -> None:
    """Notes the state before a node and the state behind it."""
    keys = built.keys
    built.counts[KNOWN] += 1
    if 2 * built.counts[KNOWN] <= len(keys):
        slot = _slot(built, node, target)
        keys[slot], built.values[slot] = _key(node, target), before


@jit_inline
def before(built: Built, node: int, target: int) -> int:
    """The state before a node and the state behind it, -1 if it isn't built."""
    slot = _slot(built, node, target)
    return int(built.values[slot]) if built.keys[slot] >= 0 else -1


@jit_inline
def _key(node: int, target: int) -> int:
    return int((np.int64(node) << 32) | target)


@jit_inline
def _slot(built: Built, node: int, target: int) -> int:
    """The slot of a node and the state behind it, or the free one where they belong."""
    keys, key = built.keys, _key(node, target)
    slot = ((key * -7046029254386353131) >> 32) & (len(keys) - 1)  # 2^64 / the golden ratio, as a signed number
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & (len(keys) - 1)
    return int(slot)
