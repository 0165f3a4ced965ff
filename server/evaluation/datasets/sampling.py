"""Choice of the tasks that are taken of a set."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def sampled(items: Sequence[T], n: int, seed: int) -> list[T]:
    """Items drawn by the seed, `n` of them, in the set's order; all with 0. A larger `n` takes the same and more."""
    if not 0 < n < len(items):
        return list(items)
    order = list(range(len(items)))
    Random(seed).shuffle(order)
    return [items[index] for index in sorted(order[:n])]
