"""Sorting in place, for compiled loops that make no arrays."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from grammar_cache.jit import jit_inline


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
