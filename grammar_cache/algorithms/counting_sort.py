"""Counting sort: places in the order of their keys, which are few."""

from __future__ import annotations

import numpy as np

from grammar_cache.loops.array_types import Ints, Longs
from grammar_cache.loops.jit import jit


@jit
def by_key(keys: Ints | Longs, count: int) -> tuple[Ints, Ints]:
    """Sorts places by their keys, ties in their order: returns where those of each key begin, and the places."""
    first = np.zeros(count + 1, np.int32)
    for key in keys:
        first[key + 1] += 1
    for key in range(count):
        first[key + 1] += first[key]
    next_of, places = first.copy(), np.empty(len(keys), np.int32)
    for i in range(len(keys)):
        places[next_of[keys[i]]] = i
        next_of[keys[i]] += 1
    return first, places
