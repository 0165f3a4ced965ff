"""Distances inside of arrays whose items may not repeat.

Where other items have to follow, the distance is that to the end of the item under way, and a reserve for them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammar_cache.configurations.interner import DEAD
from grammar_cache.distances.additive import INFINITE
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.loops.array_types import Ints
from grammar_cache.unique_items.item_place import ItemPlace
from grammar_cache.unique_items.item_sets import EMPTY
from grammar_cache.unique_items.leaving import Leaving
from grammar_cache.unique_items.open_arrays import ENTRY_BYTES, OpenArray
from grammar_cache.unique_items.places import ItemPlaces


class ItemDistances:
    """Distances of places. Reserves are found once each."""

    def __init__(self, compiled: CompiledGrammar, places: ItemPlaces, leaving: Leaving) -> None:
        self._compiled = compiled
        self._places = places
        self._leaving = leaving
        self._reserves: dict[tuple[OpenArray, int, int], int] = {}
        self._spares: dict[int, int] = {}

    def distance(self, place: ItemPlace) -> int | None:
        """See `CompiledGrammar.distance`."""
        found = min(self._of_item(place), self._of(self._places.by_spares(place)))
        return None if found >= INFINITE else found

    def is_nearer_by(self, spares: int, place: ItemPlace, budget: int | None) -> bool:
        """Whether the witness is that of spare items: with a budget, where what the item may become doesn't fit."""
        if budget is None:
            return self._of(spares) < self._of_item(place)
        return self._within_item(place, budget) >= INFINITE

    def _of_item(self, place: ItemPlace) -> int:
        """The distance by what the item under way may become, spare items apart."""
        found = self._leaving.distance(place) if place.may_repeat else self._of(place.configuration)
        return found + self.reserve(place)

    def _of(self, configuration: int) -> int:
        """The distance of the compiled grammar; INFINITE if it knows none, and for DEAD."""
        found = None if configuration == DEAD else self._compiled.distance(configuration)
        return INFINITE if found is None else found

    def additive(self, place: ItemPlace) -> int:
        """An upper bound on the tokens still needed that takes no search; INFINITE if no completion is known."""
        found = self._leaving.distance(place) + self.reserve(place)
        return min(found if place.spares == DEAD else min(found, self._additive(place.spares)), INFINITE)

    def within(self, place: ItemPlace, tokens: int) -> int:
        """The distance, if it is at most so much; else INFINITE."""
        spares, found = self._places.by_spares(place), self._within_item(place, tokens)
        return found if spares == DEAD else min(found, self._within(spares, tokens))

    def _within_item(self, place: ItemPlace, tokens: int) -> int:
        """The distance by what the item under way may become, spare items apart, if it is at most so much."""
        reserve = self.reserve(place)
        left = tokens - reserve
        found = self._leaving.distance(place) if place.may_repeat else self._within(place.configuration, left)
        return found + reserve if found <= left else INFINITE

    def behind_outside(self, here: int, after: Sequence[ItemPlace | int], tokens: int) -> Ints:
        """See `CompiledGrammar.distances_behind`, of a configuration outside of all arrays."""
        plain, begun = np.full(len(after), DEAD, np.int32), dict[int, int]()
        for at, place in enumerate(after):
            if isinstance(place, int):
                plain[at] = place
            elif place.owes and place.spares == DEAD:
                begun[at] = self.additive(place)
            else:
                plain[at] = place.configuration if place.spares == DEAD else place.spares
        values = self._compiled.distances_behind(here, plain, tokens)
        for at, distance in begun.items():
            values[at] = distance if distance <= tokens else INFINITE
        return values

    def behind(self, here: ItemPlace, after: Sequence[ItemPlace | int], tokens: int) -> Ints:
        """See `CompiledGrammar.distances_behind`."""
        values, spares = self._behind_item(here, after, tokens), self._places.by_spares(here)
        if spares == DEAD:
            return values
        spared = [place.spares if isinstance(place, ItemPlace) else place for place in after]
        return np.minimum(values, self._compiled.distances_behind(spares, np.array(spared, np.int32), tokens))

    def _behind_item(self, here: ItemPlace, after: Sequence[ItemPlace | int], tokens: int) -> Ints:
        """Distances by what the items may become, spare items apart."""
        plain, other, reserve = np.full(len(after), DEAD, np.int32), dict[int, int](), self.reserve(here)
        for at, place in enumerate(after):
            if isinstance(place, int):
                plain[at] = DEAD if here.owes else place
            elif _enters(here, place):
                plain[at] = place.spares
            elif _crosses(here, place):
                other[at] = self.additive(place)
            elif place.may_repeat:
                other[at] = self._leaving.distance(place) + reserve
            else:
                plain[at] = place.configuration
        values = np.full(len(after), INFINITE, np.int32)
        if tokens >= reserve:
            values = reserve + self._compiled.distances_behind(here.configuration, plain, tokens - reserve)
        values[list(other)] = list(other.values())
        return np.where(values <= tokens, values, INFINITE).astype(np.int32)

    def reserve(self, place: ItemPlace) -> int:
        """Tokens beyond those that end the item under way: 0 where no others have to follow, INFINITE where no tokens
        write them.

        Spare items follow, each behind a comma, of those that aren't among the items so far. Since the item under way
        may become one of these, there is one more: any of them may be left out.
        """
        if not place.owes:
            return 0
        key = place.item.array, place.item.used, place.item.owed
        known = self._reserves.get(key)
        if known is None:
            spares = self._places.required.following(*key[:2], place.item.owed + 1)
            tokens = [self._spare(rule) for rule in spares]
            end = self._additive(self._places.required.before_end(place.item.array))
            known = self._reserves[key] = min(sum(tokens) - min(tokens) + end, INFINITE)
        return known

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return ENTRY_BYTES * (len(self._reserves) + len(self._spares))

    def _spare(self, rule: int) -> int:
        """Tokens of a spare item and its comma."""
        known = self._spares.get(rule)
        if known is None:
            known = self._spares[rule] = self._additive(self._places.required.spare(rule))
        return known

    def _within(self, configuration: int, tokens: int) -> int:
        """The distance of the compiled grammar, if it is at most so much."""
        if tokens < 0:
            return INFINITE
        found = int(self._compiled.distances(np.array([configuration], np.int32), tokens)[0])
        return found if found <= tokens else INFINITE

    def _additive(self, configuration: int) -> int:
        return int(self._compiled.additives(np.array([configuration], np.int32))[0])


def _enters(here: ItemPlace, after: ItemPlace) -> bool:
    """Whether an array of required items has been entered behind the one that `here` is in."""
    is_begun = here.spares == DEAD or after.item.earlier != here.item.earlier
    return after.spares != DEAD and not here.owes and is_begun


def _crosses(here: ItemPlace, after: ItemPlace) -> bool:
    """Whether a further item has been begun. In another array there are no earlier ones yet."""
    several = zip(here.items, after.items, strict=False)
    return any(item.earlier not in (before.earlier, EMPTY) for before, item in several)
