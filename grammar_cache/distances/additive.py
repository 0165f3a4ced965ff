"""Additive bound on the tokens still needed: an upper bound for every configuration, and the token that lowers it.

c(s), the fewest tokens from state s to the end of its rule, is solved over the real vocabulary, once for all grammars
that share the rule (Knuth, "A generalization of Dijkstra's algorithm", 1977). Then for any configuration

    D(node) = least c(return) + D(parent),    d(configuration) = least c(s) + D(node),

which is consistent: whoever follows the witness token of the least item is at least one token nearer. It is *additive*:
a token that spans the end of a rule counts as one there and one behind it, so d can lie above the true distance; see
`exact_search`. This module knows tokens, but no request and no budget.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.arena import CROWDED, DEAD
from grammar_cache.configurations.interner import Configurations, Item
from grammar_cache.distances.cost_kernels import (
    COSTS,
    Costs,
    KnownWays,
    extend,
    follow_least,
    least_costs,
    least_string,
    least_strings,
)
from grammar_cache.distances.reach import Readings, reach
from grammar_cache.distances.solutions import Solution, SolutionCache
from grammar_cache.errors import AnswerTooLong, EmptyLanguage, GrammarError
from grammar_cache.interrupt import Interrupt
from grammar_cache.loops.array_types import Ints
from grammar_cache.loops.blocks import Block
from grammar_cache.network.network import Network
from grammar_cache.network.rule_groups import Part, parts
from grammar_cache.successors.token_kernels import PackedWords, TokenArrays
from grammar_cache.vocabulary.vocabulary import Vocabulary

INFINITE = 1 << 29
"""No completion is known. Two of them added still fit an int32."""
_FOLLOWED = 1 << 14
"""Tokens that are followed at once."""
_NONE = np.empty(0, np.int32)


class Distances:
    """Additive distances of the configurations of one grammar, and what they are made of."""

    def __init__(
        self, configurations: Configurations, vocabulary: Vocabulary, interrupt: Interrupt, most: int = INFINITE
    ) -> None:
        """Costs of states above `most` count as that. Raises LimitExceeded(configurations), Interrupted."""
        self._configurations = configurations
        self._words = vocabulary.cache(PackedWords).of(vocabulary)
        self._parts = parts(configurations.network)
        self._rule_of = configurations.network.states.rule
        self._places: tuple[list[bytes], list[int]] | None = None  # by rule: key of its part, shift to places in it
        self._states, self._witness = _solved(
            configurations.network, self._parts, configurations.limit, vocabulary, interrupt, most
        )
        self._costs = COSTS.packed(Costs(self._states, _NONE, _NONE, np.zeros(2, np.int64)))
        self.update()

    def update(self) -> None:
        """Extends the tables to all configurations interned so far."""
        while not extend(self._configurations.arena_block, self._costs.block, INFINITE):
            arena, costs = self._configurations.arena, self._costs.values
            nodes = _longer(costs.nodes, len(arena.node_hashes))
            self._costs.replace(
                costs._replace(nodes=nodes, configurations=_longer(costs.configurations, len(arena.hashes)))
            )

    @property
    def additive(self) -> Ints:
        """Additive distances by configuration, up to the last `update`; INFINITE where none is known."""
        return self._costs.values.configurations

    @property
    def block(self) -> Block:
        """The tables, for compiled loops: see `Costs`."""
        return self._costs.block

    @property
    def held_bytes(self) -> int:
        """Bytes of the tables."""
        return self._witness.nbytes + sum(table.nbytes for table in self._costs.values)

    @property
    def state_costs(self) -> NDArray[np.int32]:
        """The fewest tokens from each state to the end of its rule."""
        return self._states

    def place(self, state: int) -> tuple[bytes, int]:
        """The part that a state is in, by its key, and which of the part's states it is: the same in every grammar."""
        if self._places is None:
            part, place = np.empty(len(self._states), np.int32), np.empty(len(self._states), np.int32)
            sizes = [len(one.states) for one in self._parts]
            states, ends = np.concatenate([one.states for one in self._parts]), np.cumsum(sizes)
            part[states] = np.repeat(np.arange(len(sizes)), sizes)
            place[states] = np.arange(len(states)) - np.repeat(ends - sizes, sizes)
            entries = np.array(self._configurations.network.entry)  # the states of a rule stand together everywhere
            keys = [self._parts[one].key for one in part[entries].tolist()]
            self._places = keys, (place[entries] - entries).tolist()
        keys, shift = self._places
        rule = self._rule_of.item(state)
        return keys[rule], state + shift[rule]

    def node_cost(self, node: int) -> int:
        """The fewest tokens from the end of a rule whose node it is to the end of the text, as of the last update."""
        return int(self._costs.values.nodes[node])

    def witness(self, configuration: int) -> int:
        """The string whose consumption lowers d, given 0 < d < INFINITE. The least one where several items tie.

        An item at the end of its rule ties with what it returns to, which is an item too, and has no string itself.
        """
        arena, d = self._configurations.arena, int(self.additive[configuration])
        first, past = arena.item_first[configuration : configuration + 2]
        return int(least_string(arena.items[first:past], self._states, self._costs.values.nodes, self._witness, d))

    def follow(self, configuration: int, left: int, ways: KnownWays) -> tuple[list[int], int]:
        """Tokens of the witnesses from a configuration on, or of the `ways` where d is more than what is `left`, and
        where they lead: d is 0 there, nothing fits, or a limit stands against the next one. Raises Interrupted.
        """
        table, found = self._configurations, list[int]()
        while True:
            self.update()
            into = np.empty(min(self.additive[configuration], left - len(found), _FOLLOWED), np.int32)
            done, configuration, status = follow_least(
                *table.blocks, self._words.block, self._costs.block, self._witness, INFINITE, configuration,
                left - len(found), ways, into,
            )  # fmt: skip
            found += into[:done].tolist()
            if status in (0, DEAD, CROWDED):
                return found, configuration
            table.outcome(status)

    def least_items(self, configuration: int) -> list[Item]:
        """Items whose distance is that of the configuration."""
        d, nodes = self.additive[configuration], self._costs.values.nodes
        return [(s, n) for s, n in self._configurations.items(configuration) if self._states[s] + nodes[n] == d]

    def proposals(self, configuration: int) -> list[int]:
        """The witness string of every way to go on from here, ascending."""
        found = {int(self._witness[s]) for s, _ in self._configurations.expansion(configuration)}
        found.discard(-1)
        return sorted(found)


