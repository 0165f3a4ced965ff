"""All successors of a configuration: what every token of the vocabulary leads to, walked once and remembered.

The tables of a grammar are bounded in bytes, the least recently used go first; the distinct successors, which
searches live on, are small and stay. This module knows tokens, but no distances.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configuration import DEAD, UNKNOWN, Configurations
from grammar_cache.interrupt import Interrupt
from grammar_cache.vocabulary import Vocabulary
from grammar_cache.walk import Ints, consume, distinct_successors, whole_vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Successors:
    """The distinct configurations one token away, and the shortest string that leads to each, by which they ascend.

    `cost`: what finding them took, in trie nodes visited; interning a configuration counts as so many of them.
    """

    configurations: NDArray[np.int32]
    strings: NDArray[np.int32]
    cost: int


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """`strings` that are alive, ascending, and which of `successors.configurations` each leads to."""

    strings: NDArray[np.int32]
    which: NDArray[np.int32]
    successors: Successors

    @property
    def size_bytes(self) -> int:
        return self.strings.nbytes + self.which.nbytes


_CONFIGURATION_COST = 1_000
_ITEM_COST = 100
"""In trie nodes (a few nanoseconds each): what expanding one configuration takes, and each of its items and edges."""


class Tables:
    """Token steps over the growing table of configurations, one at a time, in batches, and for the whole vocabulary."""

    def __init__(
        self, configurations: Configurations, vocabulary: Vocabulary, limit_bytes: int, interrupt: Interrupt
    ) -> None:
        self._configurations = configurations
        self._vocabulary = vocabulary
        self._limit = limit_bytes
        self._interrupt = interrupt
        self._tables: OrderedDict[int, Table] = OrderedDict()
        self._bytes = 0
        self._successors: dict[int, Successors] = {}
        # Where a walk notes what it left out; memory that is never written is never taken.
        self._scratch = (np.empty(vocabulary.trie.size, np.int32), np.empty(vocabulary.trie.size, np.int32))

    def accepts(self, configuration: int) -> bool:
        """Whether the text that led here is in the language."""
        return bool(self._configurations.accepts[configuration])

    def length(self, string: int) -> int:
        """The bytes of a string."""
        return int(self._vocabulary.lengths[string])

    def consume(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        """The configuration after each token: int32[rows, k] from int32[rows] and int32[rows, k]; DEAD where none."""
        table, vocabulary = self._configurations, self._vocabulary
        after = np.full(tokens.shape, UNKNOWN, np.int32)
        missed = np.empty(after.size, np.int32)
        while True:
            misses = consume(
                table.next,
                table.network.classes,
                vocabulary.data,
                vocabulary.data_offsets,
                configurations,
                tokens,
                after,
                missed,
            )
            if not misses:
                return after
            self._expand(missed[:misses])

    def consume_bytes(self, configuration: int, data: bytes) -> int:
        """The configuration after these bytes, or DEAD."""
        table = self._configurations
        for byte in data:
            if configuration == DEAD:
                break
            table.expand(configuration)
            configuration = int(table.next[configuration, table.network.classes[byte]])
        return configuration

    def table(self, configuration: int) -> Table:
        """The whole-vocabulary table of a configuration."""
        known = self._tables.get(configuration)
        if known is not None:
            self._tables.move_to_end(configuration)
            return known
        made = self._walk(configuration)
        self._tables[configuration] = made
        self._bytes += made.size_bytes
        while self._bytes > self._limit and len(self._tables) > 1:
            self._bytes -= self._tables.popitem(last=False)[1].size_bytes
        return made

    def successors(self, configuration: int) -> Successors:
        """The distinct configurations one token away. What searches long asks this, so here it is told to stop."""
        self._interrupt.check()
        known = self._successors.get(configuration)
        if known is None:
            known = self._distinct(configuration)
            self._successors[configuration] = known
        return known

    def shortest_into(self, configuration: int, targets: set[int]) -> int | None:
        """The shortest, then least string that leads from a configuration into a set of others."""
        successors = self.successors(configuration)
        strings = [
            string
            for after, string in zip(successors.configurations.tolist(), successors.strings.tolist(), strict=True)
            if after in targets
        ]
        return min(strings, key=lambda string: (self.length(string), string), default=None)

    def _distinct(self, configuration: int) -> Successors:
        table, vocabulary, trie = self._configurations, self._vocabulary, self._vocabulary.trie
        shortest = np.empty(0, np.int32)
        parts: list[Ints] = []
        nodes, before = np.zeros(1, np.int32), np.array([configuration], np.int32)
        cost = _CONFIGURATION_COST + _ITEM_COST * table.breadth(configuration)
        while len(nodes):
            self._expand(before)
            shortest = np.concatenate([shortest, np.full(table.count - len(shortest), -1, np.int32)])
            found = np.empty(table.count, np.int32)
            distinct, misses, visited = distinct_successors(
                trie.byte,
                trie.depth,
                trie.skip,
                trie.string,
                table.network.classes,
                table.next,
                nodes,
                before,
                vocabulary.longest,
                vocabulary.lengths,
                shortest,
                found,
                *self._scratch,
            )
            parts.append(found[:distinct])
            nodes, before = (scratch[:misses].copy() for scratch in self._scratch)
            cost += visited - misses
        configurations = np.concatenate(parts)
        configurations = configurations[np.argsort(shortest[configurations])]
        return Successors(configurations, shortest[configurations], cost)

    def _walk(self, configuration: int) -> Table:
        table, vocabulary, trie = self._configurations, self._vocabulary, self._vocabulary.trie
        reached = np.full(len(vocabulary.strings), DEAD, np.int32)
        nodes, before = np.zeros(1, np.int32), np.array([configuration], np.int32)
        while len(nodes):
            self._expand(before)
            misses = whole_vocabulary(
                trie.byte,
                trie.depth,
                trie.skip,
                trie.string,
                table.network.classes,
                table.next,
                nodes,
                before,
                vocabulary.longest,
                reached,
                *self._scratch,
            )
            nodes, before = (scratch[:misses].copy() for scratch in self._scratch)
        successors = self.successors(configuration)
        place = np.full(table.count, -1, np.int32)
        place[successors.configurations] = np.arange(len(successors.configurations))
        strings = np.flatnonzero(reached != DEAD).astype(np.int32)
        return Table(strings, place[reached[strings]], successors)

    def _expand(self, configurations: Ints) -> None:
        for unknown in np.unique(configurations).tolist():
            self._interrupt.check()
            self._configurations.expand(unknown)
