"""A heap of numbers in an array, for compiled loops that make no arrays; the least one is at place 0."""

from __future__ import annotations

from numba import njit

from grammar_cache.arena import Longs


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator]
def push(heap: Longs, size: int, number: int) -> int:
    """Adds a number to `size` others, given that there is room: how many there are now."""
    at = size
    while at > 0 and heap[(at - 1) >> 1] > number:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = number
    return size + 1


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator]
def pop(heap: Longs, size: int) -> int:
    """Takes the least of `size` numbers out: how many there are now."""
    size -= 1
    number, at = heap[size], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= number:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = number
    return size
