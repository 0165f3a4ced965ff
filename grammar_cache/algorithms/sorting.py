"""Sorting in place, for compiled loops that make no arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar_cache.loops.array_types import Longs
from grammar_cache.loops.jit import jit_inline

_REPEATED = 32
"""Keys that sorting takes longer for than finding repetitions."""
_NONE = np.iinfo(np.int64).min
"""Mark of a free slot; no key."""
_DIGIT = 7
"""Bits of a digit."""
_MANY = 32
"""Distinct keys that sorting by digits takes less time for than Shell's sort."""


@jit_inline
def distinct(keys: NDArray[Any], size: int) -> int:
    """Sorts the first `size` keys in place and leaves out repetitions: how many are left. (Shell's sort.)"""
    gap = 1
    while 3 * gap + 1 < size:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            key, at = keys[i], i
            while at >= gap and keys[at - gap] > key:
                keys[at] = keys[at - gap]
                at -= gap
            keys[at] = key
        gap //= 3
    return int(_neighbours_once(keys, size))


@jit_inline
def many_distinct(keys: Longs, size: int, room: Longs, counts: Longs) -> int:
    """Sorts and leaves out repetitions as `distinct` does, of keys from -1 on that may be many, most of them
    repetitions. `room`, a power of two of places, and `counts` are to work in. Where there are fewer than 128, or than
    keys, it takes longer.
    """
    size = _repeated_once(keys, size, room)
    if size < _MANY or size > len(room) or len(counts) < 1 << _DIGIT:
        return int(distinct(keys, size))
    _sort_by_digits(keys, size, room, counts)
    return int(_neighbours_once(keys, size))


@jit_inline
def _sort_by_digits(keys: Longs, size: int, room: Longs, counts: Longs) -> None:
    """Sorts by digits, the last ones first, and passes over bits in which no keys differ."""
    differing = np.int64(0)
    for i in range(size):
        differing |= keys[i] + 1 ^ keys[0] + 1
    here, there = keys, room
    place, passes = 0, 0
    while differing >> place > 0:
        if differing >> place & 1 == 0:
            place += 1
            continue
        _distribute(here, there, size, place, counts)
        here, there = there, here
        place, passes = place + _DIGIT, passes + 1
    if passes % 2 == 1:
        for i in range(size):
            keys[i] = here[i]


@jit_inline
def _distribute(here: Longs, there: Longs, size: int, place: int, counts: Longs) -> None:
    """Writes keys in the order of their digit at a place. Those with the same digit stay in their order."""
    for digit in range(1 << _DIGIT):
        counts[digit] = 0
    for i in range(size):
        counts[here[i] + 1 >> place & (1 << _DIGIT) - 1] += 1
    before = 0
    for digit in range(1 << _DIGIT):
        before, counts[digit] = before + counts[digit], before
    for i in range(size):
        digit = here[i] + 1 >> place & (1 << _DIGIT) - 1
        there[counts[digit]] = here[i]
        counts[digit] += 1


@jit_inline
def _neighbours_once(keys: NDArray[Any], size: int) -> int:
    """Leaves out repetitions among sorted keys: how many are left."""
    kept = min(size, 1)
    for i in range(1, size):
        if keys[i] != keys[kept - 1]:
            keys[kept] = keys[i]
            kept += 1
    return int(kept)


@jit_inline
def _repeated_once(keys: Longs, size: int, slots: Longs) -> int:
    """Leaves out repetitions among the first `size` keys, where there are many: how many are left. `slots`: room to
    find them in, a power of two.
    """
    if size < _REPEATED or size > len(slots) // 2:
        return size
    room = 2
    while room < 2 * size:
        room *= 2
    for slot in range(room):
        slots[slot] = _NONE
    kept = 0
    for i in range(size):
        key = keys[i]
        slot = (key * -7046029254386353131 >> 40) & (room - 1)
        while slots[slot] != _NONE and slots[slot] != key:
            slot = (slot + 1) & (room - 1)
        if slots[slot] == _NONE:
            slots[slot] = keys[kept] = key
            kept += 1
    return kept
