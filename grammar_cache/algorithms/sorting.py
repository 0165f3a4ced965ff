"""Sorting in place, for compiled loops that make no arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_types import Longs
from grammar_cache.jit import jit_inline

_MANY = 32
"""Keys that sorting takes longer for than finding repetitions."""
_NONE = np.iinfo(np.int64).min
"""Mark of a free slot; no key."""


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
    kept = min(size, 1)
    for i in range(1, size):
        if keys[i] != keys[kept - 1]:
            keys[kept] = keys[i]
            kept += 1
    return int(kept)


@jit_inline
def repeated_once(keys: Longs, size: int, slots: Longs) -> int:
    """Leaves out repetitions among the first `size` keys, where there are many: how many are left. To be called before
    `distinct` where most keys are repetitions. `slots`: room to find them in, a power of two.
    """
    if size < _MANY or size > len(slots) // 2:
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
