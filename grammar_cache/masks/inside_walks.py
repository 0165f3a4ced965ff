"""Tokens inside of a state's rule, by walks that look at as few of them as they can.

What stays in a loop is looked up. Bytes that a rule doesn't tell apart are walked as one. Other states are walked
beside another one of their rule, and only where the two part: they mostly differ in few tokens, as a key that may
become a declared one differs from any other key in those that spell it on. This module knows rules, but nothing below
them.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.configurations.arena import DEAD, MERGES, WIDE
from grammar_cache.configurations.interner import ROOT, Configurations
from grammar_cache.distances.additive import INFINITE, Distances
from grammar_cache.loops.array_types import Ints, Longs
from grammar_cache.masks.byte_costs import ROWS, ByteCosts
from grammar_cache.masks.class_kernels import inside_by_class
from grammar_cache.masks.exits import NO_EXITS, SharedExits
from grammar_cache.masks.inside_kernels import (
    CHANGED,
    DEARER,
    EXITS,
    LEFT,
    NUMBER,
    PART_FUEL,
    WIDEST,
    InsideFound,
    InsideWalk,
    Likeness,
    dearest,
    inside,
)
from grammar_cache.masks.insides import Inside, InsideCache, InsideKey, KindsCache
from grammar_cache.masks.reached import Reached
from grammar_cache.masks.shared_sets import SharedSets
from grammar_cache.masks.state_equivalence import LEVELS, alike, first_alike
from grammar_cache.masks.weight_kernels import mostly_behind, outlook, weight_alike
from grammar_cache.successors.rule_classes import RuleClasses, Wide
from grammar_cache.successors.self_loops import Loop, loop_at, region
from grammar_cache.successors.token_kernels import PackedWords
from grammar_cache.vocabulary.token_set import TokenBits, mask_bytes
from grammar_cache.vocabulary.vocabulary import Vocabulary

_NARROW = 16
"""Part of the vocabulary, below which tokens that lead on are walked whatever other states read."""
_LOOPING = 8
"""Part of the vocabulary that a loop reads, at least, so as to be walked once for all grammars. Letters and digits
begin 22 % of Llama 3.1's, 19 % of Gemma 3's and 18 % of Qwen 3's.
"""
_MOST_COMPARED = 2_048
"""States of a rule of which it is found out which are alike: in four milliseconds, which are in no fuel. For larger
ones it saves no more than it takes.
"""
_LIKE = int(np.searchsorted(LEVELS, 12))
"""Level at which a state and the one it is walked beside are alike, at least: few tokens have more bytes."""
_BEHIND = 3
"""States behind a state among which a loop is looked for, those that most tokens lead to."""
_WHATEVER, _BY_BYTE = b"", b"bytes"
"""Instead of a key of classes: of states that are walked alike in every grammar; of those that are walked by classes in
others.
"""
_NONE = np.empty(0, np.int32)
_NO_KINDS = np.zeros((len(LEVELS), 0), np.int32)


class InsideWalks:
    """Insides of the states of one grammar, walked where no grammar of the vocabulary has that rule."""

    def __init__(
        self,
        configurations: Configurations,
        distances: Distances,
        vocabulary: Vocabulary,
        class_weights: Longs,
        classes: RuleClasses,
    ) -> None:
        """`class_weights`: nodes of the vocabulary's trie that begin with each byte class."""
        self._configurations = configurations
        self._distances = distances
        self._vocabulary = vocabulary
        self._words = vocabulary.cache(PackedWords).of(vocabulary)
        self._path = np.empty(vocabulary.longest + 1, np.int32)
        self._beside = np.empty(vocabulary.longest + 1, np.int32)
        self._insides = vocabulary.cache(InsideCache)
        self._kinds = vocabulary.cache(KindsCache)
        self._sets = vocabulary.cache(SharedSets)
        self._exits = vocabulary.cache(SharedExits)
        self._behind = np.empty(_BEHIND, np.int32)
        self._dear = configurations.rules.dear
        self._classes = classes
        self._weight = vocabulary.trie.size - 1
        self._class_weights = class_weights
        self._looping: dict[int, bool] = {}
        self._by_class: dict[int, bytes] = {}  # by state without a loop: key of the classes that it may be walked by
        self._bytes = mask_bytes(vocabulary.size)
        self._too_dear = ByteCosts.all_alike(self._dear + 1)
        self._nothing = Inside(TokenBits.of_tokens(_NONE, self._bytes), -1, NO_EXITS, ByteCosts.all_alike(0))

    def of(self, state: int) -> Inside:
        """Tokens inside of a state's rule from there on."""
        known = self.known(state)
        if known is None:
            known = self._walked_inside(state)
            self._insides.keep(self._key(state), known, known.size_bytes)
        return known

    def weight(self, state: int) -> int:
        """Weight of the vocabulary that begins with bytes that lead on from a state in its rule: no more is walked."""
        return self._outlook(state)[1]

    def known(self, state: int) -> Inside | None:
        """Tokens that `of` returns, if they are known."""
        return self._insides.get(self._key(state))

    def _key(self, state: int) -> InsideKey:
        classes = self._by_class.get(state, _WHATEVER)
        return (*self._distances.place(state), self._dear, classes)

    def _walked_inside(self, state: int) -> Inside:
        """Walks the tokens, but for those that stay in a loop, or go on as they do from a state behind this one."""
        origin, alive = self._outlook(state)
        if _NARROW * alive < self._weight:  # walked as quickly as others are compared
            return self._walked_beside(None, origin, 0, _NO_KINDS)
        loop = self._loop(state)
        if loop is not None:
            return self._walked_around(loop)
        behind = self._loop_behind(origin, self._weight - alive)
        if behind is None:
            return self._walked_alike(state, origin)
        return self._walked_beside(behind, origin, 0, _NO_KINDS)

    def _walked_alike(self, state: int, origin: int) -> Inside:
        """Walks the tokens beside those of the first state that reads alike, or else by classes of bytes."""
        if state not in self._by_class:
            wide = self._classes.found([state])
            self._by_class[state] = _BY_BYTE if wide is None else wide.key
            known = self.known(state)
            if known is not None:
                return known
        first, kinds = self._alike_in(state)
        other = self._first_alike(state, first, kinds)
        around = self._classes.around([state]) if other is None else None
        if around is not None:
            return self._walked_by_class(around, origin)
        return self._walked_beside(other, origin, first, kinds)

    def _walked_beside(self, other: int | None, origin: int, first: int, kinds: Ints) -> Inside:
        """Walks the tokens beside another state, if there is one.

        Which one it is depends on nothing that was walked before, and so neither does what a walk makes, nor whether it
        is too much.
        """
        like, beside = (self._nothing, DEAD) if other is None else (self.of(other), self._outlook(other)[0])
        if like.costs.calling == MERGES:
            kinds = _NO_KINDS  # what is one thing there may be several here, where states are alike but not the same
        self._beside[0] = beside
        whole = np.array([[1], [len(self._words.values.byte)], [origin]], np.int32)
        return self._walked(like, first, kinds, *whole)

    def _walked_around(self, loop: Loop) -> Inside:
        """Walks the tokens that leave the loop that a state is in."""
        table = self._configurations
        found = region(loop, self._vocabulary)
        self._beside[:] = DEAD
        inside = table.alone(loop.states, ROOT)
        costs = np.zeros((ROWS, 1), np.int32)
        while (status := dearest(*table.blocks, inside, costs)) < 0:
            table.outcome(status)
        farthest = self._dearest(loop.states[(found.shortest >= 0).any(axis=0)])
        like = Inside(found.tokens, farthest, NO_EXITS, ByteCosts.all_alike(*costs[:, 0].tolist()))
        before = inside[found.leaving]
        return self._walked(like, 0, _NO_KINDS, found.exits, self._words.values.skip[found.exits], before)

    def _walked_by_class(self, wide: Wide, origin: int) -> Inside:
        """Walks classes of bytes, and bytes behind narrow states."""
        table, by_class, skip = self._configurations, wide.by_class, self._words.values.skip
        trie, within = by_class.trie, self._classes.within(wide)
        words = self._words.values._replace(
            byte=trie.byte,
            depth=trie.depth,
            skip=trie.skip,
            string=trie.string,
            offsets=by_class.token_offsets,
            ids=by_class.token_list,
        )
        bits, reached = np.zeros(self._bytes, np.uint8), Reached(table, self._distances)
        exits, parted = np.empty(trie.size, np.int32), np.empty((2, trie.size), np.int32)
        progress, status = np.zeros(CHANGED + 1, np.int64), -1
        costs = np.zeros((ROWS, 256), np.int32)
        progress[LEFT] = PART_FUEL
        self._path[0] = origin
        while status < 0 and status != WIDE:
            found = InsideFound(bits, reached.with_room(), exits, costs)
            status = inside_by_class(*table.blocks, words, within, self._path, found, parted, progress)
            if status < 0 and status != WIDE:
                table.outcome(status)
        alike = self._too_dear if status == WIDE else ByteCosts.all_alike(*costs[:, 0].tolist())
        like = Inside(TokenBits.of(bits), reached.farthest(-1), NO_EXITS, alike)
        if status == WIDE:
            return like
        nodes, before = by_class.listed(*parted[:, : progress[NUMBER]])
        self._beside[:] = DEAD
        rest = self._walked(like, 0, _NO_KINDS, nodes + 1, skip[nodes], before)
        own, _ = by_class.listed(exits[: progress[EXITS]], exits[: progress[EXITS]])
        exits = np.sort(np.append(own, rest.exits.nodes))
        return Inside(rest.tokens, rest.farthest, self._exits.of(exits), rest.costs)

    def _outlook(self, state: int) -> tuple[int, int]:
        """The configuration of a state by itself, and how much of the vocabulary begins with bytes that lead on."""
        table = self._configurations
        while True:
            origin, alive = outlook(*table.blocks, state, self._class_weights)
            if origin >= 0:
                return int(origin), int(alive)
            table.outcome(origin)

    def _walked(self, like: Inside, first: int, kinds: Ints, begin: Ints, past: Ints, before: Ints) -> Inside:
        """Walks the nodes from each `begin` to before `past`; what is known of all others is `like`.

        `kinds` of the rule's states, from `first` on, say which read short texts alike.
        """
        table, likeness = self._configurations, self._likeness(first, kinds)
        walk = InsideWalk(begin, past, before, self._path, self._beside)
        bits, reached = like.tokens.copy(), Reached(table, self._distances)
        exits, costs = np.empty(len(self._words.values.byte), np.int32), like.costs.by_byte()
        progress = np.zeros(CHANGED + 1, np.int64)
        progress[WIDEST], progress[LEFT] = like.costs.most, PART_FUEL
        while progress[NUMBER] < len(begin):
            found = InsideFound(bits, reached.with_room(), exits, costs)
            status = inside(*table.blocks, self._words.block, likeness, walk, like.exits.nodes, found, progress)
            if status == WIDE:
                break
            if status < 0:
                table.outcome(status)
        farthest = like.farthest + int(progress[DEARER]) if like.farthest >= 0 else -1
        return Inside(
            self._sets.shared(TokenBits.of(bits)) if progress[CHANGED] else like.tokens,
            reached.farthest(farthest),
            self._exits.of(exits[: progress[EXITS]]),
            self._too_dear if progress[WIDEST] > self._dear else ByteCosts.of(costs),
        )

    def _loop(self, state: int) -> Loop | None:
        return loop_at(self._configurations.network_block, state, self._vocabulary.byte_weights, _LOOPING)

    def _dearest(self, states: Ints) -> int:
        return int(self._distances.state_costs[states].max(initial=-1))

    def _loops(self, state: int) -> bool:
        known = self._looping.get(state)
        if known is None:
            known = self._looping[state] = self._loop(state) is not None
        return known

    def _loop_behind(self, origin: int, dead: int) -> int | None:
        """The state of a loop that a configuration goes on to by many tokens, by the most of those from which more
        tokens go on alike than are `dead`. From a key that may become a declared one that is the inside of any key,
        though more tokens may lead to more of the declared, with a space.
        """
        table, weights = self._configurations, self._class_weights
        count = mostly_behind(table.arena_block, origin, weights, self._behind)
        for state in self._behind[:count].tolist():
            if state >= 0 and self._loops(state):
                other = self._outlook(state)[0]
                if weight_alike(table.arena_block, origin, other, weights) > dead:
                    return int(state)
        return None

    def _first_alike(self, state: int, first: int, kinds: Ints) -> int | None:
        """The first state of the rule that reads texts of some length as a state does, as long ones as can be: those of
        a text of bounded length mostly go on alike.
        """
        if not kinds.shape[1]:
            return None
        other = int(first_alike(kinds[_LIKE:], self._classes.part_of[first : state + 1]))
        return None if other < 0 else first + other

    def _likeness(self, first: int, kinds: Ints) -> Likeness:
        return Likeness(self._vocabulary.deepest, kinds, first, LEVELS, self._distances.state_costs)

    def _alike_in(self, state: int) -> tuple[int, Ints]:
        """The first state of its rule, and what is alike in it."""
        network = self._configurations.network
        rule = int(network.states.rule[state])
        first, past = (*network.entry, network.states.count)[rule : rule + 2]
        if past - first > _MOST_COMPARED:
            return first, _NO_KINDS
        place = self._distances.place(first)
        known = self._kinds.get(place)
        if known is None:
            costs = self._distances.state_costs
            known = alike(self._configurations.network_block, costs, INFINITE, first, past, LEVELS)
            self._kinds.keep(place, known, known.nbytes + 200)
        return first, known
