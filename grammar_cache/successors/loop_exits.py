"""Exits of the loops that configurations are in: what is known of their tokens without a walk."""

from __future__ import annotations

from grammar_cache.array_types import Ints
from grammar_cache.configurations.interner import Configurations
from grammar_cache.successors.self_loops import LoopExits, byte_weights, surroundings
from grammar_cache.vocabulary.vocabulary import Vocabulary


class KnownExits:
    """Loop exits of configurations of one grammar, by the state of their only item."""

    def __init__(self, configurations: Configurations, vocabulary: Vocabulary) -> None:
        self._configurations = configurations
        self._vocabulary = vocabulary
        self._weights = byte_weights(vocabulary)
        self._by_state: dict[int, LoopExits | None] = {}

    def around(self, configuration: int) -> tuple[LoopExits, Ints] | None:
        """Loop exits of a configuration's only item, if that is all there is, and the configurations of their
        places; None where a byte from one of these counts in what a token costs.
        """
        table, arena = self._configurations, self._configurations.arena
        first, past = arena.item_first[configuration : configuration + 2].tolist()
        if past != first + 1 or arena.accepts[configuration]:
            return None
        state, node = divmod(int(arena.items[first]), 1 << 32)
        if state not in self._by_state:
            self._by_state[state] = surroundings(table.rules, state, self._vocabulary, self._weights)
        known = self._by_state[state]
        if known is None:
            return None
        if known.moves + known.ending * table.pops(node, table.rules.dear) > table.rules.dear:
            return None
        return known, table.alone(known.states, node)
