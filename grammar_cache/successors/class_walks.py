"""Walks by classes of bytes: what tokens do where the states of a configuration tell few bytes apart.

So it is inside of texts of bounded length, and of patterns. Tokens are walked byte by byte from where their walk comes
by other states, such as those behind the end of the text.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.configurations.interner import Configurations
from grammar_cache.loops.array_types import Flags, Ints
from grammar_cache.successors.class_walk_kernels import (
    COST,
    DEAR,
    DISTINCT,
    PARTED,
    reached_by_class,
    wide_sources,
)
from grammar_cache.successors.distinct_kernels import NO_FUEL
from grammar_cache.successors.part_kernels import WIDE
from grammar_cache.successors.remaining_walks import NOTHING, Around
from grammar_cache.successors.rule_classes import RuleClasses
from grammar_cache.successors.scratch import Scratch
from grammar_cache.successors.token_kernels import TokenArrays
from grammar_cache.vocabulary.vocabulary import Vocabulary

_WALK_COST, _PARTED_COST = 10_000, 200
"""Fuel for a walk by itself, and for each node from which bytes are walked."""
_FEW = 16
"""Part of the vocabulary, below which the tokens that lead on are walked byte by byte."""


class ClassWalks:
    """Walks by classes of bytes from the configurations of one grammar."""

    def __init__(
        self, configurations: Configurations, vocabulary: Vocabulary, classes: RuleClasses, scratch: Scratch
    ) -> None:
        network = configurations.network
        self._configurations = configurations
        self._vocabulary = vocabulary
        self._scratch = scratch
        self._words = TokenArrays.of(vocabulary)
        self._path = np.empty(vocabulary.longest + 1, np.int32)
        self._classes = classes
        self._sizes = np.bincount(network.classes, minlength=network.class_count)
        self._weights = np.bincount(network.classes, vocabulary.byte_weights, network.class_count)

    def wide(self, configurations: Ints) -> Flags:
        """Flags of those all of whose states are wide: few tokens go on from others, and are walked byte by byte."""
        found = np.empty(len(configurations), np.bool_)
        wide_sources(self._configurations.arena_block, self._classes.part_of, configurations, found)
        return found

    def around(self, configuration: int, fuel: int) -> Around | None:
        """Finds what tokens from a wide configuration do, at a cost above the fuel where that doesn't last.

        None where classes would save little, and where reading a byte counts in what a token costs.
        """
        table = self._configurations
        first, past = table.arena.item_first[configuration : configuration + 2].tolist()
        wide = self._classes.around([item >> 32 for item in table.arena.items[first:past].tolist()])
        if wide is None:
            return None
        alive = table.row(configuration) >= 0
        if self._sizes[alive].sum() < WIDE or self._weights[alive].sum() * _FEW < self._vocabulary.trie.size:
            return None
        trie, scratch = wide.by_class.trie, self._scratch
        words = self._words._replace(byte=trie.byte, depth=trie.depth, skip=trie.skip, string=wide.by_class.string_of)
        within = self._classes.within(wide)
        progress, parted, status = np.zeros(COST + 1, np.int64), np.empty((2, trie.size), np.int32), -1
        progress[COST] = _WALK_COST
        self._path[0] = configuration
        try:
            while status < 0:
                scratch.make_room(len(table.arena.accepts))
                status = reached_by_class(
                    *table.blocks, words, within, self._path, scratch.shortest, scratch.found,
                    scratch.walked, scratch.serial, parted, fuel, progress,
                )  # fmt: skip
                if status < 0:
                    table.outcome(status)
            ends = scratch.found[: progress[DISTINCT]].copy()
            shortest = scratch.shortest[ends]
        finally:
            scratch.serial += 1
            scratch.shortest[scratch.found[: progress[DISTINCT]]] = -1
        cost = int(progress[COST] + _PARTED_COST * progress[PARTED])
        if status == DEAR:
            return None
        if status == NO_FUEL:
            return Around(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, cost)
        nodes, before = wide.by_class.listed(*parted[:, : progress[PARTED]])
        return Around(nodes + 1, self._words.skip[nodes], before, ends, shortest, cost)
