"""States that no cycle leads to, made minimal: equal futures are found from the ends on, each state looked at once.

After Revuz, "Minimisation of acyclic deterministic automata in linear time", TCS 92 (1992). In a finite language these
are all states; elsewhere cycles have their blocks first, from the partition. Loops here count no references.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammar_cache.loops.array_types import Flags, Ints
from grammar_cache.loops.jit import jit, jit_inline, jit_no_arrays

NO_END = -1
"""Block of the states from which none that is final is reached."""


class _Moves(NamedTuple):
    """The transitions of state s are those from `first[s]` to `first[s + 1]`, by ascending label."""

    first: Ints
    labels: Ints
    heads: Ints
    final: Flags


class _Blocks(NamedTuple):
    """The block `of` every state, by block an `example` of its states, and `slots` in which blocks are found."""

    of: Ints
    example: Ints
    slots: Ints


@jit
def before_cycles(first: Ints, heads: Ints) -> Ints:
    """The states that no cycle leads to, each before those it leads to. State 0 reaches all."""
    states = len(first) - 1
    into, found = np.zeros(states, np.int32), np.zeros(states, np.int32)
    return found[: _peeled(first, heads, into, found)].copy()


@jit_no_arrays
def _peeled(first: Ints, heads: Ints, into: Ints, found: Ints) -> int:
    """Finds states all of whose predecessors were found, from state 0 on; returns how many."""
    for head in heads:
        into[head] += 1
    at, count = 0, int(into[0] == 0)
    while at < count:
        for t in range(first[found[at]], first[found[at] + 1]):
            into[heads[t]] -= 1
            if into[heads[t]] == 0:
                found[count] = heads[t]
                count += 1
        at += 1
    return count


@jit
def equal_futures(first: Ints, labels: Ints, heads: Ints, final: Flags, before: Ints, block: Ints) -> None:
    """Gives each state `before` cycles its block: `NO_END` or a number. All others have theirs already.

    The transitions of state s are those from `first[s]` to `first[s + 1]`, by ascending label.
    """
    states = len(final)
    room = 16
    while room < 2 * states:
        room *= 2
    blocks = _Blocks(block, np.full(states, -1, np.int32), np.full(room, -1, np.int32))
    _settled(_Moves(first, labels, heads, final), blocks, before)


@jit_no_arrays
def _settled(moves: _Moves, blocks: _Blocks, before: Ints) -> None:
    """Gives states their blocks, each after all that it leads to."""
    count = 0
    if len(before) < len(moves.final):
        for state in range(len(moves.final)):
            known = blocks.of[state]
            if known != NO_END and blocks.example[known] < 0:
                blocks.example[known] = state
                blocks.slots[_slot(moves, blocks, state)] = known
                count += 1
    for i in range(len(before) - 1, -1, -1):
        state = before[i]
        if not _ends(moves, blocks.of, state):
            continue
        slot = _slot(moves, blocks, state)
        if blocks.slots[slot] < 0:
            blocks.slots[slot], blocks.example[count] = count, state
            count += 1
        blocks.of[state] = blocks.slots[slot]


@jit_inline
def _ends(moves: _Moves, block: Ints, state: int) -> bool:
    """Whether a final state is reached from a state, all behind which have their blocks."""
    for t in range(moves.first[state], moves.first[state + 1]):
        if block[moves.heads[t]] != NO_END:
            return True
    return bool(moves.final[state])


@jit_inline
def _slot(moves: _Moves, blocks: _Blocks, state: int) -> int:
    """The slot of the block with a state's future, or the free one where it belongs."""
    first, labels, heads, final = moves
    block, example, slots = blocks
    code = np.int64(final[state])
    for t in range(first[state], first[state + 1]):
        after = block[heads[t]]
        if after != NO_END:
            code = (code ^ ((np.int64(labels[t]) << 32) | after)) * -7046029254386353131  # 2^64 / the golden ratio
            code ^= (code >> 29) & 0x7FFFFFFFF
    slot = code & (len(slots) - 1)
    while slots[slot] >= 0 and not _alike(moves, block, state, example[slots[slot]]):
        slot = (slot + 1) & (len(slots) - 1)
    return int(slot)


@jit_inline
def _alike(moves: _Moves, block: Ints, state: int, other: int) -> bool:
    """Whether two states end alike, and by equal labels lead to equal blocks."""
    first, labels, heads, final = moves
    if final[state] != final[other]:
        return False
    s, t = first[state], first[other]
    while True:
        while s < first[state + 1] and block[heads[s]] == NO_END:
            s += 1
        while t < first[other + 1] and block[heads[t]] == NO_END:
            t += 1
        if s == first[state + 1] or t == first[other + 1]:
            return bool(s == first[state + 1] and t == first[other + 1])
        if labels[s] != labels[t] or block[heads[s]] != block[heads[t]]:
            return False
        s += 1
        t += 1
