"""Minimal automata of finite languages: equal futures are found from the ends on, each state looked at once.

After Revuz, "Minimisation of acyclic deterministic automata in linear time", TCS 92 (1992). No other kind of automaton
is minimised here. Nothing but `equal_futures` makes arrays or counts references.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammar_cache.array_types import Flags, Ints
from grammar_cache.jit import jit, jit_inline, jit_no_arrays

NO_END = -1
"""Block of the states from which none that is final is reached."""
_NEW, _UNDER_WAY = -3, -2


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
def equal_futures(first: Ints, labels: Ints, heads: Ints, final: Flags) -> tuple[bool, Ints]:
    """Whether no state leads back to itself, and the block of every state: `NO_END` or a number.

    The transitions of state s are those from `first[s]` to `first[s + 1]`, by ascending label; state 0 reaches all.
    Where one leads back, blocks mean nothing.
    """
    states = len(final)
    room = 16
    while room < 2 * states:
        room *= 2
    moves = _Moves(first, labels, heads, final)
    blocks = _Blocks(np.full(states, _NEW, np.int32), np.empty(states, np.int32), np.full(room, -1, np.int32))
    path, at = np.empty(states + 1, np.int32), np.empty(states + 1, np.int32)
    return _settled(moves, blocks, path, at) >= 0, blocks.of


@jit_no_arrays
def _settled(moves: _Moves, blocks: _Blocks, path: Ints, at: Ints) -> int:
    """Gives each state its block, after all that it leads to; returns how many blocks, -1 where a state leads back."""
    first, heads, block = moves.first, moves.heads, blocks.of
    depth = count = 0
    path[0], at[0], block[0] = 0, first[0], _UNDER_WAY
    while depth >= 0:
        state, t = path[depth], at[depth]
        while t < first[state + 1] and block[heads[t]] > _UNDER_WAY:
            t += 1
        if t == first[state + 1]:
            count = _settle(moves, blocks, state, count)
            depth -= 1
            continue
        if block[heads[t]] == _UNDER_WAY:
            return -1
        at[depth] = t + 1
        depth += 1
        path[depth], at[depth], block[heads[t]] = heads[t], first[heads[t]], _UNDER_WAY
    return count


@jit_inline
def _settle(moves: _Moves, blocks: _Blocks, state: int, count: int) -> int:
    """Gives a state the block of its future, a new one if need be; returns how many blocks."""
    first, labels, heads, final = moves
    block, example, slots = blocks
    code, ends = np.int64(final[state]), final[state]
    for t in range(first[state], first[state + 1]):
        after = block[heads[t]]
        if after >= 0:
            ends = True
            code = (code ^ ((np.int64(labels[t]) << 32) | after)) * -7046029254386353131  # 2^64 / the golden ratio
            code ^= (code >> 29) & 0x7FFFFFFFF
    if not ends:
        block[state] = NO_END
        return count
    slot = code & (len(slots) - 1)
    while slots[slot] >= 0:
        known = slots[slot]
        if _alike(moves, block, state, example[known]):
            block[state] = known
            return count
        slot = (slot + 1) & (len(slots) - 1)
    slots[slot], block[state], example[count] = count, count, state
    return count + 1


@jit_inline
def _alike(moves: _Moves, block: Ints, state: int, other: int) -> bool:
    """Whether two states end alike, and by equal labels lead to equal blocks."""
    first, labels, heads, final = moves
    if final[state] != final[other]:
        return False
    s, t = first[state], first[other]
    while True:
        while s < first[state + 1] and block[heads[s]] < 0:
            s += 1
        while t < first[other + 1] and block[heads[t]] < 0:
            t += 1
        if s == first[state + 1] or t == first[other + 1]:
            return bool(s == first[state + 1] and t == first[other + 1])
        if labels[s] != labels[t] or block[heads[s]] != block[heads[t]]:
            return False
        s += 1
        t += 1
