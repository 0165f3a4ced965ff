"""Products of complete automata: the pairs of states that are met, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.automata.subset_kernels import DONE, STOPPED, TOO_LARGE
from grammar_cache.loops.array_types import Flags, IntRows, Ints
from grammar_cache.loops.jit import jit, jit_inline, jit_no_arrays


@jit
def dead_state(table: IntRows, final: Flags) -> int:
    """A state that accepts nothing and leads to itself alone, -1 if there is none."""
    for s in range(len(table) - 1, -1, -1):
        stuck = not final[s]
        for c in range(table.shape[1]):
            if table[s, c] != s:
                stuck = False
                break
        if stuck:
            return s
    return -1


@jit
def product(
    a: IntRows,
    b: IntRows,
    ours: Ints,
    theirs: Ints,
    final_a: Flags,
    final_b: Flags,
    limit: int,
    stop: NDArray[np.uint8],
) -> tuple[int, Ints, Flags]:
    """The pairs of states that are met, over common classes: outcome, table, final pairs.

    Pairs in which either accepts nothing any more are one.
    """
    dead = dead_state(a, final_a), dead_state(b, final_b)
    room, at, count = 64, 0, 1
    met, table = np.zeros((room, 2), np.int32), np.empty((room, len(ours)), np.int32)
    slots = np.full(4 * room, -1, np.int32)
    slots[0] = 0
    while at < count:
        if stop[0]:
            return STOPPED, table, final_a
        if count > limit:
            return TOO_LARGE, table, final_a
        if count + len(ours) > room:
            while count + len(ours) > room:
                room *= 2
            met, table = _longer(met, room), _longer(table, room)
            slots = np.full(4 * room, -1, np.int32)
            for number in range(count):
                slots[_slot(slots, met, met[number, 0], met[number, 1])] = number
        count = _pair(a, b, ours, theirs, dead, met, table, slots, at, count)
        at += 1
    final = np.empty(count, np.bool_)
    for i in range(count):
        final[i] = final_a[met[i, 0]] and final_b[met[i, 1]]
    return DONE, table[:count].copy(), final


@jit
def _longer(rows: IntRows, room: int) -> Ints:
    """The rows, with room for more."""
    longer = np.empty((room, rows.shape[1]), np.int32)
    longer[: len(rows)] = rows
    return longer


@jit_no_arrays
def _pair(
    a: IntRows,
    b: IntRows,
    ours: Ints,
    theirs: Ints,
    dead: tuple[int, int],
    met: IntRows,
    table: IntRows,
    slots: Ints,
    at: int,
    count: int,
) -> int:
    """Fills the row of a pair; returns how many pairs are known then."""
    mine, others = met[at, 0], met[at, 1]
    before_p, before_q, before = -1, -1, 0
    for c in range(len(ours)):
        p, q = int(a[mine, ours[c]]), int(b[others, theirs[c]])
        if p == dead[0] or q == dead[1]:
            p, q = max(dead[0], 0), max(dead[1], 0)
        if p != before_p or q != before_q:
            before_p, before_q = p, q
            slot = _slot(slots, met, p, q)
            if slots[slot] < 0:
                slots[slot], met[count, 0], met[count, 1] = count, p, q
                count += 1
            before = slots[slot]
        table[at, c] = before
    return count


@jit_inline
def _slot(slots: Ints, met: IntRows, p: int, q: int) -> int:
    """The slot of a pair, or the free one where it belongs."""
    code = ((np.int64(p) << 32) | np.int64(q)) * -7046029254386353131  # 2^64 / the golden ratio, as a signed number
    slot = (code >> 32) & (len(slots) - 1)
    while slots[slot] >= 0 and (met[slots[slot], 0] != p or met[slots[slot], 1] != q):
        slot = (slot + 1) & (len(slots) - 1)
    return int(slot)
