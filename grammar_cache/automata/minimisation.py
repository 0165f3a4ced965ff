"""The minimal automaton, by the coarsest stable partition of states: Hopcroft's idea for partial transition functions.

After Valmari and Lehtinen, "Efficient minimization of DFAs with partial transition functions", STACS 2008.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_types import Ints, Longs
from grammar_cache.jit import jit, jit_inline

_CLASSES = 256
"""Labels below are byte classes: see `subset_kernels`."""


@jit
def minimal(
    tails: Ints, labels: Ints, heads: Ints, final: NDArray[np.bool_]
) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
    """The minimal automaton: where each state's transitions begin, their labels and heads, and which states are final.

    Transitions come and go by ascending tail, then label. State 0 is the start, and every state is reached from it.
    States that can't end are left out, the others are numbered by first visit. One state without transitions: nothing.
    """
    _, first, of_label, of_head, ends = minimal_unless(tails, labels, heads, final, np.zeros(1, np.uint8))
    return first, of_label, of_head, ends


@jit
def minimal_unless(
    tails: Ints, labels: Ints, heads: Ints, final: NDArray[np.bool_], stop: NDArray[np.uint8]
) -> tuple[bool, Ints, Ints, Ints, NDArray[np.bool_]]:
    """Minimises as `minimal` does; the first item says whether `stop` was set meanwhile: then what follows means
    nothing.
    """
    alive = _able_to_end(tails, heads, final)
    states = 0
    number = np.full(len(final), -1, np.int32)
    for s in range(len(final)):
        if alive[s]:
            number[s] = states
            states += 1
    if not alive[0]:
        nothing = np.zeros(0, np.int32)
        return False, np.zeros(2, np.int32), nothing, nothing, np.zeros(1, np.bool_)
    size = 0
    own = np.empty((3, len(tails)), np.int32)
    for t in range(len(tails)):
        if alive[tails[t]] and alive[heads[t]]:
            own[0, size], own[1, size], own[2, size] = number[tails[t]], labels[t], number[heads[t]]
            size += 1
    tails, labels, heads = own[0, :size], own[1, :size], own[2, :size]
    ends = np.empty(states, np.bool_)
    for s in range(len(final)):
        if alive[s]:
            ends[number[s]] = final[s]
    telling = _telling(tails, labels, heads)
    stopped, block = _stable(tails[telling], labels[telling], heads[telling], ends, stop)
    if stopped:
        return True, tails, labels, heads, final
    starts, _ = _by_key(tails, states)
    place, order = np.full(states, -1, np.int32), np.empty(states, np.int32)
    place[block[0]], order[0] = 0, 0
    found, size = 1, 0
    first, of_label, of_head = np.zeros(states + 1, np.int32), np.empty_like(labels), np.empty_like(heads)
    at = 0
    while at < found:  # `order` holds one state of every block
        for t in range(starts[order[at]], starts[order[at] + 1]):
            target = block[heads[t]]
            if place[target] < 0:
                place[target], order[found] = found, heads[t]
                found += 1
            of_label[size], of_head[size] = labels[t], place[target]
            size += 1
        at += 1
        first[at] = size
    return False, first[: found + 1], of_label[:size], of_head[:size], ends[order[:found]]


@jit_inline
def _largest(keys: Ints) -> int:
    largest = 0
    for key in keys:
        largest = max(largest, key)
    return largest


@jit
def _by_key(keys: Ints, count: int) -> tuple[Longs, Longs]:
    """Offset of each key's places in the order of keys, and the places in that order: a sort that keeps ties in
    order.
    """
    first = np.zeros(count + 1, np.int64)
    for key in keys:
        first[key + 1] += 1
    for key in range(count):
        first[key + 1] += first[key]
    next_of, places = first.copy(), np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        places[next_of[keys[i]]] = i
        next_of[keys[i]] += 1
    return first, places


@jit
def _able_to_end(tails: Ints, heads: Ints, final: NDArray[np.bool_]) -> NDArray[np.bool_]:
    starts, into = _by_key(heads, len(final))
    alive = final.copy()
    todo = np.empty(len(final), np.int64)
    waiting = 0
    for s in range(len(final)):
        if final[s]:
            todo[waiting] = s
            waiting += 1
    while waiting:
        waiting -= 1
        s = todo[waiting]
        for i in range(starts[s], starts[s + 1]):
            source = tails[into[i]]
            if not alive[source]:
                alive[source] = True
                todo[waiting] = source
                waiting += 1
    return alive


@jit
def _telling(tails: Ints, labels: Ints, heads: Ints) -> Longs:
    """Transitions but those whose label, a byte class, leads everywhere where a lower one leads: they tell no states
    apart. Ascending.
    """
    count = _largest(labels) + 1
    first, order = _by_key(labels, count)
    codes, leads = np.zeros(_CLASSES, np.int64), np.ones(count, np.bool_)
    for label in range(min(_CLASSES, count)):
        own = order[first[label] : first[label + 1]]
        codes[label] = _hash(tails, heads, own)
        for lower in range(label if len(own) else 0):
            alike = codes[lower] == codes[label] and leads[lower]
            if alike and _same(tails, heads, own, order[first[lower] : first[lower + 1]]):
                leads[label] = False
                break
    kept, size = np.empty(len(labels), np.int64), 0
    for t in range(len(labels)):
        if leads[labels[t]]:
            kept[size] = t
            size += 1
    return kept[:size]


@jit_inline
def _hash(tails: Ints, heads: Ints, some: Longs) -> int:
    code = len(some)
    for t in some:
        code = (code ^ ((np.int64(tails[t]) << 32) | heads[t])) * -7046029254386353131  # 2^64 / the golden ratio
        code ^= (code >> 29) & 0x7FFFFFFFF
    return code


@jit_inline
def _same(tails: Ints, heads: Ints, some: Longs, others: Longs) -> bool:
    """Whether two lists of transitions lead from the same states to the same."""
    if len(some) != len(others):
        return False
    differing = 0
    for i in range(len(some)):
        differing |= (tails[some[i]] ^ tails[others[i]]) | (heads[some[i]] ^ heads[others[i]])
    return differing == 0


@jit
def stable_blocks(
    tails: NDArray[np.int32], labels: NDArray[np.int32], heads: NDArray[np.int32], final: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """The block of every state, int32[states], of the coarsest stable partition. Labels are 0 or more, and few."""
    blocks: NDArray[np.int32] = _stable(tails, labels, heads, final, np.zeros(1, np.uint8))[1]
    return blocks


@jit
def _stable(
    tails: Ints, labels: Ints, heads: Ints, final: NDArray[np.bool_], stop: NDArray[np.uint8]
) -> tuple[bool, Ints]:
    """Whether it was stopped, and the blocks.

    Blocks partition states, cords partition transitions; a split of either queues the smaller half.
    """
    n, m = len(final), len(tails)
    size = max(n, m) + 2
    b_elems, b_place, b_set = np.arange(n), np.arange(n), np.zeros(n, np.int64)
    b_first, b_past = np.zeros(size, np.int64), np.zeros(size, np.int64)
    _, c_elems = _by_key(labels, _largest(labels) + 1)
    c_place, c_set = np.arange(m), np.zeros(m, np.int64)
    c_first, c_past = np.zeros(size, np.int64), np.zeros(size, np.int64)
    marked_b, marked_c = np.zeros(size, np.int64), np.zeros(size, np.int64)
    touched = np.zeros(size, np.int64)
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
    offsets, into = _by_key(heads, n)
    b, c = 1, 0
    while c < cords:
        if stop[0]:
            return True, b_set.astype(np.int32)
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
    return False, b_set.astype(np.int32)


@jit_inline
def _mark(
    e: int, elems: Longs, place: Longs, of: Longs, first: Longs, marked: Longs, touched: Longs, count: int
) -> int:
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
def _split(
    elems: Longs, of: Longs, first: Longs, past: Longs, marked: Longs, touched: Longs, count: int, sets: int
) -> int:
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
