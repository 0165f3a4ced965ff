"""Masks inside of arrays whose items may not repeat: those of the compiled grammar but for what repeats an item, and
what goes on with another one.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.configurations.interner import DEAD
from grammar_cache.distances.additive import INFINITE
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.masks.mask import Mask
from grammar_cache.unique_items.item_tokens import ItemTokens
from grammar_cache.unique_items.leaving import Leaving
from grammar_cache.unique_items.places import ItemPlace
from grammar_cache.unique_items.token_places import TokenPlaces
from grammar_cache.vocabulary.token_set import TokenBits, mask_bytes


class ItemMasks:
    """Masks by place and budget, the least recently used go first."""

    def __init__(self, compiled: CompiledGrammar, tokens: TokenPlaces, strings: ItemTokens, leaving: Leaving) -> None:
        self._compiled = compiled
        self._tokens = tokens
        self._strings = strings
        self._leaving = leaving
        self._known: LruCache[tuple[int, int | None], Mask] = LruCache(compiled.limits.table_bytes // 8)

    @property
    def size(self) -> int:
        """Bytes of the masks."""
        return self._known.size

    def known(self, number: int, budget: int | None) -> Mask | None:
        """The mask of a place, if it is remembered."""
        return self._known.get((number, budget))

    def of(self, number: int, place: ItemPlace, budget: int | None) -> Mask:
        """The mask of a place, given its number."""
        known = self.known(number, budget)
        if known is None:
            words = np.zeros(mask_bytes(self._compiled.vocabulary.size), np.uint8)
            packed = np.packbits(self._flags(place, budget), bitorder="little")
            words[: len(packed)] = packed
            bits = TokenBits.of(words)
            known = Mask((bits,), 4 * bits.size, narrowed=None, own_bytes=bits.size_bytes)
            self._known.keep((number, budget), known, known.size_bytes)
        return known

    def _flags(self, place: ItemPlace, budget: int | None) -> NDArray[np.bool_]:
        """Flags of the tokens that fit."""
        left = INFINITE - 1 if budget is None else budget - 1
        flags = self._compiled.mask(place.configuration, budget).copy()
        if place.may_repeat:
            self._drop_repeated(flags, place, left)
        behind = cache(partial(self._tokens.behind_comma, place))
        along = self._leaving.heads(place) if place.may_repeat else frozenset[int]()
        for crossing in self._tokens.crossings(place):
            # Items that these would end differ from each other only behind what has been read: where the next one
            # leaves the earlier ones no later, and goes on as none of them does, it does so for all of them.
            alike = [before for before in crossing.ways if before and before[0] not in along]
            first = behind(alike[0]) if alike else None
            size = self._tokens.places.texts.size(place.items[len(crossing.begun.items) - 1].text)
            begun = None if first is None else self._tokens.begun(first, crossing.begun)
            heads = frozenset([before[0] for before in alike])
            if begun is None or not self._leaving.fits_soon(begun, left, size, heads):
                alike = []
            if len(alike) == len(crossing.ways):
                flags[crossing.tokens] = True
                continue
            for before, ids in crossing.ways.items():
                flags[ids] = before in alike or self._fits(behind(before), crossing.begun, left)
        return flags

    def _fits(self, further: ItemPlace | None, begun: ItemPlace, left: int) -> bool:
        """Whether what is begun behind a comma fits."""
        return further is not None and self._leaving.distance(self._tokens.begun(further, begun)) <= left

    def _drop_repeated(self, flags: NDArray[np.bool_], place: ItemPlace, left: int) -> None:
        """Takes out what repeats an item, and what goes on along one, but for that from which as much is left."""
        tokens, sets = self._strings, self._tokens.places.sets
        strings = set[int]()
        for ahead in place.aheads:
            along, over = tokens.along(sets, ahead, place.lexical)
            strings.update(along)
            flags[tokens.ids(over)] = False
        if self._tokens.places.is_repeated(place):
            flags[tokens.ends] = False
        first = tokens.first_ids(strings)
        behind = self._compiled.consume_batch(np.array([place.configuration], np.int32), first[None, :])[0].tolist()
        for string, token, configuration in zip(strings, first.tolist(), behind, strict=True):
            if configuration != DEAD:
                after = self._tokens.placed(place, token, configuration)
                if after == DEAD or (isinstance(after, ItemPlace) and after.may_repeat):
                    flags[tokens.ids([string])] = after != DEAD and self._leaving.distance(after) <= left
        if self._leaving.distance(place) <= left + 1:
            flags[self._leaving.token(place)] = True  # where reading is dear, the compiled grammar's mask may lack it
