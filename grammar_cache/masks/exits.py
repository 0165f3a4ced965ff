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

    def of(self, exits: Exits, words: WordsBlock, size: int) -> BehindExits:
        """Nodes behind some exits of the vocabulary whose `words` these are, a trie of `size` nodes."""
        known = self.get(exits.key)
        if known is None:
            first, begins = np.zeros(257, np.int32), np.zeros(256, np.bool_)
            nodes = np.empty(size, np.int32)
            listed = _list_behind(words, exits.nodes, np.empty(256, np.int32), first, nodes, begins)
            known = BehindExits(first, nodes[:listed].copy(), begins)
            self.keep(exits.key, known, known.size_bytes)
        return known


@jit_no_arrays
def _list_behind(words_block: WordsBlock, exits: Ints, at: Ints, first: Ints, nodes: Ints, begins: Flags) -> int:
    """Writes the nodes behind exits by byte, where those of each byte begin, and the bytes that exits begin with: how
    many nodes there are. `at`, int32[256], is for its work.
    """
    words = words_in(words_block)
    for placing in range(2):  # counts, then places
        for leaving in exits:
            begins[words.first[leaving]] = True
            node = leaving + 1
            while node < words.skip[leaving]:
                byte = np.int64(words.byte[node])
                if placing:
                    nodes[at[byte]] = node
                    at[byte] += 1
                else:
                    first[byte + 1] += 1
                node = words.skip[node]
        if not placing:
            for place in range(256):
                at[place] = first[place]
                first[place + 1] += first[place]
    return int(first[256])
