"""Lower bounds on the tokens still needed: no completion takes fewer, whatever its tokens are.

Counted are the tokens that *begin* in what is left of a rule's text, so that one that spans the end of a rule counts
once. Each state has four such counts: its text begins with a token or inside of one, which is then read by a suffix of
any token; and the last token ends together with the rule or goes on behind it. For any configuration, the ways through
its stack are added up as in `additive`.

Counts are the least solution of a system like that of additive costs, over walks like those (`reach`), and are kept for
the next grammar likewise. Where walks leave tokens out, what these read behind a known place counts as the inside of a
token there: not in states that read few bytes, as those of dates. So no completion takes fewer, and mostly one takes no
more.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.configurations.arena import CONFIGURATIONS, NODES
from grammar_cache.configurations.interner import Configurations
from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.lower_bound_kernels import ALIGNED, INSIDE, WAYS, bounds_from, fewest_begun
from grammar_cache.distances.reach import Readings, reach
from grammar_cache.distances.solutions import STATES
from grammar_cache.errors import LimitExceeded
from grammar_cache.interrupt import Interrupt
from grammar_cache.loops.array_types import Ints
from grammar_cache.network.network import Network
from grammar_cache.network.rule_groups import parts
from grammar_cache.successors.token_kernels import TokenArrays
from grammar_cache.vocabulary.vocabulary import Vocabulary

STATE_PRICE = 100
"""Fuel that takes a part of the time in which the counts of a state are solved."""

FEW_STATES = 2_000
"""States whose counts are solved within a step where they have to be: in less than 10 ms."""

_MOST_CALLS = 2_000
"""Calls in the states of a group of rules, above which its counts aren't solved: those of rows that count characters
lead on by thousands of tokens each, and take a tenth of a millisecond a state."""


class FewestCache(LruCache[bytes, Ints]):
    """Counts of one vocabulary by the key of a group of rules: see `Vocabulary.cache`."""

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

    def of_none(self, configurations: Ints) -> Ints:
        """Bounds that need no solving: a text that isn't complete needs a token."""
        return (~self._configurations.arena.accepts[configurations]).astype(np.int32)

    def of_cheap(self, configurations: Ints) -> Ints:
        """Bounds by configuration, solved in grammars of few states only."""
        few = self._configurations.network.states.count <= FEW_STATES
        return self.of(configurations) if few else self.of_none(configurations)

    @property
    def solved(self) -> bool:
        """Whether a bound was asked for, so that others cost little."""
        return self._fewest is not None

    @property
    def price(self) -> int:
        """Fuel that a search may take before it is worth while to solve bounds: it grows with the grammar."""
        return STATE_PRICE * self._configurations.network.states.count

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
        bounds_from(
            self._configurations.arena_block,
            self._fewest,
            self._nodes,
            self._node_count,
            self._bounds,
            self._count,
            INFINITE,
        )
        self._count, self._node_count = count, node_count


def _fewest(configurations: Configurations, vocabulary: Vocabulary, interrupt: Interrupt) -> Ints:
    """Counts [way, state]: looked up, or solved and kept for the next grammar."""
    network = configurations.network
    cache = vocabulary.cache(FewestCache)
    fewest = np.full((WAYS, network.states.count), INFINITE, np.int32)
    calls = np.diff(network.states.call_first)
    unknown = []
    for part in parts(network):
        known = _trivial(network, part.states) if calls[part.states].sum() > _MOST_CALLS else cache.get(part.key)
        if known is None:
            unknown.append(part)
        else:
            fewest[:, part.states] = known
    if unknown:
        fresh = np.sort(np.concatenate([part.states for part in unknown]))
        ended = fresh[network.states.final[fresh]]
        fewest[ALIGNED, ended] = fewest[INSIDE + 1, ended] = 0
        try:
            found = reach(network, _readings(vocabulary), fresh, configurations.limit, interrupt)
        except LimitExceeded:  # what isn't walked tells nothing: a text that isn't complete needs a token
            return _trivial(network, np.arange(network.states.count, dtype=np.int32))
        fewest_begun(fewest, fresh, found, INFINITE)
        for part in unknown:
            cache.keep(part.key, fewest[:, part.states], len(part.states))
    return fewest


def _trivial(network: Network, states: Ints) -> Ints:
    """Counts of some states that hold without a look at any token."""
    fewest = np.zeros((WAYS, len(states)), np.int32)
    fewest[:INSIDE] = ~network.states.final[states]
    return fewest


def _readings(vocabulary: Vocabulary) -> Readings:
    """All suffixes of tokens, and no more of the arrays than walks look at."""
    suffixes = vocabulary.suffixes
    trie = suffixes.trie
    words = TokenArrays.of(vocabulary)._replace(byte=trie.byte, depth=trie.depth, skip=trie.skip, string=trie.string)
    return Readings(words, suffixes.children, True, suffixes.whole, suffixes.within)


def _longer(bounds: Ints, size: int) -> Ints:
    longer = np.full((*bounds.shape[:-1], size), INFINITE, np.int32)
    longer[..., : bounds.shape[-1]] = bounds
    return longer
