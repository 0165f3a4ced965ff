"""All successors of a configuration: what every token of the vocabulary leads to, walked once and remembered.

The tables of a grammar are bounded in bytes, the least recently used go first; the distinct successors, which
searches live on, are small and stay. This module knows tokens, but no distances.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configuration import DEAD, Configurations
from grammar_cache.interrupt import Interrupt
from grammar_cache.regions import Loop, byte_weights, region, wide_loop_at
from grammar_cache.solved import Region
from grammar_cache.vocabulary import Vocabulary
from grammar_cache.walk import Tokens, consume, consume_known, distinct_successors, follow, whole_vocabulary


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
        self._words = Tokens.of(vocabulary)
        self._classes: list[int] = configurations.network.classes.tolist()
        self._weights = byte_weights(vocabulary)
        self._loops: dict[int, Loop | None] = {}
        self._path = np.empty(vocabulary.longest + 1, np.int32)
        self._everywhere = np.array([[1], [len(self._words.byte)], [DEAD]], np.int32)
        self._shortest = np.empty(0, np.int32)  # by configuration: scratch of walks
        self._found = np.empty(0, np.int32)

    def accepts(self, configuration: int) -> bool:
        """Whether the text that led here is in the language."""
        return self._configurations.accepts(configuration)

    def length(self, string: int) -> int:
        """The bytes of a string."""
        return int(self._vocabulary.lengths[string])

    def consume(self, configurations: NDArray[np.int32], tokens: NDArray[np.int32]) -> NDArray[np.int32]:
        """The configuration after each token: int32[rows, k] from int32[rows] and int32[rows, k]; DEAD where none."""
        table, store, words = self._configurations, self._configurations.store, self._words
        after = np.empty(tokens.shape, np.int32)
        done = consume_known(
            store.next, store.row, table.rules.classes, words.data, words.data_offsets, configurations, tokens, after
        )
        while done < after.size:
            done, status = consume(table.rules, table.store, words, configurations, tokens, after, done)
            if status < 0:
                table.outcome(status)
        return after

    def follow(self, configuration: int, data: bytes) -> int:
        """As `consume_bytes`; for few bytes that lead where texts have been, quicker than a call of a compiled loop."""
        store, at = self._configurations.store, configuration
        for byte in data:
            row = store.row[at]
            if row < 0:
                return self.consume_bytes(configuration, data)
            at = store.next[row, self._classes[byte]]
            if at == DEAD:
                return DEAD
        return int(at)

    def consume_bytes(self, configuration: int, data: bytes) -> int:
        """The configuration after these bytes, or DEAD."""
        table, done, status = self._configurations, 0, -1
        text = np.frombuffer(data, np.uint8)
        while status < 0:
            done, configuration, status = follow(table.rules, table.store, text, done, configuration)
            if status < 0:
                table.outcome(status)
        return configuration

    def after(self, configuration: int, string: int) -> int:
        """The configuration after a string, or DEAD."""
        return self.consume_bytes(configuration, self._vocabulary.strings[string])

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
        table = self._configurations
        around = None if table.rules.lexed else self._around(configuration)
        distinct, visited = 0, 0
        if around is None:
            begin, past, before = self._everywhere
            before[0] = configuration
        else:  # most tokens stay in a loop: it is known where they end
            found, places = around
            begin, past, before = found.exits, self._words.skip[found.exits], places[found.leaving]
            met = np.flatnonzero(found.shortest >= 0)
            distinct, visited = len(met), found.visited
            self._make_room()
            self._found[:distinct] = places[met]
            self._shortest[places[met]] = found.shortest[met]
        done, place = 0, 0
        while done < len(begin):
            self._make_room()
            done, place, distinct, visited, status = distinct_successors(
                table.rules, table.store, self._words, self._path, begin, past, before, done, place,
                self._shortest, self._found, distinct, visited,
            )  # fmt: skip
            if status < 0:
                table.outcome(status)
        configurations = self._found[:distinct]
        strings = self._shortest[configurations]
        self._shortest[configurations] = -1
        order = strings.argsort()
        cost = _CONFIGURATION_COST + _ITEM_COST * table.breadth(configuration) + visited
        return Successors(configurations[order], strings[order], cost)

    def _around(self, configuration: int) -> tuple[Region, NDArray[np.int32]] | None:
        """The region that the only item is in, and the configurations of the places that tokens end at or leave."""
        table, store = self._configurations, self._configurations.store
        first, past = store.item_first[configuration : configuration + 2].tolist()
        if past != first + 1 or store.accepts[configuration]:
            return None
        state, node = divmod(int(store.items[first]), 1 << 32)
        if state not in self._loops:
            self._loops[state] = wide_loop_at(table.rules, state, self._weights)
        loop = self._loops[state]
        if loop is None:
            return None
        found = region(loop, self._vocabulary)
        places = np.full(len(loop.states), DEAD, np.int32)
        for place in np.union1d(np.flatnonzero(found.shortest >= 0), found.leaving).tolist():
            places[place] = table.of_items([(int(loop.states[place]), node)], accepting=False)
        return found, places

    def _make_room(self) -> None:
        """For each configuration that the store has room for."""
        missing = len(self._configurations.store.accepts) - len(self._shortest)
        if missing:
            self._shortest = np.concatenate([self._shortest, np.full(missing, -1, np.int32)])
            self._found = np.concatenate([self._found, np.empty(missing, np.int32)])

    def _walk(self, configuration: int) -> Table:
        table, path = self._configurations, self._path
        reached = np.full(len(self._vocabulary.strings), DEAD, np.int32)
        path[0], place = configuration, 1
        while place < len(self._words.byte):
            place, status = whole_vocabulary(table.rules, table.store, self._words, path, place, reached)
            if status < 0:
                table.outcome(status)
        successors = self.successors(configuration)
        which = np.full(table.count, -1, np.int32)
        which[successors.configurations] = np.arange(len(successors.configurations))
        strings = np.flatnonzero(reached != DEAD).astype(np.int32)
        return Table(strings, which[reached[strings]], successors)