def _solved(
    network: Network, network_parts: list[Part], limit: int, vocabulary: Vocabulary, interrupt: Interrupt, most: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The cost and the witness of every state: looked up, or solved and kept for the next grammar.

    Where costs count as `most`, nothing is looked up or kept.
    """
    costs = np.full(network.states.count, INFINITE, np.int32)
    witness = np.full(network.states.count, -1, np.int32)
    unknown: list[Part] = []
    cache = vocabulary.cache(SolutionCache)
    for part in network_parts:
        known = cache.get(part.key) if most == INFINITE else None
        if known is None:
            unknown.append(part)
        else:
            costs[part.states], witness[part.states] = known.costs, known.witness
    if unknown:
        fresh = np.sort(np.concatenate([part.states for part in unknown]))
        costs[fresh] = np.where(network.states.final[fresh], 0, INFINITE)
        words = TokenArrays.of(vocabulary)
        found = reach(network, Readings(words, vocabulary.children), fresh, limit, interrupt)
        walks, order = least_costs(costs, fresh, found, INFINITE, most)
        strings = least_strings(costs, walks, order, found, words.lengths)[: len(fresh)]
        witness[fresh] = np.where(costs[fresh] > 0, strings, -1)
        for part in unknown if most == INFINITE else ():
            solution = Solution(costs[part.states], witness[part.states])
            cache.keep(part.key, solution, len(part.states))
    return costs, witness


def _longer(costs: Ints, size: int) -> Ints:
    if size <= len(costs):
        return costs
    longer = np.full(size, INFINITE, np.int32)
    longer[: len(costs)] = costs
    return longer


def nothing_found(configurations: Configurations, vocabulary: Vocabulary, interrupt: Interrupt) -> GrammarError:
    """Error that says why no text is known: the costs of those that are only too long are as good as infinite.

    Raises LimitExceeded(configurations), Interrupted.
    """
    most = INFINITE - 1
    if Distances(configurations, vocabulary, interrupt, most).additive[configurations.start] <= most:
        return AnswerTooLong(most)
    return EmptyLanguage("no text of this grammar is found that the model's vocabulary can spell")
