"""Places of texts in grammars that have arrays whose items may not repeat, each as one integer.

A place inside such an array is a configuration together with the texts of the items before, and what of the item that
is under way has been read. Everywhere else it is the configuration, by its own number. An item may not end as one that
was before. A comma leads to another item, with one text more that may not repeat.
"""

from __future__ import annotations

from typing import NamedTuple

from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.unique_items.open_arrays import OpenArray, OpenArrays

FIRST = 1 << 30
"""Number of the first place inside an array. Configurations have smaller ones."""

GAPS = b" \t\n\r"
_COMMA, _BRACKET = ord(","), ord("]")
ENDS = frozenset((*GAPS, _COMMA, _BRACKET))

PLACE_BYTES = 400
"""Bytes of a place, with what it holds, about."""


class Place(NamedTuple):
    """Place inside an array.

    `earlier`: texts of the items before. `text`: what has been read of the item. `ahead`: what is missing of it to be
    an earlier one, for each that begins so.
    """

    configuration: int
    array: OpenArray
    earlier: frozenset[bytes]
    text: bytes
    ahead: frozenset[bytes]

    def behind(self, configuration: int, data: bytes) -> Place:
        """Place behind bytes that neither end the item nor begin another one."""
        if not self.text:
            data = data.lstrip(GAPS)
        ahead = self.ahead
        if ahead:
            ahead = frozenset([rest[len(data) :] for rest in ahead if rest.startswith(data)])
        return Place(configuration, self.array, self.earlier, self.text + data, ahead)


class Places:
    """Places over one table of configurations. `start` is that of the empty text."""

    def __init__(self, configurations: Configurations) -> None:
        self.table = configurations
        self.arrays = OpenArrays(configurations)
        self.start = configurations.start
        self._places: list[Place] = []
        self._numbers: dict[Place, int] = {}

    def of(self, number: int) -> Place | None:
        """The place inside an array that a number stands for; None for that of a configuration, and for DEAD."""
        return self._places[number - FIRST] if number >= FIRST else None

    def number(self, place: Place | int) -> int:
        """Number of a place."""
        if isinstance(place, int):
            return place
        known = self._numbers.get(place)
        if known is None:
            known = self._numbers[place] = FIRST + len(self._places)
            self._places.append(place)
        return known

    def configuration(self, number: int) -> int:
        """The configuration of a place."""
        return self._places[number - FIRST].configuration if number >= FIRST else number

    def accepts(self, number: int) -> bool:
        """Whether the text that led here is complete."""
        return self.table.accepts(self.configuration(number))

    def step(self, number: int, byte: int) -> int:
        """The place after a byte, or DEAD. Raises LimitExceeded(configurations), Interrupted."""
        return self.number(self.after(self.of(number) or number, byte))

    def follow(self, place: Place | int, data: bytes, *, reserved: bool = False) -> Place | int:
        """The place after some bytes, or DEAD. `reserved`: there is room for it beyond the limit. Raises
        LimitExceeded(configurations), Interrupted.
        """
        for byte in data:
            if place == DEAD:
                break
            place = self.after(place, byte, reserved=reserved)
        return place

    def after(self, place: Place | int, byte: int, *, reserved: bool = False) -> Place | int:
        """The place after one byte, or DEAD."""
        if isinstance(place, int):
            return self._entered(place, byte, reserved)
        if byte in ENDS and self._repeats(place, byte):
            return DEAD
        if byte == _COMMA and place.text and place.text[-1] not in GAPS and self.arrays.complete(place.configuration):
            return self.further(place)
        after = self._stepped(place.configuration, byte, reserved)
        if after == DEAD or self.arrays.of(after) != place.array:
            return after
        return place.behind(after, bytes((byte,)))

    def further(self, place: Place) -> Place | int:
        """The place behind the comma after an item; DEAD where there may be no other."""
        most = self.arrays.most(place.array)
        if most is not None and len(place.earlier) + 2 > most:
            return DEAD
        earlier = place.earlier | {place.text}
        return Place(self.arrays.further(place.array), place.array, earlier, b"", earlier)

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return PLACE_BYTES * (len(self._places) + self.arrays.remembered)

    def _repeats(self, place: Place, byte: int) -> bool:
        """Whether a byte ends an item that was there before, or an array behind a comma."""
        if not place.text:
            return byte == _BRACKET and bool(place.earlier)
        return b"" in place.ahead

    def _entered(self, configuration: int, byte: int, reserved: bool) -> Place | int:
        """The place after a byte that may be the first one inside of an array."""
        after = self._stepped(configuration, byte, reserved)
        if after == DEAD or (array := self.arrays.of(after)) is None or self.arrays.meets(configuration):
            return after
        return Place(after, array, frozenset(), b"", frozenset()).behind(after, bytes((byte,)))

    def _stepped(self, configuration: int, byte: int, reserved: bool) -> int:
        return self.table.step_reserved(configuration, byte) if reserved else self.table.step(configuration, byte)
