"""Labels that lead everywhere where another one leads: they tell no states apart."""

from __future__ import annotations

import numpy as np

from grammar_cache.algorithms.counting_sort import by_key
from grammar_cache.loops.array_types import Ints
from grammar_cache.loops.jit import jit, jit_inline


@jit
def alike_labels(tails: Ints, labels: Ints, heads: Ints, count: int, compared: int) -> Ints:
    """The least label that leads everywhere where each of `count` labels leads, by label; those from `compared` on are
    themselves. Transitions of a label come by ascending tail.
    """
    first, order = by_key(labels, count)
    codes, least = np.zeros(count, np.int64), np.arange(count).astype(np.int32)
    for label in range(min(compared, count)):
        own = order[first[label] : first[label + 1]]
        codes[label] = _hash(tails, heads, own)
        for lower in range(label):
            alike = codes[lower] == codes[label] and least[lower] == lower
            if alike and _same(tails, heads, own, order[first[lower] : first[lower + 1]]):
                least[label] = lower
                break
    return least


@jit_inline
def _hash(tails: Ints, heads: Ints, some: Ints) -> int:
    code = len(some)
    for t in some:
        code = (code ^ ((np.int64(tails[t]) << 32) | heads[t])) * -7046029254386353131  # 2^64 / the golden ratio
        code ^= (code >> 29) & 0x7FFFFFFFF
    return code


@jit_inline
def _same(tails: Ints, heads: Ints, some: Ints, others: Ints) -> bool:
    """Whether two lists of transitions lead from the same states to the same."""
    if len(some) != len(others):
        return False
    differing = 0
    for i in range(len(some)):
        differing |= (tails[some[i]] ^ tails[others[i]]) | (heads[some[i]] ^ heads[others[i]])
    return differing == 0
