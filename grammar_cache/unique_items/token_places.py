"""Places behind tokens. What most tokens lead to is known of the compiled grammar, without a look at their bytes.

A token may go over the comma behind an item, if all behind it is inside of the next one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.loops.array_types import Ints
from grammar_cache.unique_items.item_sets import EMPTY
from grammar_cache.unique_items.item_tokens import ItemTokens
from grammar_cache.unique_items.places import ENDS, GAPS, ItemPlace, ItemPlaces

CROSSING_BYTES = 400
"""Bytes of a crossing, with what it holds, about."""


class Crossing(NamedTuple):
    """Tokens that go over the comma behind an item and begin the same of the next one: `begun`, the place where there
    are no earlier items. `ways`: the tokens by what is before the comma; `tokens`: all of them.
    """

    begun: ItemPlace
    ways: tuple[tuple[bytes, Ints], ...]
    tokens: Ints


class TokenPlaces:
    """Places of a compiled grammar, and the tokens between them."""

    def __init__(self, table: Configurations, compiled: CompiledGrammar, tokens: ItemTokens) -> None:
        self.places = ItemPlaces(table)
        self._compiled = compiled
        self._tokens = tokens
        self._crossings: dict[int, tuple[Crossing, ...]] = {}
        self._over: dict[int, dict[int, tuple[bytes, ItemPlace]]] = {}

    def behind(self, place: ItemPlace | int, token: int, *, reserved: bool = False) -> ItemPlace | int:
        """The place behind a token, DEAD (-1) if it leads nowhere. `reserved`: also beyond the limit. Raises
        LimitExceeded(configurations), Interrupted.
        """
        configuration = place.configuration if isinstance(place, ItemPlace) else place
        if reserved:
            after = self._compiled.take(configuration, token)
        else:
            found = self._compiled.consume(configuration, token)
            after = DEAD if found is None else found
        return self._place(place, token, after, reserved=reserved)

    def correct(self, number: int, tokens: Ints, after: Ints) -> None:
        """Writes the numbers of the places behind several tokens over those of the configurations."""
        place = self.places.of(number)
        if number == DEAD or (place is None and self.places.arrays.meets(number)):
            return
        for column, (token, configuration) in enumerate(zip(tokens.tolist(), after.tolist(), strict=True)):
            found = self._place(number if place is None else place, token, configuration)
            after[column] = self.places.number(found)

    def crossings(self, place: ItemPlace) -> tuple[Crossing, ...]:
        """Tokens that may go over the comma behind the item of a place, by what they begin."""
        known = self._crossings.get(place.configuration)
        if known is None:
            known = self._crossings[place.configuration] = self._found_crossings(place)
        return known

    def across(self, place: ItemPlace, before: bytes, begun: ItemPlace) -> ItemPlace | None:
        """The place that is begun behind the comma that follows some bytes of the item of a place; None where that
        item was there before, can't end yet, or is the last one.
        """
        if not before and not self.places.at_end(place):
            return None
        item = self.places.behind(place, place.configuration, before) if before else place
        if not isinstance(item, ItemPlace) or self.places.sets.node(item.ahead).ends:
            return None
        further = self.places.further(item)
        if not isinstance(further, ItemPlace):
            return None
        ahead = self.places.sets.rests(further.earlier, begun.text)
        return begun._replace(earlier=further.earlier, ahead=ahead)

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return self.places.size_bytes + CROSSING_BYTES * sum(map(len, self._over.values()))

    def _place(self, place: ItemPlace | int, token: int, after: int, *, reserved: bool = False) -> ItemPlace | int:
        """The place behind a token, given the configuration that the compiled grammar knows behind it."""
        vocabulary = self._compiled.vocabulary
        data = vocabulary.spelling[token] if 0 <= token < vocabulary.size else None
        if data is None:
            return DEAD
        string = int(vocabulary.string_of[token])
        if isinstance(place, int):
            return after if after == DEAD else self._entered(place, after, data, reserved=reserved)
        if after == DEAD:
            return self._across(place, string)
        if string in self._tokens.ending and place.ahead != EMPTY and self._repeats(place, data):
            return DEAD
        if string in self._tokens.leaving:
            return self._entered(place, after, data, reserved=reserved)
        return self.places.behind(place, after, data)

    def _entered(self, before: ItemPlace | int, after: int, data: bytes, *, reserved: bool) -> ItemPlace | int:
        """The place that a configuration is, behind a token that may have left an array, and entered another one."""
        arrays = self.places.arrays
        if arrays.of(after) is None or (isinstance(before, int) and arrays.meets(before)):
            return after
        found = self.places.follow(before, data, reserved=reserved)
        if isinstance(found, ItemPlace) and found.configuration == after:
            return found
        return after if isinstance(before, int) or before.ahead == EMPTY else DEAD

    def _repeats(self, place: ItemPlace, data: bytes) -> bool:
        """Whether bytes end an item that was there before."""
        sets, ahead = self.places.sets, place.ahead
        data = data if place.text else data.lstrip(GAPS)
        for at, byte in enumerate(data):
            if ahead == EMPTY:
                return False
            if byte in ENDS and sets.node(ahead).ends:
                return True
            ahead = sets.rests(ahead, data[at : at + 1])
        return False

    def _across(self, place: ItemPlace, string: int) -> ItemPlace | int:
        """The place behind a string that the compiled grammar doesn't take: it may go over a comma."""
        self.crossings(place)
        known = self._over[place.configuration].get(string)
        after = None if known is None else self.across(place, *known)
        return DEAD if after is None else after

    def _found_crossings(self, place: ItemPlace) -> tuple[Crossing, ...]:
        found: dict[ItemPlace, list[tuple[bytes, Ints]]] = {}
        over: dict[int, tuple[bytes, ItemPlace]] = {}
        for before, strings in self._tokens.commas.items():
            may_end = not before or not place.text or (before[-1:] == b'"') == (place.text[:1] == b'"')
            if may_end and self._ends_item(place, before):
                for begun, same in self._begun(place, strings).items():
                    over |= dict.fromkeys(same, (before, begun))
                    found.setdefault(begun, []).append((before, np.array(self._tokens.ids(same), np.int32)))
        self._over[place.configuration] = over
        together = ((begun, ways, np.concatenate([ids for _, ids in ways])) for begun, ways in found.items())
        return tuple(Crossing(begun, tuple(ways), ids) for begun, ways, ids in together)

    def _begun(self, place: ItemPlace, strings: list[tuple[int, bytes]]) -> dict[ItemPlace, list[int]]:
        """Places that strings begin, given their bytes behind the comma: those that are inside of the next item."""
        start = ItemPlace(self.places.arrays.further(place.array), place.array, EMPTY, b"", EMPTY)
        found: dict[ItemPlace, list[int]] = {}
        for string, data in strings:
            after = self.places.follow(start, data)
            text = data.lstrip(GAPS)
            if isinstance(after, ItemPlace) and after.text == text and text[-1:] not in _GAP_BYTES:
                found.setdefault(after, []).append(string)
        return found

    def _ends_item(self, place: ItemPlace, data: bytes) -> bool:
        """Whether an item may end behind some bytes, whatever was read of it before."""
        arrays, at = self.places.arrays, place.configuration
        for byte in data:
            at = self.places.table.step(at, byte)
            if at == DEAD or arrays.of(at) != place.array:
                return False
        return arrays.complete(at)


_GAP_BYTES = frozenset(bytes((byte,)) for byte in GAPS)
