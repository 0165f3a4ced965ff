"""Lower bounds on the tokens still needed: no completion takes fewer, whatever its tokens are.

Counted are the tokens that *begin* in the text of a rule, so that one that spans the end of a rule counts once. For
each state there are two of these counts: where a token ends together with the rule (*aligned*), and where the last one
goes on behind it (*across*). Behind one that goes on, the rule that follows begins in the middle of a token, which
saves that rule a token at most: counts are solved over all suffixes of tokens, as if they were tokens too. Then for any
configuration, ways through its stack are added up as in `additive`.

That is the least solution of a system like that of additive costs, over nearly the same walks (`reach`); so the costs
of rules are kept for the next grammar likewise. What walks leave out counts as if it saved a token.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.array_types import Ints
from grammar_cache.configurations.arena import CONFIGURATIONS, NODES
from grammar_cache.configurations.interner import Configurations
from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.lower_bound_kernels import ALIGNED, bounds_from, fewest_begun
from grammar_cache.distances.reach import Readings, reach
from grammar_cache.distances.solutions import STATES
from grammar_cache.errors import LimitExceeded
from grammar_cache.interrupt import Interrupt
from grammar_cache.network.rule_groups import parts
from grammar_cache.successors.token_kernels import TokenArrays
from grammar_cache.vocabulary.vocabulary import Vocabulary


class FewestCache(LruCache[bytes, Ints]):
    """Counts of one vocabulary by the key of a part: see `Vocabulary.cache`."""

    def __init__(self) -> None:
        super().__init__(STATES)


class LowerBounds:
    """Lower bounds of one grammar's configurations. Solved when they are first asked for."""

    def __init__(self, configurations: Configurations, vocabulary: Vocabulary, interrupt: Interrupt) -> None:
        self._configurations = configurations
        self._vocabulary = vocabulary
        self._interrupt = interrupt
        self._fewest: Ints | None = None
        self._nodes: Ints = np.empty((2, 0), np.int32)
        self._bounds: Ints = np.empty(0, np.int32)
        self._node_count = 0
        self._count = 0

    @property
    def held_bytes(self) -> int:
        """Bytes of the tables."""
        fewest = 0 if self._fewest is None else self._fewest.nbytes
        return fewest + self._nodes.nbytes + self._bounds.nbytes

    def of(self, configurations: Ints) -> Ints:
        """Bounds by configuration: 0 iff complete, INFINITE where nothing completes it. Raises Interrupted."""
        self._update()
        return self._bounds[configurations]

    def _update(self) -> None:
        """Extends the tables to all configurations interned so far."""
        if self._fewest is None:
            self._fewest = _fewest(self._configurations, self._vocabulary, self._interrupt)
        arena = self._configurations.arena
        count, node_count = int(arena.used[CONFIGURATIONS]), int(arena.used[NODES])
        if count == self._count and node_count == self._node_count:
            return
        if len(self._bounds) < count:
            self._bounds = _longer(self._bounds, len(arena.hashes))
        if self._nodes.shape[1] < node_count:
            self._nodes = _longer(self._nodes, len(arena.node_hashes))
        bounds_from(arena, self._fewest, self._nodes, self._node_count, self._bounds, self._count, INFINITE)
        self._count, self._node_count = count, node_count


def _fewest(configurations: Configurations, vocabulary: Vocabulary, interrupt: Interrupt) -> Ints:
    """Counts [aligned or across, state]: looked up, or solved and kept for the next grammar."""
    network = configurations.network
    cache = vocabulary.cache(FewestCache)
    fewest = np.full((2, network.states.count), INFINITE, np.int32)
    unknown = []
    for part in parts(network):
        known = cache.get(part.key)
        if known is None:
            unknown.append(part)
        else:
            fewest[:, part.states] = known
    if unknown:
        fresh = np.sort(np.concatenate([part.states for part in unknown]))
        fewest[ALIGNED, fresh[network.states.final[fresh]]] = 0
        try:
            found = reach(network, _readings(vocabulary), fresh, configurations.limit, interrupt)
        except LimitExceeded:  # what isn't walked tells nothing: a text that isn't complete needs a token
            return np.where(network.states.final, 0, 1) * np.ones((2, 1), np.int32)
        fewest_begun(fewest, fresh, found, INFINITE)
        for part in unknown:
            cache.keep(part.key, fewest[:, part.states], len(part.states))
    return fewest


def _readings(vocabulary: Vocabulary) -> Readings:
    """All suffixes of tokens, and no more of the arrays than walks look at."""
    suffixes = vocabulary.suffixes
    words = TokenArrays.of(vocabulary)
    trie = suffixes.trie
    words = words._replace(byte=trie.byte, depth=trie.depth, skip=trie.skip, string=trie.string)
    return Readings(words, suffixes.children, closed=True)


def _longer(bounds: Ints, size: int) -> Ints:
    longer = np.full((*bounds.shape[:-1], size), INFINITE, np.int32)
    longer[..., : bounds.shape[-1]] = bounds
    return longer
