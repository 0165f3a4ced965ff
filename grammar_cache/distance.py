"""How many tokens are still needed: an upper bound for every configuration, and the token that lowers it.

c(s), the fewest tokens from state s to the end of its rule, is solved once per grammar over the real vocabulary
(Knuth, "A generalization of Dijkstra's algorithm", 1977). Then for any configuration of any stack height

    D(node) = least c(return) + D(parent),    d(configuration) = least c(s) + D(node),

which is consistent: whoever follows the witness token of the least item is at least one token nearer. It is *additive*:
a token that spans the end of a rule counts as one there and one behind it, so d can lie above the true distance; see
`tightening`. This module knows tokens, but no request and no budget.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configuration import Configurations
from grammar_cache.vocabulary import Vocabulary
from grammar_cache.walk import distinct_reach, least_costs

INFINITE = 1 << 29
"""No completion is known. Two of them added still fit an int32."""


class Distances:
    """`additive` int32[capacity]: d of every configuration up to the last `update`; INFINITE where none is known."""

    def __init__(self, configurations: Configurations, vocabulary: Vocabulary) -> None:
        self._configurations = configurations
        self._strings = vocabulary.strings
        states = configurations.network.states
        origin = np.array([configurations.at(s) for s in range(len(states))], np.int32)
        found = reach(configurations, vocabulary, origin)
        offsets = np.searchsorted(found[:, 0], np.arange(len(states) + 1)).astype(np.int32)
        final = np.array([s.final for s in states], np.bool_)
        item_offsets, items = flat(configurations.items)
        edge_offsets, edges = flat(configurations.edges)
        state_costs, node_costs, costs = least_costs(
            final,
            offsets,
            np.ascontiguousarray(found[:, 1]),
            item_offsets,
            items,
            edge_offsets,
            edges,
            configurations.accepts[: configurations.count],
            INFINITE,
        )
        self._states: list[int] = state_costs.tolist()
        self._nodes: list[int] = node_costs.tolist()
        self._witness = witnesses(found, costs, state_costs, vocabulary)
        self.additive: NDArray[np.int32] = costs
        self._count = len(costs)

    def update(self) -> None:
        """Extends the tables to all configurations interned so far."""
        self._update_nodes()
        table, count = self._configurations, self._configurations.count
        if count == self._count:
            return
        if count > len(self.additive):
            grown = np.full(len(table.accepts), INFINITE, np.int32)
            grown[: self._count] = self.additive[: self._count]
            self.additive = grown
        for number in range(self._count, count):
            self.additive[number] = (
                0
                if table.accepts[number]
                else min((self._states[s] + self._nodes[n] for s, n in table.items[number]), default=INFINITE)
            )
        new = self.additive[self._count : count]
        np.minimum(new, INFINITE, out=new)
        self._count = count

    def _update_nodes(self) -> None:
        edges = self._configurations.edges
        first = len(self._nodes)
        if len(edges) == first:
            return
        self._nodes += [INFINITE] * (len(edges) - first)
        changed = True
        while changed:  # nodes of one component lean on each other; all others are settled by the first pass
            changed = False
            for node in range(first, len(edges)):
                value = min(0 if s < 0 else self._states[s] + self._nodes[parent] for s, parent in edges[node])
                if value < self._nodes[node]:
                    self._nodes[node] = value
                    changed = True

    def witness(self, configuration: int) -> int:
        """The string whose consumption lowers d, given 0 < d < INFINITE. The least one where several items tie.

        An item at the end of its rule ties with what it returns to, which is an item too, and has no string itself.
        """
        d = self.additive[configuration]
        return min(
            self._witness[s]
            for s, n in self._configurations.items[configuration]
            if self._witness[s] >= 0 and self._states[s] + self._nodes[n] == d
        )

    def proposals(self, configuration: int) -> list[int]:
        """The witness string of every way to go on from here, ascending."""
        found = {self._witness[s] for s, _ in self._configurations.expansion(configuration)}
        found.discard(-1)
        return sorted(found)


def reach(configurations: Configurations, vocabulary: Vocabulary, origin: NDArray[np.int32]) -> NDArray[np.int32]:
    """Rows (state, configuration one token away, a short string that leads there), sorted."""
    trie = vocabulary.trie
    sources = np.arange(len(origin), dtype=np.int32)
    seeds = np.stack([sources, np.zeros_like(sources), origin], axis=1)
    parts: list[NDArray[np.int32]] = []
    room = 8 * len(origin) + 1024
    while len(seeds):
        for unknown in np.unique(seeds[:, 2]).tolist():
            configurations.expand(unknown)
        while True:
            found, missed = np.empty((room, 3), np.int32), np.empty((room, 3), np.int32)
            rows, misses = distinct_reach(
                trie.byte,
                trie.depth,
                trie.skip,
                trie.string,
                configurations.network.classes,
                configurations.next,
                origin,
                np.ascontiguousarray(seeds[:, 0]),
                np.ascontiguousarray(seeds[:, 1]),
                np.ascontiguousarray(seeds[:, 2]),
                vocabulary.longest,
                found,
                missed,
            )
            if max(rows, misses) <= room:
                break
            room = 2 * max(rows, misses)
        parts.append(found[:rows])
        seeds = missed[:misses]
    rows_found = np.concatenate(parts) if parts else np.empty((0, 3), np.int32)
    rows_found = rows_found[np.lexsort((rows_found[:, 2], rows_found[:, 1], rows_found[:, 0]))]
    new = np.ones(len(rows_found), np.bool_)
    new[1:] = (rows_found[1:, :2] != rows_found[:-1, :2]).any(axis=1)
    return rows_found[new]


def witnesses(
    found: NDArray[np.int32], costs: NDArray[np.int32], state_costs: NDArray[np.int32], vocabulary: Vocabulary
) -> list[int]:
    """The string that brings each state one token nearer to the end of its rule: the shortest, then the least.

    -1 where there is none.
    """
    witness = np.full(len(state_costs), -1, np.int32)
    state, configuration, string = found[:, 0], found[:, 1], found[:, 2]
    best = (costs[configuration] + 1 == state_costs[state]) & (state_costs[state] < INFINITE)
    state, string = state[best], string[best]
    order = np.lexsort((string, vocabulary.lengths[string]))[::-1]
    witness[state[order]] = string[order]  # of several assignments to one place the last one stands
    return [int(w) for w in witness]


def flat(lists: list[tuple[tuple[int, int], ...]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum([len(entries) for entries in lists], out=offsets[1:])
    flat = [entry for entries in lists for entry in entries]
    return offsets, np.array(flat, np.int32).reshape(-1, 2)
