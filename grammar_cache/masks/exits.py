"""Exits: the nodes of the trie at which a rule may end with longer tokens below, and the nodes behind them by byte.

A name may end behind each of its letters, which are tens of thousands of exits, but few bytes follow it. What is below
the rule is therefore looked up by the bytes that lead on there, and not exit by exit.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from weakref import WeakValueDictionary

import numpy as np

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.loops.array_types import Flags, Ints
from grammar_cache.loops.jit import jit_no_arrays
from grammar_cache.successors.token_kernels import WordsBlock, words_in
from grammar_cache.vocabulary.token_set_kernels import equal, sum_of

_CACHE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Exits:
    """Exits, ascending. `key`: a number that no unequal ones of the vocabulary have."""

    nodes: Ints
    key: int

    @property
    def nbytes(self) -> int:
        return self.nodes.nbytes + 150

    def __len__(self) -> int:
        return len(self.nodes)


NO_EXITS = Exits(np.empty(0, np.int32), 0)


class SharedExits:
    """Exits of one vocabulary that somebody still has, by content: see `Vocabulary.cache`. Any thread may ask."""

    def __init__(self) -> None:
        self._by_sum: WeakValueDictionary[int, Exits] = WeakValueDictionary()
        self._keys = count(1)

    def of(self, nodes: Ints) -> Exits:
        """Exits at some nodes: equal ones that there are already, else new ones with a key of their own."""
        if not len(nodes):
            return NO_EXITS
        total = sum_of(nodes)  # where unequal ones have equal sums, only the last are shared
        known = self._by_sum.get(total)
        if known is not None and len(known) == len(nodes) and equal(known.nodes, nodes):
            return known
        made = self._by_sum[total] = Exits(nodes.copy(), next(self._keys))
        return made


@dataclass(frozen=True, slots=True, eq=False)
class BehindExits:
    """Nodes of the trie right behind exits: those by byte b are `nodes[first[b] : first[b + 1]]`, ascending.

    `begins` [256]: whether an exit begins with that byte.
    """

    first: Ints
    nodes: Ints
    begins: Flags

    @property
    def size_bytes(self) -> int:
        return self.first.nbytes + self.nodes.nbytes + self.begins.nbytes + 200


class BehindExitsCache(LruCache[int, BehindExits]):
    """Cache of what is behind exits, by their key, for one vocabulary: see `Vocabulary.cache`."""

    def __init__(self) -> None:
        super().__init__(_CACHE_BYTES)

    def of(self, exits: Exits, words: WordsBlock) -> BehindExits:
        """Nodes behind some exits of the vocabulary whose `words` these are."""
        known = self.get(exits.key)
        if known is None:
            first, begins = np.zeros(257, np.int32), np.zeros(256, np.bool_)
            nodes = np.empty(_count(words, exits.nodes, first, begins), np.int32)
            _place(words, exits.nodes, first.copy(), nodes)
            known = BehindExits(first, nodes, begins)
            self.keep(exits.key, known, known.size_bytes)
        return known


@jit_no_arrays
def _count(words_block: WordsBlock, exits: Ints, first: Ints, begins: Flags) -> int:
    """Writes where the nodes of each byte will begin, and the bytes that exits begin with: how many nodes there are."""
    words = words_in(words_block)
    for leaving in exits:
        begins[words.first[leaving]] = True
        node = leaving + 1
        while node < words.skip[leaving]:
            first[words.byte[node] + 1] += 1
            node = words.skip[node]
    for byte in range(256):
        first[byte + 1] += first[byte]
    return int(first[256])


@jit_no_arrays
def _place(words_block: WordsBlock, exits: Ints, at: Ints, nodes: Ints) -> None:
    """Writes the nodes behind exits, by byte; `at`: where those of each byte begin."""
    words = words_in(words_block)
    for leaving in exits:
        node = leaving + 1
        while node < words.skip[leaving]:
            byte = words.byte[node]
            nodes[at[byte]] = node
            at[byte] += 1
            node = words.skip[node]
