"""How many tokens are still needed: an upper bound for every configuration, and the token that lowers it.

c(s), the fewest tokens from state s to the end of its rule, is solved over the real vocabulary, once for all grammars
that share the rule (Knuth, "A generalization of Dijkstra's algorithm", 1977). Then for any configuration

    D(node) = least c(return) + D(parent),    d(configuration) = least c(s) + D(node),

which is consistent: whoever follows the witness token of the least item is at least one token nearer. It is *additive*:
a token that spans the end of a rule counts as one there and one behind it, so d can lie above the true distance; see
`tightening`. This module knows tokens, but no request and no budget.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.arena import Arena
from grammar_cache.configuration import Configurations
from grammar_cache.interrupt import Interrupt
from grammar_cache.network import Network
from grammar_cache.parts import Part, parts
from grammar_cache.reach import reach as arena_reach
from grammar_cache.solved import Solution
from grammar_cache.vocabulary import Vocabulary
from grammar_cache.walk import distinct_reach, least_costs

INFINITE = 1 << 29
"""No completion is known. Two of them added still fit an int32."""


class Distances:
    """`additive` int32[capacity]: d of every configuration up to the last `update`; INFINITE where none is known."""

    def __init__(self, configurations: Configurations, vocabulary: Vocabulary, interrupt: Interrupt) -> None:
        """Raises LimitExceeded(configurations), Interrupted."""
        self._configurations = configurations
        states, witness = _solved(configurations.network, configurations.limit, vocabulary, interrupt)
        self._states: list[int] = states.tolist()
        self._witness: list[int] = witness.tolist()
        self._nodes: list[int] = []
        self.additive: NDArray[np.int32] = np.empty(0, np.int32)
        self._count = 0
        self.update()

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

    def node_cost(self, node: int) -> int:
        """The fewest tokens from the end of a rule whose node it is to the end of the text, as of the last update."""
        return self._nodes[node]

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


def _solved(
    network: Network, limit: int, vocabulary: Vocabulary, interrupt: Interrupt
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The cost and the witness of every state: looked up, or solved and kept for the next grammar."""
    costs = np.full(network.states.count, INFINITE, np.int32)
    witness = np.full(network.states.count, -1, np.int32)
    unknown: list[Part] = []
    for part in parts(network):
        known = vocabulary.solved.get(part.key)
        if known is None:
            unknown.append(part)
        else:
            costs[part.states], witness[part.states] = known.costs, known.witness
    if unknown:
        fresh = np.sort(np.concatenate([part.states for part in unknown]))
        costs[fresh] = np.where(network.states.final[fresh], 0, INFINITE)
        way = solve_slowly if any(network.cyclic) else solve
        way(network, limit, vocabulary, fresh, costs, witness, interrupt)
        for part in unknown:
            vocabulary.solved.keep(part.key, Solution(costs[part.states], witness[part.states]))
    return costs, witness


def solve(
    network: Network,
    limit: int,
    vocabulary: Vocabulary,
    fresh: NDArray[np.int32],
    costs: NDArray[np.int32],
    witness: NDArray[np.int32],
    interrupt: Interrupt,
) -> None:
    """Lowers the costs of the `fresh` states, given those of all others, and writes their witnesses."""
    arena = Arena(network, limit, interrupt)
    found = arena_reach(arena, vocabulary, network.classes, fresh)
    reached = least_costs(
        costs,
        np.searchsorted(found[:, 0], np.arange(len(costs) + 1)).astype(np.int32),
        np.ascontiguousarray(found[:, 1]),
        *arena.items(),
        *arena.edges(),
        arena.accepts(),
        INFINITE,
    )
    witness[fresh] = np.array(witnesses(found, reached, costs, vocabulary), np.int32)[fresh]


def solve_slowly(
    network: Network,
    limit: int,
    vocabulary: Vocabulary,
    fresh: NDArray[np.int32],
    costs: NDArray[np.int32],
    witness: NDArray[np.int32],
    interrupt: Interrupt,
) -> None:
    """The same where rules call themselves before reading anything."""
    configurations = Configurations(network, limit)
    origin = np.array([configurations.at(s) for s in fresh.tolist()], np.int32)
    found = reach(configurations, vocabulary, origin, interrupt)
    found[:, 0] = fresh[found[:, 0]]
    reached = least_costs(
        costs,
        np.searchsorted(found[:, 0], np.arange(len(costs) + 1)).astype(np.int32),
        np.ascontiguousarray(found[:, 1]),
        *flat(configurations.items),
        *flat(configurations.edges),
        configurations.accepts[: configurations.count],
        INFINITE,
    )
    witness[fresh] = np.array(witnesses(found, reached, costs, vocabulary), np.int32)[fresh]


def reach(
    configurations: Configurations,
    vocabulary: Vocabulary,
    origin: NDArray[np.int32],
    interrupt: Interrupt,
    fuel: int | None = None,
) -> NDArray[np.int32]:
    """Rows (source, configuration one token away, a short string that leads there), sorted.

    A source's rows come from one walk that meets nothing unexpanded: they depend on its configuration alone. That
    is so without `fuel`. With so many configurations to expand at most, shorter tokens come first, and what is behind
    the rest of the longer ones is left out.
    """
    left = configurations.limit if fuel is None else fuel
    done: list[NDArray[np.int32]] = []
    sources = np.arange(len(origin), dtype=np.int32)
    while len(sources):
        _expand(configurations, origin[sources], interrupt)
        rows, missed = _walk(configurations, vocabulary, origin, _seeds(sources, origin))
        again = np.zeros(len(origin), np.bool_)
        again[missed[:, 0]] = left > 0
        done.append(rows[~again[rows[:, 0]]])
        while len(missed) and left > 0:
            left -= _expand(configurations, missed[:, 2], interrupt)
            _, missed = _walk(configurations, vocabulary, origin, missed)
        sources = np.flatnonzero(again).astype(np.int32)
    found = np.concatenate(done) if done else np.empty((0, 3), np.int32)
    return found[np.lexsort((found[:, 2], found[:, 1], found[:, 0]))]


def _seeds(sources: NDArray[np.int32], origin: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.stack([sources, np.zeros_like(sources), origin[sources]], axis=1)


def _expand(configurations: Configurations, numbers: NDArray[np.int32], interrupt: Interrupt) -> int:
    distinct = np.unique(numbers).tolist()
    for unknown in distinct:
        interrupt.check()
        configurations.expand(unknown)
    return len(distinct)


def _walk(
    configurations: Configurations, vocabulary: Vocabulary, origin: NDArray[np.int32], seeds: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """What `walk.distinct_reach` finds, and what it missed, which are seeds for another walk."""
    trie = vocabulary.trie
    columns = [np.ascontiguousarray(column) for column in seeds.T]
    room = 8 * len(origin) + 1024
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
            *columns,
            vocabulary.longest,
            found,
            missed,
        )
        if max(rows, misses) <= room:
            return found[:rows], missed[:misses]
        room = 2 * max(rows, misses)


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
