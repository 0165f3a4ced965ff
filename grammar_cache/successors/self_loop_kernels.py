"""The compiled loops of `self_loops`: the states around one, the tokens that stay there, and the least of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.arena import NetworkArrays, NetworkBlock, rules_in
from grammar_cache.loops.array_types import ByteRows, Flags, IntRows, Ints, Longs, OctetRows
from grammar_cache.loops.jit import jit, jit_inline, jit_no_arrays
from grammar_cache.successors.token_kernels import TokenArrays

NOWHERE, OUT = -1, -2
"""Marks that stand for a place: what leads nowhere, and what leads out of the region."""


@jit
def around(rules_block: NetworkBlock, state: int, weights: Longs, share: int, states: Ints, after: ByteRows) -> int:
    """Fills `states` and `after`: how many states there are, if more than one of `share` of the bytes stays there at
    first, by their `weights`; else 0. They are numbered as bytes meet them, breadth first.
    """
    rules = rules_in(rules_block)
    classes, order = rules.classes, _by_first_byte(rules.classes)
    near = np.full((len(states), classes.max() + 1), NOWHERE, np.int8)
    row, size, i, returns = np.empty(classes.max() + 1, np.int32), 1, 0, False
    states[0] = state
    while i < size:
        s = states[i]
        if _stands_alone(rules, s):
            near[i, classes[0]] = OUT  # never part of a region: nothing of it is looked at
            i += 1
            continue
        row[:] = -1
        last, near_last = -1, OUT
        for m in range(rules.move_first[s], rules.move_first[s + 1]):
            row[rules.move_low[m] : np.int64(rules.move_high[m]) + 1] = rules.move_to[m]
        for c in order:
            to = row[c]
            if to < 0:
                continue
            if to != last:  # most classes lead to where the one before them does
                place, last = 0, to
                while place < size and states[place] != to:
                    place += 1
                if place == size and size < len(states):
                    states[size] = to
                    size += 1
                near_last = place if place < size else OUT
            near[i, c] = near_last
            returns |= near_last == 0
        i += 1
    kept = _region(near[:size], classes, states, after) if returns else 0
    return kept if kept and share * weights[after[0] >= 0].sum() > weights.sum() else 0


@jit_inline
def _stands_alone(rules: NetworkArrays, state: int) -> bool:
    """Whether a state is in no region: its rule may end there, or it calls one."""
    return bool(rules.final[state] or rules.call_first[state] < rules.call_first[state + 1])


@jit
def _by_first_byte(classes: NDArray[np.uint8]) -> Ints:
    """Classes, that of the least byte first."""
    order, met, count = np.empty(classes.max() + 1, np.int32), np.zeros(classes.max() + 1, np.bool_), 0
    for of in classes:
        if not met[of]:
            met[of] = True
            order[count] = of
            count += 1
    return order[:count]


@jit
def _region(near: ByteRows, classes: NDArray[np.uint8], states: Ints, after: ByteRows) -> int:
    """Keeps the states that lead back to the first one: how many there are."""
    size, count = near.shape
    back = np.zeros(size, np.bool_)
    changed = True
    while changed:
        changed = False
        for i in range(size - 1, -1, -1):
            for c in range(count):
                to = near[i, c]
                if not back[i] and (to == 0 or (to > 0 and back[to])):
                    back[i] = changed = True
    if not back[0]:
        return 0
    place_of, kept = np.full(size, OUT, np.int8), 0
    for i in range(size):
        if back[i]:
            place_of[i], states[kept] = kept, states[i]
            kept += 1
    for i in range(size):
        if back[i]:
            for byte in range(256):
                to = near[i, classes[byte]]
                after[place_of[i], byte] = place_of[to] if to >= 0 else to
    return kept


@jit
def heaviest_behind(rules_block: NetworkBlock, state: int, weights: Longs, after: Ints) -> tuple[int, int, int]:
    """Writes the next state of a state in its rule, by byte, or -1; zeros where the state can't be in a region, else
    what `heaviest_of` tells.
    """
    rules = rules_in(rules_block)
    by_class = np.full(256, -1, np.int32)
    for m in range(rules.move_first[state], rules.move_first[state + 1]):
        by_class[rules.move_low[m] : np.int64(rules.move_high[m]) + 1] = rules.move_to[m]
    for byte in range(256):
        after[byte] = by_class[rules.classes[byte]]
    return (0, 0, 0) if _stands_alone(rules, state) else heaviest_of(after, weights)


@jit_no_arrays
def heaviest_of(after: Ints, weights: Longs) -> tuple[int, int, int]:
    """The weight of all bytes; the least of the states that the heaviest bytes lead to, or -1; the weight of the bytes
    that lead anywhere.
    """
    total, alive, most, heaviest = 0, 0, -1, -1
    for byte in range(256):
        total += weights[byte]
        state = after[byte]
        if state < 0:
            continue
        alive += weights[byte]
        if state == heaviest or (byte > 0 and state == after[byte - 1]):
            continue  # was added up where it was met first
        weight = 0
        for other in range(256):
            if after[other] == state:
                weight += weights[other]
        if weight > most or (weight == most and state < heaviest):
            most, heaviest = weight, state
    return int(total), int(heaviest), int(alive)


@jit_no_arrays
def may_end(rules_block: NetworkBlock, states: Longs) -> bool:
    """Whether a move from one of some states leads to where their rule may end."""
    rules = rules_in(rules_block)
    for state in states:
        for m in range(rules.move_first[state], rules.move_first[state + 1]):
            if rules.final[rules.move_to[m]]:
                return True
    return False


@jit_no_arrays
def least_into(strings: IntRows, rows: Flags, lengths: Ints, least: Ints) -> None:
    """Writes the shortest, then least string of each column, in the chosen rows; -1 where there is none."""
    for column in range(len(least)):
        least[column] = -1
        for row in range(len(rows)):
            string, known = strings[row, column], least[column]
            if not rows[row] or string < 0:
                continue
            if known < 0 or (lengths[string], string) < (lengths[known], known):
                least[column] = string


@jit_no_arrays
def tokens_in(
    after: ByteRows,
    words: TokenArrays,
    path: NDArray[np.int8],
    bits: OctetRows,
    shortest: IntRows,
    exits: Ints,
    leaving: NDArray[np.int8],
    visited: Longs,
) -> int:
    """Sets the bits of the tokens that stay, by the place where they end, and the `shortest` strings; notes the nodes
    at which others leave.

    Returns how many nodes these are; `leaving` are the places before them. Others are counted: they are `visited`.
    """
    count, i, first = 0, 1, 0
    while i < len(words.byte):
        if words.depth[i] == 1:
            first = words.byte[i]
        before = path[words.depth[i] - 1]
        to = after[before, words.byte[i]]
        if to < 0:
            if to == OUT:
                exits[count], leaving[count] = i, before
                count += 1
            else:
                visited[first] += 1
            i = words.skip[i]
            continue
        visited[first] += 1
        path[words.depth[i]] = to
        string = words.string[i]
        if string >= 0:
            known = shortest[first, to]
            if known < 0 or (words.lengths[string], string) < (words.lengths[known], known):
                shortest[first, to] = string
            for t in range(words.offsets[string], words.offsets[string + 1]):
                bits[to, words.ids[t] >> 3] |= np.uint8(1 << (words.ids[t] & 7))
        i += 1
    return count
