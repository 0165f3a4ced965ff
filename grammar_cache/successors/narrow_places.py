"""Narrow places: configurations whose tokens take too much to look at, of which those of one byte are known instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from grammar_cache.configurations.interner import DEAD
from grammar_cache.loops.array_types import Ints
from grammar_cache.successors.successors import Successors
from grammar_cache.vocabulary.vocabulary import Vocabulary

Consume: TypeAlias = Callable[[Ints, Ints], Ints]
"""Function to the configuration behind each token, DEAD where none is: int32[rows, k] from int32[rows], int32[rows, k].
"""


class NarrowPlaces:
    """Narrow configurations of one grammar, and their successors. None is forgotten: masks have to agree with them."""

    def __init__(self, vocabulary: Vocabulary, fuel: int) -> None:
        """`fuel`: what looking at all tokens of a configuration may cost, else it is narrow."""
        self._vocabulary = vocabulary
        self._fuel = fuel
        self._known: dict[int, Successors] = {}
        self.held_bytes = 0

    def __contains__(self, configuration: int) -> bool:
        return configuration in self._known

    def successors(self, configuration: int, consume: Consume) -> Successors:
        """The distinct configurations one byte away."""
        known = self._known.get(configuration)
        if known is None:
            after, strings = self._behind_bytes(configuration, consume)
            reached, first = np.unique(after, return_index=True)
            order = np.argsort(strings[first])
            known = Successors(reached[order], strings[first][order], self._fuel, whole=False)
            self._known[configuration] = known
            self.held_bytes += known.size_bytes
        return known

    def tokens_into(self, configuration: int, targets: Ints, consume: Consume) -> list[int]:
        """Ids of the tokens of one byte that lead from a configuration to any of some others."""
        after, strings = self._behind_bytes(configuration, consume)
        offsets, ids = self._vocabulary.token_offsets, self._vocabulary.token_list
        into = strings[np.isin(after, targets)].tolist()
        return [token for string in into for token in ids[offsets[string] : offsets[string + 1]].tolist()]

    def _behind_bytes(self, configuration: int, consume: Consume) -> tuple[Ints, Ints]:
        """The configurations behind the strings of one byte that may follow, and these strings, ascending."""
        ids = self._vocabulary.single_bytes
        after = consume(np.array([configuration], np.int32), ids[None, :])[0]
        return after[after != DEAD], self._vocabulary.string_of[ids[after != DEAD]]
