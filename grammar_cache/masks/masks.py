"""Masks of the next tokens, one bit each, without walking the whole vocabulary at every new configuration.

Most tokens stay inside the rule that an item is in, whatever lies below on the stack: what they are depends on the
item's state alone, and is walked once for all grammars with that rule. The others end that rule on their way and go on
below it; they begin with one of the `exits` of the state, and only there is the stack looked at, once for each
configuration that a rule may end in.

States of a rule mostly differ in few tokens: a key that may become a declared one differs from any other key in those
that spell it on. So a state is walked beside another one, and only where the two part.

This is for budgets that every such token fits; `of` says where it can't tell. This module knows tokens and
distances, but no request.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.array_types import Ints
from grammar_cache.configurations.arena import DEAD, WIDE
from grammar_cache.configurations.interner import ROOT, Configurations
from grammar_cache.distances.additive import INFINITE, Distances
from grammar_cache.masks.below_kernels import COST, EXIT, OUTERMOST, PLACE, below, room_below
from grammar_cache.masks.few_tokens import MANY, FewFound, Spellings, few, few_words
from grammar_cache.masks.insides import Inside, InsideCache, InsideKey, KindsCache
from grammar_cache.masks.mask import Mask
from grammar_cache.masks.mask_kernels import (
    DEARER,
    EXITS,
    NUMBER,
    WIDEST,
    InsideFound,
    InsideWalk,
    Likeness,
    inside,
    largest,
    nearest,
    outlook,
)
from grammar_cache.masks.shared_sets import SharedSets
from grammar_cache.masks.state_equivalence import LEVELS, alike
from grammar_cache.successors.self_loops import Loop, region, wide_loop_at
from grammar_cache.successors.token_kernels import TokenArrays
from grammar_cache.vocabulary.token_set import TokenBits, mask_bytes
from grammar_cache.vocabulary.vocabulary import Vocabulary

_NARROW = 16
"""Part of the vocabulary, below which tokens that lead on are walked whatever other states read."""
_REMEMBERED = 8
"""States of a rule that a new one is compared with."""
_NONE = np.empty(0, np.int32)
_NO_KINDS = np.zeros((len(LEVELS), 0), np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class _Some:
    """Tokens behind which no more than `farthest` tokens are needed. A byte of theirs costs `widest` at most."""

    tokens: TokenBits
    farthest: int
    widest: int


class Masks:
    """Masks of visited configurations, and the parts that they are made of; the least recently used go first."""

    def __init__(
        self, configurations: Configurations, distances: Distances, vocabulary: Vocabulary, limit_bytes: int
    ) -> None:
        self._configurations = configurations
        self._distances = distances
        self._vocabulary = vocabulary
        self._words = TokenArrays.of(vocabulary)
        self._spellings = Spellings.of(vocabulary)
        self._found = FewFound.room(vocabulary.longest)
        self._path = np.empty(vocabulary.longest + 1, np.int32)
        self._beside = np.empty(vocabulary.longest + 1, np.int32)
        self._insides = vocabulary.cache(InsideCache)
        self._kinds = vocabulary.cache(KindsCache)
        self._sets = vocabulary.cache(SharedSets)
        self._weight = vocabulary.trie.size - 1
        weights = np.bincount(configurations.network.classes, vocabulary.byte_weights)
        self._class_weights = weights.astype(np.int64)
        self._recent: dict[int, deque[tuple[int, int]]] = {}
        self._bytes = mask_bytes(vocabulary.size)
        self._nothing = Inside(TokenBits.of_tokens(_NONE, self._bytes), -1, _NONE)
        self._dear = Mask((), self._bytes, INFINITE)
        self._stop_ids = np.array(vocabulary.stop_ids, np.int32)
        self._stops = TokenBits.of_tokens(self._stop_ids, self._bytes)
        self._wide: set[int] = set()
        self._below: LruCache[tuple[int, int], _Some] = LruCache(limit_bytes // 2)
        self._masks: LruCache[int, Mask] = LruCache(limit_bytes // 2)

    @property
    def held_bytes(self) -> int:
        """Bytes of masks and of their parts, but for those that grammars share."""
        return self._below.size + self._masks.size

    def known(self, configuration: int, tokens: int) -> Mask | None:
        """Mask that `of` would return, if it is there."""
        mask = self._masks.get(configuration)
        return mask if mask is not None and mask.parts and mask.farthest <= tokens else None

    def of(self, configuration: int, tokens: int) -> Mask | None:
        """Mask of a configuration; None if some token may need more than `tokens` behind it, or if reading it from all
        items together might cost too much, so that tokens have to be followed. Stop ids are in it iff the text is
        complete.
        """
        mask = self._masks.get(configuration)
        if mask is None or (not mask.parts and mask.farthest <= tokens):
            mask = self._made(configuration, tokens)
            self._masks.keep(configuration, mask, mask.size_bytes)
        return mask if mask.parts and mask.farthest <= tokens else None

    def _made(self, configuration: int, tokens: int) -> Mask:
        """Mask of a configuration, without parts where a byte may be dear, read from all items together, or where some
        token is seen to need more than `tokens` behind it. What reading a byte costs from all items is no more than
        from each by itself, and what rules that end lead to.
        """
        parts: list[TokenBits] = []
        table, farthest = self._configurations, 0
        dear = table.rules.dear
        items = table.items(configuration)
        if len(items) > dear:  # each costs one at least
            return self._dear
        first = items[0][0] if items else -1
        found = None if first in self._wide else self._few(configuration)
        if found is not None:
            return found
        self._wide.add(first)
        self._distances.update()
        least = [self._least(state) for state, _ in items]
        widest = sum(least)
        for (state, node), own in zip(items, least, strict=True):
            if widest > dear:
                return self._dear
            if farthest > tokens:
                return Mask((), self._bytes, farthest)
            known = self._inside(state)
            parts.append(known.tokens)
            widest += known.widest - own
            if known.farthest >= 0:
                farthest = max(farthest, known.farthest + self._distances.node_cost(node))
            if len(known.exits) and widest <= dear:
                after, pops = table.popped(node)
                under = self._under(state, known.exits, after)
                widest += under.widest + pops
                parts.append(under.tokens)
                farthest = max(farthest, under.farthest)
        if widest > dear:
            return self._dear
        if table.accepts(configuration):
            parts.append(self._stops)
        return Mask(tuple(parts), self._bytes, farthest).readily(self._sets)

    def _few(self, configuration: int) -> Mask | None:
        """Mask of a configuration by its tokens, one by one; None if there are many."""
        table, found, heavy = self._configurations, self._found, self._weight // 2
        while True:
            count = few(table.rules, table.arena, self._class_weights, heavy, self._spellings, configuration, found)
            if count >= 0:
                break
            if count == MANY:
                return None
            if count == WIDE:
                return self._dear
            table.outcome(count)
        self._distances.update()
        stops = self._stop_ids if table.accepts(configuration) else _NONE
        places, words, farthest = few_words(found, count, stops, self._distances.additive)
        own = TokenBits(words, places, self._bytes // 4)
        return Mask((own,), self._bytes, farthest, own_bytes=own.size_bytes)

    def _inside(self, state: int) -> Inside:
        known = self._known_inside(state)
        if known is None:
            known = self._walked_inside(state)
            self._insides.keep(self._key(state), known, known.size_bytes)
        return known

    def _known_inside(self, state: int) -> Inside | None:
        return self._insides.get(self._key(state))

    def _key(self, state: int) -> InsideKey:
        return (*self._distances.place(state), self._configurations.rules.dear)

    def _least(self, state: int) -> int:
        """No more than what reading a byte of a token inside of a state's rule costs at most."""
        known = self._known_inside(state)
        return self._configurations.cost(self._outlook(state)[0]) if known is None else known.widest

    def _under(self, state: int, exits: Ints, after: int) -> _Some:
        known = self._below.get((state, after))
        if known is None:
            known = self._walked_below(exits, after)
            self._below.keep((state, after), known, known.tokens.size_bytes + 200)
        return known

    def _walked_inside(self, state: int) -> Inside:
        """Walks the tokens, but for those that stay in a loop, or go on as they do from a state walked before."""
        table, words = self._configurations, self._words
        origin, alive = self._outlook(state)
        whole = np.array([[1], [len(words.byte)], [origin]], np.int32)
        if _NARROW * alive < self._weight:  # walked as quickly as others are compared
            self._beside[0] = DEAD
            return self._walked(self._nothing, 0, _NO_KINDS, *whole)
        first, kinds = self._alike_in(state)
        loop = self._loop(state)
        if loop is not None:
            found = region(loop, self._vocabulary)
            self._beside[:] = DEAD
            before = np.array([table.at(one) for one in loop.states.tolist()], np.int32)[found.leaving]
            like = Inside(
                found.tokens,
                self._dearest(loop.states[(found.shortest >= 0).any(axis=0)]),
                np.empty(0, np.int32),
                max(table.cost(table.at(one)) for one in loop.states.tolist()),
            )
            return self._walked(like, first, kinds, found.exits, words.skip[found.exits], before)
        like, self._beside[0] = self._nearest(state, origin, self._weight - alive, first, kinds)
        return self._walked(like, first, kinds, *whole)

    def _outlook(self, state: int) -> tuple[int, int]:
        """The configuration of a state by itself, and how much of the vocabulary begins with bytes that lead on."""
        table = self._configurations
        while True:
            origin, alive = outlook(table.rules, table.arena, state, self._class_weights)
            if origin >= 0:
                return int(origin), int(alive)
            table.outcome(origin)

    def _walked(self, like: Inside, first: int, kinds: Ints, begin: Ints, past: Ints, before: Ints) -> Inside:
        """Walks the nodes from each `begin` to before `past`; what is known of all others is `like`.

        `kinds` of the rule's states, from `first` on, say which read short texts alike.
        """
        table, likeness = self._configurations, self._likeness(first, kinds)
        walk = InsideWalk(begin, past, before, self._path, self._beside)
        bits, reached = like.tokens.copy(), np.zeros(0, np.bool_)
        exits = np.empty(self._vocabulary.trie.size, np.int32)
        progress = np.zeros(WIDEST + 1, np.int64)
        progress[WIDEST] = like.widest
        while progress[NUMBER] < len(begin):
            reached = self._longer(reached)
            found = InsideFound(bits, reached, exits)
            status = inside(table.rules, table.arena, self._words, likeness, walk, like.exits, found, progress)
            if status == WIDE:
                break
            if status < 0:
                table.outcome(status)
        farthest = like.farthest + int(progress[DEARER]) if like.farthest >= 0 else -1
        return Inside(
            self._sets.shared(TokenBits.of(bits)),
            self._farthest(reached, farthest),
            exits[: progress[EXITS]].copy(),
            int(progress[WIDEST]),
        )

    def _loop(self, state: int) -> Loop | None:
        return wide_loop_at(self._configurations.rules, state, self._vocabulary.byte_weights)

    def _dearest(self, states: Ints) -> int:
        return int(self._distances.state_costs[states].max(initial=-1))

    def _walked_below(self, exits: Ints, after: int) -> _Some:
        table = self._configurations
        bits, reached = np.zeros(self._bytes, np.uint8), np.zeros(0, np.bool_)
        progress, sums = np.zeros(PLACE + 1, np.int64), np.zeros(room_below(self._words.skip, exits), np.int32)
        progress[OUTERMOST], status = exits[0], 0
        while progress[EXIT] < len(exits) and status != WIDE:
            reached = self._longer(reached)
            status = below(
                table.rules, table.arena, self._words, self._path, exits, after, progress, bits, reached, sums
            )
            if status < 0 and status != WIDE:
                table.outcome(status)
        widest = INFINITE if status == WIDE else int(progress[COST])
        return _Some(TokenBits.of(bits), self._farthest(reached, 0), widest)

    def _longer(self, reached: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Array with a place for each configuration that the store has room for."""
        return np.concatenate([reached, np.zeros(len(self._configurations.arena.accepts) - len(reached), np.bool_)])

    def _farthest(self, reached: NDArray[np.bool_], least: int) -> int:
        self._distances.update()
        return int(largest(self._distances.additive, reached, least))

    def _nearest(self, state: int, origin: int, dead: int, first: int, kinds: Ints) -> tuple[Inside, int]:
        """Nearest of the rule's states that were walked lately: the one that goes on as this one with most tokens.

        Returns the inside of that state, and its configuration; nothing, and DEAD, if more tokens lead nowhere: `dead`
        of them.
        """
        table = self._configurations
        recent = self._recent.setdefault(int(table.network.states.rule[state]), deque(maxlen=_REMEMBERED))
        if not recent:
            recent.extend(self._looping(table.row(origin)))
        others = np.array([other for other, _ in recent], np.int32)
        chosen, most = nearest(table.arena, self._likeness(first, kinds), origin, others, self._class_weights)
        other, like = recent[chosen] if most > dead else (DEAD, -1)
        recent.append((origin, state))
        known = self._known_inside(like) if other != DEAD else None
        return (self._nothing, DEAD) if known is None else (known, other)

    def _likeness(self, first: int, kinds: Ints) -> Likeness:
        return Likeness(self._vocabulary.deepest, kinds, first, LEVELS, self._distances.state_costs)

    def _looping(self, row: Ints) -> list[tuple[int, int]]:
        """Loop that most tokens lead to at first, if there is one: then what is inside of it is found quickly."""
        table = self._configurations
        after, which = np.unique(row, return_inverse=True)
        items = table.items(int(after[np.bincount(which, self._class_weights).argmax()]))
        if len(items) != 1 or items[0][1] != ROOT or self._loop(items[0][0]) is None:
            return []
        self._inside(items[0][0])
        return [(self._outlook(items[0][0])[0], items[0][0])]

    def _alike_in(self, state: int) -> tuple[int, Ints]:
        """The first state of its rule, and what is alike in it."""
        network = self._configurations.network
        rule = int(network.states.rule[state])
        first, past = (*network.entry, network.states.count)[rule : rule + 2]
        place = self._distances.place(first)
        known = self._kinds.get(place)
        if known is None:
            costs = self._distances.state_costs
            known = alike(self._configurations.rules, costs, INFINITE, first, past, LEVELS)
            self._kinds.keep(place, known, known.nbytes + 200)
        return first, known
