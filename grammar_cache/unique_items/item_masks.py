"""Masks inside of arrays whose items may not repeat: those of the compiled grammar but for what repeats an item, and
what goes on with another one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.configurations.interner import DEAD
from grammar_cache.distances.additive import INFINITE
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.loops.array_types import Ints
from grammar_cache.masks.mask import Mask
from grammar_cache.unique_items.compact_texts import GAPS
from grammar_cache.unique_items.item_distances import ItemDistances
from grammar_cache.unique_items.item_place import ItemPlace
from grammar_cache.unique_items.leaving import Leaving
from grammar_cache.unique_items.near_tokens import NearTokens, going_on
from grammar_cache.unique_items.strings_along import StringsAlong
from grammar_cache.unique_items.token_places import Crossing, TokenPlaces
from grammar_cache.vocabulary.token_set import mask_bytes

_UNKNOWN = INFINITE + 1
"""Instead of a distance."""
_BYTES, _RESTS = 256, 1 << 32
"""Rests that are bytes, and more than there are rests: so a configuration and a rest are one number."""


class ItemMasks:
    """Masks by place and budget, the least recently used go first."""

    def __init__(
        self,
        compiled: CompiledGrammar,
        tokens: TokenPlaces,
        along: StringsAlong,
        near: NearTokens,
        leaving: Leaving,
        distances: ItemDistances,
    ) -> None:
        self._compiled = compiled
        self._tokens = tokens
        self._strings = along.tokens
        self._along = along
        self._near = near
        self._leaving = leaving
        self._distances = distances
        self._known: LruCache[tuple[int, int | None], Mask] = LruCache(compiled.limits.table_bytes // 8)

    @property
    def size(self) -> int:
        """Bytes of the masks."""
        return self._known.size

    def known(self, number: int, budget: int | None) -> Mask | None:
        """The mask of a place, if it is remembered."""
        return self._known.get((number, budget))

    def outside(self, configuration: int, budget: int | None) -> Mask:
        """The mask of a configuration outside of all arrays: that of the compiled grammar, and tokens that open an
        array of required items and begin its first one.
        """
        openings = self._tokens.openings(configuration)
        if not openings:
            return self._compiled.token_mask(configuration, budget)
        known = self.known(configuration, budget)
        if known is None:
            left = INFINITE - 1 if budget is None else budget - 1
            strings = [string for string, begun in openings.items() if self._distances.additive(begun) <= left]
            flags = self._compiled.mask(configuration, budget).copy()
            flags[self._strings.ids(strings)] = True
            known = self._kept(configuration, budget, flags)
        return known

    def of(self, number: int, place: ItemPlace, budget: int | None) -> Mask:
        """The mask of a place, given its number."""
        known = self.known(number, budget)
        if known is None:
            try:
                flags = self._flags(place, budget)
            finally:
                self._leaving.forget_passing()
            known = self._kept(number, budget, flags)
        return known

    def _kept(self, number: int, budget: int | None, flags: NDArray[np.bool_]) -> Mask:
        words, packed = np.zeros(mask_bytes(len(flags)), np.uint8), np.packbits(flags, bitorder="little")
        words[: len(packed)] = packed
        mask = Mask.alone(words)
        self._known.keep((number, budget), mask, mask.size_bytes)
        return mask

    def _flags(self, place: ItemPlace, budget: int | None) -> NDArray[np.bool_]:
        """Flags of the tokens that fit."""
        left = INFINITE - 1 if budget is None else budget - 1
        flags = self._flags_inside(place, budget)
        behind = cache(partial(self._tokens.behind_comma, place, stays=False))
        for crossing in self._tokens.crossings(place):
            alike = self._alike(crossing, place, behind, left)
            if len(alike) == len(crossing.ways):
                flags[crossing.tokens] = True
                continue
            for before, ids in crossing.ways.items():
                flags[ids] = before in alike or self._fits(behind(before), crossing, left)
        spares = self._tokens.places.by_spares(place)
        return flags if spares == DEAD else flags | self._compiled.mask(spares, budget)

    def _alike(
        self, crossing: Crossing, place: ItemPlace, behind: Callable[[bytes], ItemPlace | None], left: int
    ) -> Collection[bytes]:
        """Bytes before the comma of such tokens that fit for one reason.

        Items that these would end differ from each other only behind what has been read: where the next one leaves the
        earlier ones no later, and goes on as none of them does, it does so for all of them. Behind spare items others
        are needed.
        """
        places, item = self._tokens.places, place.item
        along = self._leaving.heads(place) if place.may_repeat else frozenset[int]()
        alike = [before for before in crossing.ways if before and before[0] not in along]
        if item.owed:
            text = places.texts.text(item.text)
            alike = [before for before in alike if not places.required.is_spare(item.array, text + before.rstrip(GAPS))]
        first = behind(alike[0]) if alike else None
        if first is None:
            return ()
        begun = self._tokens.begun(first, crossing.begun, crossing.data)
        size = places.texts.size(place.items[len(crossing.begun.items) - 1].text)
        heads, tokens = frozenset([before[0] for before in alike]), left - self._distances.reserve(begun)
        return alike if self._leaving.fits_soon(begun, tokens, size, heads) else ()

    def _flags_inside(self, place: ItemPlace, budget: int | None) -> NDArray[np.bool_]:
        """Flags of the tokens that stay in the item under way, or end the array behind it."""
        reserve = self._distances.reserve(place)
        own = None if budget is None else budget - reserve
        if reserve >= INFINITE or (own is not None and own <= 0):
            return np.zeros(self._compiled.vocabulary.size, np.bool_)
        flags = self._compiled.mask(place.configuration, own).copy()
        if place.owes:
            flags[list(self._compiled.vocabulary.stop_ids)] = False
        if place.may_repeat:
            self._drop_repeated(flags, place, INFINITE - 1 if own is None else own - 1)
        return flags

    def _fits(self, further: ItemPlace | None, crossing: Crossing, left: int) -> bool:
        """Whether what is begun behind a comma fits."""
        if further is None:
            return False
        return self._distances.additive(self._tokens.begun(further, crossing.begun, crossing.data)) <= left

    def _drop_repeated(self, flags: NDArray[np.bool_], place: ItemPlace, left: int) -> None:
        """Takes out what repeats an item, and what goes on along one, but for that from which as much is left."""
        tokens, alone = self._strings, set[int]()
        for ahead in place.aheads:
            along = self._along.plain(ahead)
            spaced, spaced_over = self._along.spaced(ahead, place.lexical)
            flags[tokens.ids(along.over + spaced_over)] = False
            strings = np.array(along.strings, np.int32)
            if len(place.aheads) == 1:
                strings = self._judge(flags, place, strings, np.array(along.rests, np.int64), left)
            alone.update(strings.tolist(), spaced)
        if self._tokens.places.is_repeated(place):
            flags[tokens.ends] = False
        self._look_at(flags, place, np.array(sorted(alone), np.int32), left)
        if 0 < self._leaving.distance(place) <= min(left + 1, INFINITE - 1):
            flags[self._leaving.token(place)] = True  # where reading is dear, the compiled grammar's mask may lack it

    def _look_at(self, flags: NDArray[np.bool_], place: ItemPlace, strings: Ints, left: int) -> None:
        """Judges strings one by one, which ascend: what begins with one that is used up is used up too."""
        tokens, first, refused = self._strings, self._strings.first_ids(strings), None
        behind, verdicts = self._behind(place, first).tolist(), dict[int, bool]()
        for string, token, configuration in zip(strings.tolist(), first.tolist(), behind, strict=True):
            if refused is not None and tokens.strings[string].startswith(refused):
                verdicts[string] = False
            elif configuration != DEAD:
                after = self._tokens.placed(place, token, configuration)
                if after == DEAD or (isinstance(after, ItemPlace) and after.may_repeat):
                    verdicts[string] = after != DEAD and self._leaving.distance(after) <= left
                    if isinstance(after, ItemPlace) and not verdicts[string] and self._leaving.is_used_up(after):
                        refused = tokens.strings[string]
        for verdict in (True, False):
            flags[tokens.ids([string for string, fits in verdicts.items() if fits == verdict])] = verdict

    def _judge(self, flags: NDArray[np.bool_], place: ItemPlace, strings: Ints, rests: Ints, left: int) -> Ints:
        """Judges strings along the earlier items of one array, given what is missing behind each: all at once that lead
        to one configuration and leave the same. Gives those that have to be looked at one by one.
        """
        behind = self._behind(place, self._strings.first_ids(strings))
        unquoted = np.flatnonzero((behind != DEAD) & self._strings.unquoted[strings])
        codes = behind[unquoted].astype(np.int64) * _RESTS + rests[unquoted] + _BYTES
        pairs, pair = np.unique(codes, return_inverse=True)
        distance = cache(partial(self._distance_along, place))
        found = [distance(code // _RESTS, *self._going_on(code % _RESTS - _BYTES)) for code in pairs.tolist()]
        distances = np.array(found, np.int64)[pair]
        flags[self._strings.ids(strings[unquoted[distances <= left]])] = True
        flags[self._strings.ids(strings[unquoted[(distances > left) & (distances != _UNKNOWN)]])] = False
        alone = behind != DEAD
        alone[unquoted] = distances == _UNKNOWN
        one_by_one: Ints = strings[alone]
        return one_by_one

    def _going_on(self, rest: int) -> tuple[bytes, bool]:
        """First bytes of what is missing behind a string, and whether nothing may be: see `Along`."""
        sets = self._tokens.places.sets
        return (bytes((~rest,)), False) if rest < 0 else (sets.heads(rest), sets.ends(rest))

    def _distance_along(self, place: ItemPlace, configuration: int, heads: bytes, ends: bool) -> int:
        """The distance in a configuration behind a string along an earlier item, given what is missing there; not known
        where no token of one byte leaves it.
        """
        if not self._tokens.places.is_inside(place, configuration):
            return _UNKNOWN
        if place.owes and not ends and self._tokens.places.table.accepts(configuration):
            return 0
        distance, _ = self._near.nearest(configuration, going_on(heads, place.lexical, ends=ends))
        return distance if distance < INFINITE else _UNKNOWN

    def _behind(self, place: ItemPlace, tokens: Ints) -> Ints:
        """Configurations behind some tokens."""
        behind: Ints = self._compiled.consume_batch(np.array([place.configuration], np.int32), tokens[None, :])[0]
        return behind
