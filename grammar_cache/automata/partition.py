"""The coarsest stable partition of an automaton's states: Hopcroft's idea for partial transition functions.

After Valmari and Lehtinen, "Efficient minimization of DFAs with partial transition functions", STACS 2008.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.counting_sort import by_key
from grammar_cache.loops.array_types import Ints
from grammar_cache.loops.jit import jit, jit_inline


@jit
def stable_blocks(
    tails: NDArray[np.int32], labels: NDArray[np.int32], heads: NDArray[np.int32], final: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """The block of every state, int32[states], of the coarsest stable partition. Labels are 0 or more, and few."""
    blocks: NDArray[np.int32] = stable_partition(tails, labels, heads, final, np.zeros(1, np.uint8))[1]
    return blocks


@jit
def stable_partition(
    tails: Ints, labels: Ints, heads: Ints, final: NDArray[np.bool_], stop: NDArray[np.uint8]
) -> tuple[bool, Ints]:
    """Whether it was stopped, and the blocks.

    Blocks partition states, cords partition transitions; a split of either queues the smaller half.
    """
    n, m = len(final), len(tails)
    b_elems, b_place, b_set = np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    b_first, b_past, marked_b = np.zeros(n + 1, np.int32), np.zeros(n + 1, np.int32), np.zeros(n + 1, np.int32)
    _, c_elems = by_key(labels, largest(labels) + 1)
    c_place, c_set = np.empty(m, np.int32), np.empty(m, np.int32)
    c_first, c_past, marked_c = np.zeros(m + 1, np.int32), np.zeros(m + 1, np.int32), np.zeros(m + 1, np.int32)
    touched = np.empty(max(n, m) + 1, np.int32)
    b_past[0] = n
    blocks = 1
    count = 0
    for s in range(n):
        if final[s]:
            count = _mark(s, b_elems, b_place, b_set, b_first, marked_b, touched, count)
    blocks = _split(b_elems, b_set, b_first, b_past, marked_b, touched, count, blocks)
    cords = 0
    for i in range(m):
        t = c_elems[i]
        if i == 0 or labels[t] != labels[c_elems[i - 1]]:
            if cords:
                c_past[cords - 1] = i
            c_first[cords] = i
            cords += 1
        c_set[t] = cords - 1
        c_place[t] = i
    if cords:
        c_past[cords - 1] = m
    offsets, into = by_key(heads, n)
    b, c = 1, 0
    while c < cords:
        if stop[0]:
            return True, b_set
        count = 0
        for i in range(c_first[c], c_past[c]):
            count = _mark(tails[c_elems[i]], b_elems, b_place, b_set, b_first, marked_b, touched, count)
        blocks = _split(b_elems, b_set, b_first, b_past, marked_b, touched, count, blocks)
        c += 1
        while b < blocks:
            count = 0
            for i in range(b_first[b], b_past[b]):
                for j in range(offsets[b_elems[i]], offsets[b_elems[i] + 1]):
                    count = _mark(into[j], c_elems, c_place, c_set, c_first, marked_c, touched, count)
            cords = _split(c_elems, c_set, c_first, c_past, marked_c, touched, count, cords)
            b += 1
    return False, b_set


@jit_inline
def _mark(e: int, elems: Ints, place: Ints, of: Ints, first: Ints, marked: Ints, touched: Ints, count: int) -> int:
    """Moves an element to the marked front of its set; returns how many sets are touched."""
    s = of[e]
    i, j = place[e], first[s] + marked[s]
    if i < j:
        return count  # a state with two transitions of one cord is marked once
    other = elems[j]
    elems[i], elems[j] = other, e
    place[other], place[e] = i, j
    if marked[s] == 0:
        touched[count] = s
        count += 1
    marked[s] += 1
    return count


@jit_inline
def _split(elems: Ints, of: Ints, first: Ints, past: Ints, marked: Ints, touched: Ints, count: int, sets: int) -> int:
    """Splits every touched set into marked and unmarked, the smaller half new; returns how many sets there are."""
    while count:
        count -= 1
        s = touched[count]
        middle = first[s] + marked[s]
        if middle < past[s]:
            if marked[s] <= past[s] - middle:
                first[sets], past[sets] = first[s], middle
                first[s] = middle
            else:
                first[sets], past[sets] = middle, past[s]
                past[s] = middle
            for i in range(first[sets], past[sets]):
                of[elems[i]] = sets
            marked[sets] = 0
            sets += 1
        marked[s] = 0
    return sets


@jit_inline
def largest(keys: Ints) -> int:
    """The largest of some keys, 0 where there are none."""
    found = 0
    for key in keys:
        found = max(found, key)
    return found
