"""Tokens that go on below a rule, behind the exits where it may end: walked once for each configuration that it may end
in. This module knows exits and configurations, but no rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.configurations.arena import WIDE
from grammar_cache.configurations.interner import Configurations
from grammar_cache.distances.additive import INFINITE, Distances
from grammar_cache.loops.array_types import Ints
from grammar_cache.masks.below_kernels import LEFT, SUMMED, BelowFound, BelowWalk, below
from grammar_cache.masks.byte_costs import ROWS, ByteCosts
from grammar_cache.masks.exits import BehindExitsCache, Exits
from grammar_cache.masks.inside_kernels import PART_FUEL
from grammar_cache.masks.reached import Reached
from grammar_cache.successors.token_kernels import PackedWords
from grammar_cache.vocabulary.token_set import TokenBits, mask_bytes
from grammar_cache.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Below:
    """Tokens behind which no more than `farthest` tokens are needed, and what reading their bytes `costs`; where that
    is dear, not all of them.
    """

    tokens: TokenBits
    farthest: int
    costs: ByteCosts


class NodeSums:
    """Zeros by node of one vocabulary's trie, which walks borrow: see `Vocabulary.cache`. Any thread may ask."""

    def __init__(self) -> None:
        self._idle: list[tuple[Ints, Ints]] = []

    def borrow(self, nodes: int) -> tuple[Ints, Ints]:
        """Zeros by node, and room for a list of the nodes that aren't zero any more."""
        try:
            return self._idle.pop()
        except IndexError:
            return np.zeros(nodes, np.int32), np.empty(nodes, np.int32)

    def give_back(self, sums: Ints, summed: Ints, count: int) -> None:
        """Takes back what was borrowed, the first `count` listed nodes not being zero. Nobody has to give it back."""
        sums[summed[:count]] = 0
        self._idle.append((sums, summed))


class BelowWalks:
    """Tokens below rules of one grammar; the least recently used go first."""

    def __init__(
        self, configurations: Configurations, distances: Distances, vocabulary: Vocabulary, limit_bytes: int
    ) -> None:
        self._configurations = configurations
        self._distances = distances
        self._words = vocabulary.cache(PackedWords).of(vocabulary)
        self._behind_exits = vocabulary.cache(BehindExitsCache)
        self._sums = vocabulary.cache(NodeSums)
        self._nodes = vocabulary.trie.size
        self._path = np.empty(vocabulary.longest + 1, np.int32)
        self._bytes = mask_bytes(vocabulary.size)
        self._known: LruCache[tuple[int, int], Below] = LruCache(limit_bytes)

    @property
    def held_bytes(self) -> int:
        """Bytes of what is known."""
        return self._known.size

    def of(self, exits: Exits, after: int) -> Below:
        """Tokens below some exits, behind each of which a configuration is that `after` the rule."""
        key = exits.key, after  # many states of a text have the same exits
        known = self._known.get(key)
        if known is None:
            known = self._walked(exits, after)
            self._known.keep(key, known, known.tokens.size_bytes + known.costs.nbytes + 300)
        return known

    def _walked(self, exits: Exits, after: int) -> Below:
        table, behind = self._configurations, self._behind_exits.of(exits, self._words.block, self._nodes)
        bits, reached = np.zeros(self._bytes, np.uint8), Reached(table, self._distances)
        costs, progress, status = np.zeros((ROWS, 256), np.int32), np.zeros(SUMMED + 1, np.int64), -1
        progress[LEFT] = PART_FUEL
        walk = BelowWalk(self._path, exits.nodes, behind.nodes, behind.first, behind.begins, after)
        sums = self._sums.borrow(self._nodes)
        while status < 0 and status != WIDE:
            found = BelowFound(bits, reached.with_room(), costs, *sums)
            status = below(*table.blocks, self._words.block, walk, found, progress)
            if status < 0 and status != WIDE:
                table.outcome(status)
        self._sums.give_back(*sums, int(progress[SUMMED]))
        if status == WIDE:
            return Below(TokenBits.of(bits), INFINITE, ByteCosts.all_alike(table.rules.dear + 1))
        return Below(TokenBits.of(bits), reached.farthest(0), ByteCosts.of(costs))
