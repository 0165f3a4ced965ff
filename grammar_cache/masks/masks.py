"""Masks of the next tokens, one bit each, without walking the whole vocabulary at every new configuration.

Most tokens stay inside the rule that an item is in, whatever lies below on the stack: what they are depends on the
item's state alone, and is walked once for all grammars with that rule. The others end that rule on their way and go on
below it; they begin with one of the `exits` of the state, and only there is the stack looked at, once for each
configuration that a rule may end in.

This is for budgets that every such token fits; `of` says where it can't tell. This module knows tokens and
distances, but no request.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.configurations.arena import WIDE
from grammar_cache.configurations.interner import Configurations, Item
from grammar_cache.distances.additive import INFINITE, Distances
from grammar_cache.masks.below_walks import BelowWalks
from grammar_cache.masks.byte_costs import CostBound
from grammar_cache.masks.few_tokens import FOUND, MANY, SPELLINGS, FewFound, Spellings, few, few_words
from grammar_cache.masks.inside_walks import InsideWalks
from grammar_cache.masks.mask import Mask
from grammar_cache.masks.shared_sets import SharedSets
from grammar_cache.successors.rule_classes import RuleClasses
from grammar_cache.vocabulary.token_set import TokenBits, mask_bytes
from grammar_cache.vocabulary.vocabulary import Vocabulary

_NONE = np.empty(0, np.int32)
_WALKS = 6
"""Walks over the whole vocabulary that a mask's parts may take where nothing is known: Python takes four, SQL five."""


class Masks:
    """Masks of visited configurations, and the parts that they are made of; the least recently used go first."""

    def __init__(
        self,
        configurations: Configurations,
        distances: Distances,
        vocabulary: Vocabulary,
        classes: RuleClasses,
        limit_bytes: int,
        fuel: int,
    ) -> None:
        """`fuel`: what looking at all tokens of a configuration may cost. Found token by token is only what this lasts
        for twice, whichever way they are looked at, so that how a mask is found doesn't tell what is in it.
        """
        self._fuel = fuel // 2
        self._configurations = configurations
        self._distances = distances
        self._vocabulary = vocabulary
        self._spellings = SPELLINGS.packed(Spellings.of(vocabulary))
        self._found = FOUND.packed(FewFound.room(vocabulary.longest, len(vocabulary.stop_ids)))
        self._sets = vocabulary.cache(SharedSets)
        self._weight = vocabulary.trie.size - 1
        weights = np.bincount(configurations.network.classes, vocabulary.byte_weights)
        self._class_weights = weights.astype(np.int64)
        self._insides = InsideWalks(configurations, distances, vocabulary, self._class_weights, classes)
        self._bytes = mask_bytes(vocabulary.size)
        self._dear = Mask((), self._bytes, INFINITE)
        self._stop_ids = np.array(vocabulary.stop_ids, np.int32)
        self._stops = TokenBits.of_tokens(self._stop_ids, self._bytes)
        self._wide: set[int] = set()
        self._belows = BelowWalks(configurations, distances, vocabulary, limit_bytes // 2)
        self._masks: LruCache[int, Mask] = LruCache(limit_bytes // 2)

    @property
    def held_bytes(self) -> int:
        """Bytes of masks and of their parts, but for those that grammars share."""
        return self._belows.held_bytes + self._masks.size

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
        token is seen to need more than `tokens` behind it.
        """
        first, count = self._configurations.first_state(configuration)
        if count > self._configurations.rules.dear:  # each item costs one at least
            return self._dear
        found = None if first in self._wide else self._few(configuration)
        if found is not None:
            return found
        self._wide.add(first)
        items = self._configurations.items(configuration)
        return self._dear if self._walks_much(items) else self._of_parts(configuration, items, tokens)

    def _of_parts(self, configuration: int, items: list[Item], tokens: int) -> Mask:
        """Mask of what each item may read, if no byte may be dear: `CostBound` says what reading one costs at most from
        all items together.
        """
        parts: list[TokenBits] = []
        table, farthest = self._configurations, 0
        dear, edge_first = table.rules.dear, table.arena.edge_first
        bound = CostBound(dear)
        if table.cost(configuration) > dear:
            return self._dear
        self._distances.update()
        for state, node in items:
            known = self._insides.of(state)
            bound.add(known.costs, int(edge_first[node + 1] - edge_first[node]), table.pops(node, dear))
            parts.append(known.tokens)
            if known.farthest >= 0:
                farthest = max(farthest, known.farthest + self._distances.node_cost(node))
            if len(known.exits) and not bound.exceeded():
                under = self._belows.of(known.exits, table.popped(node))
                bound.add(under.costs, edges=0, callers=2)  # of two exits, one below the other
                parts.append(under.tokens)
                farthest = max(farthest, under.farthest)
            if bound.exceeded():
                return self._dear
            if farthest > tokens:
                return Mask((), self._bytes, farthest)
        if table.accepts(configuration):
            parts.append(self._stops)
        return Mask(tuple(parts), self._bytes, farthest).readily(self._sets)

    def _walks_much(self, items: list[Item]) -> bool:
        """Whether finding parts for some items may take more walks than it should, where nothing is known."""
        return len(items) > _WALKS and sum(self._insides.weight(state) for state, _ in items) > _WALKS * self._weight

    def _few(self, configuration: int) -> Mask | None:
        """Mask of a configuration by its tokens, one by one; None if there are many."""
        table, found, heavy = self._configurations, self._found, self._weight // 2
        while True:
            count = few(
                *table.blocks, self._class_weights, heavy, self._fuel, self._spellings.block, configuration, found.block
            )
            if count >= 0:
                break
            if count == MANY:
                return None
            if count == WIDE:
                return self._dear
            table.outcome(count)
        self._distances.update()
        stops = self._stop_ids if table.accepts(configuration) else _NONE
        size, farthest = few_words(found.block, self._distances.block, count, stops)
        own = TokenBits(found.values.words[:size].copy(), found.values.places[:size].copy(), self._bytes // 4)
        return Mask((own,), self._bytes, farthest, own_bytes=own.size_bytes)
