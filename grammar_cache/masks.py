"""Which tokens may come next, as one bit each, without walking the whole vocabulary at every new configuration.

Most tokens stay inside the rule that an item is in, whatever lies below on the stack: what they are depends on the
item's state alone, and is walked once for all grammars with that rule. The others end that rule on their way and go on
below it; they begin with one of the `exits` of the state, and only there is the stack looked at, once for each
configuration that a rule may end in.

States of a rule mostly differ in few tokens: a key that may become a declared one differs from any other key in those
that spell it on. So a state is walked beside another one, and only where the two part.

This is for grammars without a lexer and for budgets that every such token fits; `bits` says where it can't tell. This
module knows tokens and distances, but no request.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.arena import DEAD, Ints
from grammar_cache.configuration import Configurations
from grammar_cache.distance import INFINITE, Distances
from grammar_cache.kept import Kept
from grammar_cache.levels import LEVELS, alike
from grammar_cache.mask_walks import agreement, below, inside
from grammar_cache.solved import Inside
from grammar_cache.token_bits import Bits, TokenBits, allowed, mask_bytes, union
from grammar_cache.vocabulary import Vocabulary
from grammar_cache.walk import Tokens

_REMEMBERED = 8
"""States of a rule that a new one is compared with."""


@dataclass(frozen=True, slots=True, eq=False)
class _Some:
    """Tokens behind which no more than `farthest` tokens are needed."""

    tokens: TokenBits
    farthest: int


@dataclass(frozen=True, slots=True, eq=False)
class _Mask:
    """The parts of a mask, which others share, and how many tokens are needed behind any of theirs at most."""

    parts: tuple[TokenBits, ...]
    farthest: int


class Masks:
    """Masks of visited configurations, and the parts that they are made of; the least recently used go first."""

    def __init__(
        self, configurations: Configurations, distances: Distances, vocabulary: Vocabulary, limit_bytes: int
    ) -> None:
        self._configurations = configurations
        self._distances = distances
        self._vocabulary = vocabulary
        self._words = Tokens.of(vocabulary)
        self._path = np.empty(vocabulary.longest + 1, np.int32)
        self._beside = np.empty(vocabulary.longest + 1, np.int32)
        self._class_weights = _class_weights(configurations, vocabulary)
        self._recent: dict[int, deque[tuple[int, int]]] = {}
        self._bytes = mask_bytes(vocabulary.size)
        self._nothing = Inside(TokenBits.of(np.zeros(self._bytes, np.uint8)), -1, np.empty(0, np.int32))
        self._stops = TokenBits.of(allowed(vocabulary.stop_ids, self._bytes))
        self._alike: dict[int, Ints] = {}
        self._below: Kept[tuple[int, int], _Some] = Kept(limit_bytes // 2)
        self._masks: Kept[int, _Mask] = Kept(limit_bytes // 2)

    def bits(self, configuration: int, tokens: int) -> Bits | None:
        """One bit a token, little-endian, in multiples of 32; None if some token may need more than `tokens` behind it.

        Read-only. Stop ids are set iff the text is complete.
        """
        mask = self._masks.get(configuration)
        if mask is None:
            mask = self._made(configuration)
            self._masks.keep(configuration, mask, 200 + 100 * len(mask.parts))
        return union(mask.parts, self._bytes) if mask.farthest <= tokens else None

    def _made(self, configuration: int) -> _Mask:
        parts: list[TokenBits] = []
        farthest = 0
        self._distances.update()
        for state, node in self._configurations.items(configuration):
            known = self._inside(state)
            parts.append(known.tokens)
            if known.farthest >= 0:
                farthest = max(farthest, known.farthest + self._distances.node_cost(node))
            if len(known.exits):
                under = self._under(state, known.exits, self._configurations.popped(node))
                parts.append(under.tokens)
                farthest = max(farthest, under.farthest)
        if self._configurations.accepts(configuration):
            parts.append(self._stops)
        return _Mask(tuple(parts), farthest)

    def _inside(self, state: int) -> Inside:
        place = self._distances.place(state)
        known = self._vocabulary.solved.insides.get(place)
        if known is None:
            known = self._walked_inside(state)
            self._vocabulary.solved.insides.keep(place, known, known.size_bytes)
        return known

    def _under(self, state: int, exits: Ints, after: int) -> _Some:
        known = self._below.get((state, after))
        if known is None:
            known = self._walked_below(exits, after)
            self._below.keep((state, after), known, _size(known))
        return known

    def _walked_inside(self, state: int) -> Inside:
        """Walks the tokens, but for those that go on as they do from a state that was walked before."""
        like, origin = self._nearest(state)
        table, costs = self._configurations, self._distances.state_costs
        first, kinds = self._alike_in(state)
        bits = like.tokens.copy()
        exits = np.empty(self._vocabulary.trie.size, np.int32)
        reached = np.zeros(0, np.bool_)
        self._path[0], self._beside[0] = table.at(state), origin
        place, exit_count, kept, dearer = 1, 0, 0, 0
        while place < len(self._words.byte):
            reached = self._longer(reached)
            place, exit_count, kept, dearer, status = inside(
                table.rules, table.store, self._words, self._vocabulary.deepest, kinds, first, LEVELS, costs,
                self._path, self._beside, place, bits, reached, exits, exit_count, like.exits, kept, dearer,
            )  # fmt: skip
            if status < 0:
                table.outcome(status)
        farthest = like.farthest + dearer if like.farthest >= 0 else -1
        same = origin != DEAD and np.array_equal(bits, like.tokens.whole())
        tokens = like.tokens if same else TokenBits.of(bits)
        return Inside(tokens, self._farthest(reached, farthest), exits[:exit_count].copy())

    def _walked_below(self, exits: Ints, after: int) -> _Some:
        table = self._configurations
        bits = np.zeros(self._bytes, np.uint8)
        reached = np.zeros(0, np.bool_)
        done = place = 0
        while done < len(exits):
            reached = self._longer(reached)
            done, place, status = below(
                table.rules, table.store, self._words, self._path, exits, after, done, place, bits, reached
            )
            if status < 0:
                table.outcome(status)
        return _Some(TokenBits.of(bits), self._farthest(reached, 0))

    def _longer(self, reached: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """For each configuration that the store has room for."""
        return np.concatenate([reached, np.zeros(len(self._configurations.store.accepts) - len(reached), np.bool_)])

    def _farthest(self, reached: NDArray[np.bool_], least: int) -> int:
        self._distances.update()
        return int(self._distances.additive[: len(reached)][reached].max(initial=least))

    def _nearest(self, state: int) -> tuple[Inside, int]:
        """Of the states of the rule that were walked lately, the one that goes on as this one with most tokens.

        What is inside of it, and its configuration; nothing, and DEAD, if most tokens lead nowhere.
        """
        table, weights = self._configurations, self._class_weights
        recent = self._recent.setdefault(int(table.network.states.rule[state]), deque(maxlen=_REMEMBERED))
        origin = table.at(state)
        row = table.row(origin)
        most, chosen = int(weights[row == DEAD].sum()), (DEAD, -1)
        if 2 * most < weights.sum():
            first, kinds = self._alike_in(state)
            for other, like in recent:
                agreeing = agreement(table.store, kinds, first, row, table.row(other), weights)
                if agreeing > most:
                    most, chosen = agreeing, (other, like)
            recent.append((origin, state))
        other, like = chosen
        known = self._vocabulary.solved.insides.get(self._distances.place(like)) if other != DEAD else None
        return (self._nothing, DEAD) if known is None else (known, other)

    def _alike_in(self, state: int) -> tuple[int, Ints]:
        """The first state of its rule, and what is alike in it."""
        network = self._configurations.network
        rule = int(network.states.rule[state])
        known = self._alike.get(rule)
        if known is None:
            bounds = (*network.entry, network.states.count)
            costs = self._distances.state_costs
            known = alike(self._configurations.rules, costs, INFINITE, bounds[rule], bounds[rule + 1], LEVELS)
            self._alike[rule] = known
        return network.entry[rule], known


def _class_weights(configurations: Configurations, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """By byte class, how much of the trie begins with it."""
    first = vocabulary.children.node[: vocabulary.children.first[1]]
    network, trie = configurations.network, vocabulary.trie
    weights = np.zeros(network.class_count, np.int64)
    np.add.at(weights, network.classes[trie.byte[first]], trie.skip[first] - first)
    return weights


def _size(some: _Some) -> int:
    return some.tokens.size_bytes + 200
