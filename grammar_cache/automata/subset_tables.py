"""Growing tables of the subset construction, and how compiled loops find what is in them.

Nothing but `empty` and `grown` makes arrays or counts references: counting them took most of the construction's time.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from grammar_cache.loops.array_types import Flags, Ints, Longs
from grammar_cache.loops.jit import jit, jit_inline

S = TypeVar("S", bound=np.generic)


class Subsets(NamedTuple):
    """Subsets that are known, their transitions, and room to find more: `used` says how much of it is needed, and how
    far the search has come.

    The members of subset i are `pool[first[i] : first[i + 1]]`. `alone[state]`: the subset that one target leads to by
    itself, or -1. `seen[state]`: the number of the closure that met it last. `slots` find subsets by their hashes.
    """

    used: Longs
    first: Longs
    hashes: Longs
    final: Flags
    slots: Ints
    pool: Ints
    tails: Ints
    labels: Ints
    heads: Ints
    pairs: Longs
    seen: Longs
    alone: Ints
    stack: Ints
    members: Ints


SUBSETS, POOL, TRANSITIONS, PAIRS, AT, BEGIN, PREVIOUS, GROUPS, CLOCK, LOOKED = range(10)
"""Places in `used`: numbers of subsets, of their members, transitions and pairs that there is to be room for; the
subset under way (-1: the start's closure), the pairs from which it goes on, those of the label before, and how many
there are (0: not begun); closures so far, and states that were looked at in them.
"""


@jit
def empty(states: int) -> Subsets:
    """Tables with no subset, for an automaton of so many states; the closure of the start comes next."""
    used = np.zeros(10, np.int64)
    used[AT], used[GROUPS] = -1, 1  # the one target is state 0
    first, hashes, final = np.zeros(64, np.int64), np.empty(64, np.int64), np.empty(64, np.bool_)
    slots, pool, pairs = np.full(256, -1, np.int32), np.empty(256, np.int32), np.zeros(256, np.int64)
    tails, labels, heads = np.empty(256, np.int32), np.empty(256, np.int32), np.empty(256, np.int32)
    seen, alone = np.zeros(states, np.int64), np.full(states, -1, np.int32)
    stack, members = np.empty(states, np.int32), np.empty(states, np.int32)
    return Subsets(used, first, hashes, final, slots, pool, tails, labels, heads, pairs, seen, alone, stack, members)


@jit
def grown(made: Subsets) -> Subsets:
    """Tables with more room wherever more than half of it is needed."""
    used, slots = made.used, made.slots
    count = used[SUBSETS] + 2
    first, hashes, final = _longer(made.first, count), _longer(made.hashes, count), _longer(made.final, count)
    if 4 * len(hashes) > len(slots):
        slots = np.full(4 * len(hashes), -1, np.int32)
        for number in range(used[SUBSETS]):
            note(slots, hashes[number], number)
    pool, pairs, size = _longer(made.pool, used[POOL]), _longer(made.pairs, used[PAIRS]), used[TRANSITIONS]
    tails, labels, heads = _longer(made.tails, size), _longer(made.labels, size), _longer(made.heads, size)
    return Subsets(used, first, hashes, final, slots, pool, tails, labels, heads, pairs, *made[10:])


@jit
def _longer(array: NDArray[S], needed: int) -> NDArray[S]:
    """The array; where more than half of it is needed, with room for twice as much: a power of two, as it was."""
    if 2 * needed < len(array):
        return array
    size = 2 * len(array)
    while size < needed:
        size *= 2
    longer = np.zeros(size, array.dtype)
    longer[: len(array)] = array
    return longer


@jit_inline
def find(members: Ints, code: int, slots: Ints, first: Longs, pool: Ints) -> int:
    """The number of a subset, -1 if it is new."""
    slot = code & (len(slots) - 1)
    while slots[slot] >= 0:
        known: int = slots[slot]
        if first[known + 1] - first[known] == len(members):
            same = True
            for i in range(len(members)):
                if pool[first[known] + i] != members[i]:
                    same = False
                    break
            if same:
                return known
        slot = (slot + 1) & (len(slots) - 1)
    return -1


@jit_inline
def note(slots: Ints, code: int, number: int) -> None:
    """Puts a subset into the hash table, of which at most a quarter is ever used."""
    slot = code & (len(slots) - 1)
    while slots[slot] >= 0:
        slot = (slot + 1) & (len(slots) - 1)
    slots[slot] = number
