"""Which strings of a vocabulary are longer than so many bytes. This module knows no grammar."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from grammar_cache.trie import Trie

Ints = NDArray[np.int32]
Bits = NDArray[np.uint8]


class LongTokens:
    """Shared by all grammars of a vocabulary; any thread may ask. `deepest[node]`: the depth of the trie below it."""

    def __init__(self, trie: Trie, lengths: Ints, string_of: Ints) -> None:
        self.deepest: Ints = _deepest(trie.depth, trie.skip)
        self._lengths = lengths
        self._string_of = string_of
        self._others: dict[int, Bits] = {}

    def others(self, length: int) -> Bits:
        """The tokens of at most so many bytes and those without text, as one bit an id in multiples of 32."""
        known = self._others.get(length)
        if known is None:
            short = np.append(self._lengths <= length, True)[self._string_of]
            size = 4 * -(-len(self._string_of) // 32)
            known = np.zeros(size, np.uint8)
            bits = np.packbits(short, bitorder="little")
            known[: len(bits)] = bits
            self._others[length] = known
        return known


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _deepest(depth: Ints, skip: Ints) -> Ints:
    found = depth.copy()
    for i in range(len(depth) - 1, -1, -1):
        child = i + 1
        while child < skip[i]:
            found[i] = max(found[i], found[child])
            child = skip[child]
    return found
