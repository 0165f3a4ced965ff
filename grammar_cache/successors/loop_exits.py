"""Exits of the loops that configurations are in: what is known of their tokens without a walk."""

from __future__ import annotations

from grammar_cache.configurations.interner import Configurations
from grammar_cache.loops.array_types import Ints
from grammar_cache.successors.self_loops import Like, LoopExits, surroundings
from grammar_cache.vocabulary.vocabulary import Vocabulary

_ENTRY_BYTES = 100
"""Bytes of a state's place in a dictionary, about."""


class KnownExits:
    """Loop exits of configurations of one grammar, by the state of their only item."""

    def __init__(self, configurations: Configurations, vocabulary: Vocabulary) -> None:
        self._configurations = configurations
        self._vocabulary = vocabulary
        self._by_state: dict[int, LoopExits | None] = {}
        self._likes: dict[int, Like] = {}
        self.held_bytes = 0
        """Bytes of what is known, but for arrays that grammars share."""

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
            self._look_around(state)
        known = self._by_state[state]
        if known is None:
            return None
        dear = table.rules.dear
        if 2 + (table.pops(node, dear) if known.ending else 0) > dear:  # an item here, one behind the byte
            return None
        return known, table.alone(known.states, node)

    def _look_around(self, state: int) -> None:
        likes = len(self._likes)
        known = surroundings(self._configurations.network_block, state, self._vocabulary, self._likes)
        self._by_state[state] = known
        self.held_bytes += _ENTRY_BYTES + (0 if known is None else known.own_bytes)
        if len(self._likes) > likes:
            self.held_bytes += next(reversed(self._likes.values())).size_bytes
