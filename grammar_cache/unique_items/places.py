"""Places of texts in grammars that have arrays whose items may not repeat, each as one integer.

A place inside such an array is a configuration together with the texts of the items before, and what of the item that
is under way has been read. Everywhere else it is the configuration, by its own number. An item may not end as one that
was before. A comma leads to another item, with one text more that may not repeat.
"""

from __future__ import annotations

from typing import NamedTuple

from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.unique_items.item_sets import EMPTY, ItemSets
from grammar_cache.unique_items.open_arrays import OpenArray, OpenArrays

FIRST = 1 << 30
"""Number of the first place inside an array. Configurations have smaller ones."""

GAPS = b" \t\n\r"
_COMMA = ord(",")
ENDS = frozenset((*GAPS, _COMMA, ord("]")))
"""Bytes of which one follows every item."""

PLACE_BYTES = 450
"""Bytes of a place, with what it holds, about; its text apart."""


class ItemPlace(NamedTuple):
    """Place inside an array.

    `earlier`: the set of the texts of the items before. `text`: what has been read of the item. `ahead`: the set of
    what is missing of it to be an earlier one.
    """

    configuration: int
    array: OpenArray
    earlier: int
    text: bytes
    ahead: int


class ItemPlaces:
    """Places over one table of configurations. `start` is that of the empty text."""

    def __init__(self, configurations: Configurations) -> None:
        self.table = configurations
        self.arrays = OpenArrays(configurations)
        self.sets = ItemSets()
        self.start = configurations.start
        self._places: list[ItemPlace] = []
        self._numbers: dict[ItemPlace, int] = {}
        self._bytes = 0
        self._closed: dict[int, bool] = {}

    def of(self, number: int) -> ItemPlace | None:
        """The place inside an array that a number stands for; None for that of a configuration, and for DEAD."""
        return self._places[number - FIRST] if number >= FIRST else None

    def number(self, place: ItemPlace | int) -> int:
        """Number of a place."""
        if isinstance(place, int):
            return place
        known = self._numbers.get(place)
        if known is None:
            known = self._numbers[place] = FIRST + len(self._places)
            self._places.append(place)
            self._bytes += PLACE_BYTES + len(place.text)
        return known

    def configuration(self, number: int) -> int:
        """The configuration of a place."""
        return self._places[number - FIRST].configuration if number >= FIRST else number

    def accepts(self, number: int) -> bool:
        """Whether the text that led here is complete."""
        return number < FIRST and self.table.accepts(number)

    def step(self, number: int, byte: int) -> int:
        """The place after a byte, or DEAD. Raises LimitExceeded(configurations), Interrupted."""
        return self.number(self.after(self.of(number) or number, byte))

    def follow(self, place: ItemPlace | int, data: bytes, *, reserved: bool = False) -> ItemPlace | int:
        """The place after some bytes, or DEAD. `reserved`: there is room for it beyond the limit. Raises
        LimitExceeded(configurations), Interrupted.
        """
        for byte in data:
            if place == DEAD:
                break
            place = self.after(place, byte, reserved=reserved)
        return place

    def after(self, place: ItemPlace | int, byte: int, *, reserved: bool = False) -> ItemPlace | int:
        """The place after one byte, or DEAD."""
        if isinstance(place, int):
            return self._entered(place, byte, reserved)
        if byte in ENDS and self.sets.node(place.ahead).ends:
            return DEAD
        if byte == _COMMA and self.at_end(place):
            return self.further(place)
        after = self._stepped(place.configuration, byte, reserved)
        if after == DEAD or self.arrays.of(after) != place.array:
            return after
        return self.behind(place, after, bytes((byte,)))

    def behind(self, place: ItemPlace, configuration: int, data: bytes) -> ItemPlace | int:
        """The place behind bytes that neither end the item nor begin another one; DEAD where they have made it one
        that was there before, and nothing but an end may follow.
        """
        if not place.text:
            data = data.lstrip(GAPS)
        ahead = self.sets.rests(place.ahead, data) if place.ahead != EMPTY else EMPTY
        if ahead != EMPTY and self.sets.node(ahead).ends and self._is_closed(configuration):
            return DEAD
        return ItemPlace(configuration, place.array, place.earlier, place.text + data, ahead)

    def at_end(self, place: ItemPlace) -> bool:
        """Whether a comma may follow an item."""
        return bool(place.text) and place.text[-1] not in GAPS and self.arrays.complete(place.configuration)

    def further(self, place: ItemPlace) -> ItemPlace | int:
        """The place behind the comma after an item; DEAD where there may be no other."""
        most = self.arrays.most(place.array)
        if most is not None and self.sets.count(place.earlier) + 2 > most:
            return DEAD
        earlier = self.sets.with_text(place.earlier, place.text)
        return ItemPlace(self.arrays.further(place.array), place.array, earlier, b"", earlier)

    def moved(self, place: ItemPlace, configuration: int, source: ItemPlaces) -> ItemPlace:
        """The place of another table, whose configuration is this one here."""
        array = self.arrays.of(configuration)
        assert array is not None, "a configuration is where it was"
        earlier = EMPTY
        for text, is_whole in source.sets.prefixes(place.earlier, lambda _: True):
            if is_whole:
                earlier = self.sets.with_text(earlier, text)
        return ItemPlace(configuration, array, earlier, place.text, self.sets.rests(earlier, place.text))

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return self._bytes + self.sets.size_bytes + self.arrays.size_bytes

    def _entered(self, configuration: int, byte: int, reserved: bool) -> ItemPlace | int:
        """The place after a byte that may be the first one inside of an array."""
        after = self._stepped(configuration, byte, reserved)
        if after == DEAD or (array := self.arrays.of(after)) is None or self.arrays.meets(configuration):
            return after
        return ItemPlace(after, array, EMPTY, bytes((byte,)), EMPTY)

    def _is_closed(self, configuration: int) -> bool:
        """Whether nothing but an end may follow an item."""
        known = self._closed.get(configuration)
        if known is None:
            others = (byte for byte in range(256) if byte not in ENDS)
            known = all(self.table.step(configuration, byte) == DEAD for byte in others)
            self._closed[configuration] = known
        return known

    def _stepped(self, configuration: int, byte: int, reserved: bool) -> int:
        return self.table.step_reserved(configuration, byte) if reserved else self.table.step(configuration, byte)
