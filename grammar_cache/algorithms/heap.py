"""A heap of numbers in an array, for compiled loops that make no arrays; the least one is at place 0."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from grammar_cache.loops.array_types import Longs
from grammar_cache.loops.jit import jit_inline


@jit_inline
def push(heap: Longs, size: int, number: int) -> int:
    """Adds a number to `size` others, given that there is room: how many there are now."""
    at = size
    while at > 0 and heap[(at - 1) >> 1] > number:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = number
    return size + 1


@jit_inline
def pop(heap: Longs, size: int) -> int:
    """Takes the least of `size` numbers out: how many there are now."""
    size -= 1
    replace(heap, size, heap[size])
    return size


@jit_inline
def replace(heap: NDArray[Any], size: int, number: Any) -> None:
    """Puts a number in place of the least of `size`. It branches little: wrong guesses of the processor cost most."""
    at, child = 0, 1
    while child < size:
        if child + 1 < size:
            child += heap[child + 1] < heap[child]
        if number <= heap[child]:
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = number
