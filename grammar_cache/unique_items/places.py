"""Places of texts in grammars that have arrays whose items may not repeat, each as one integer.

A place inside such an array is a configuration together with the texts of the items before, and what of the item that
is under way has been read; where one array stands in another, that of both. Everywhere else it is the configuration,
by its own number. An item may not end as one that was before. A comma leads to another item, with one text more that
may not repeat. Texts are compact ones.
"""

from __future__ import annotations

from typing import NamedTuple

from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.unique_items.compact_texts import GAPS, Lexical, compacted
from grammar_cache.unique_items.item_sets import EMPTY, ItemSets
from grammar_cache.unique_items.item_texts import NO_TEXT, ItemTexts
from grammar_cache.unique_items.open_arrays import OpenArray, OpenArrays

FIRST = 1 << 30
"""Number of the first place inside an array. Configurations have smaller ones."""

_COMMA = ord(",")
ENDS = frozenset((*GAPS, _COMMA, ord("]")))
"""Bytes of which one follows every item."""
_OPEN = frozenset(b"{[,:")
_BEHIND_SCALARS = frozenset(b"}],:")

PLACE_BYTES, ITEM_BYTES = 230, 100
"""Bytes of a place, and of each item of it, with what they hold, about."""


class OpenItem(NamedTuple):
    """Item under way.

    `earlier`: the set of the texts of the items before. `text`: what has been read of it, among `ItemPlaces.texts`.
    `ahead`: the set of what is missing of it to be an earlier one.
    """

    array: OpenArray
    earlier: int
    text: int
    ahead: int


class ItemPlace(NamedTuple):
    """Place inside arrays. `items`: those under way, the outermost first."""

    configuration: int
    items: tuple[OpenItem, ...]
    lexical: Lexical

    @property
    def item(self) -> OpenItem:
        """The innermost item under way."""
        return self.items[-1]

    @property
    def aheads(self) -> tuple[int, ...]:
        """Sets of what is missing of the items to be earlier ones."""
        return tuple([item.ahead for item in self.items if item.ahead != EMPTY])

    @property
    def may_repeat(self) -> bool:
        """Whether any of the items may still become an earlier one."""
        return any(item.ahead != EMPTY for item in self.items)


class ItemPlaces:
    """Places over one table of configurations. `start` is that of the empty text."""

    def __init__(self, configurations: Configurations) -> None:
        self.table = configurations
        self.arrays = OpenArrays(configurations)
        self.sets = ItemSets()
        self.texts = ItemTexts()
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
            self._bytes += PLACE_BYTES + ITEM_BYTES * len(place.items)
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
        if isinstance(place, ItemPlace):
            if byte in ENDS and self.is_repeated(place):
                return DEAD
            if byte == _COMMA and self.at_end(place):
                return self.further(place, stays=True)
        at = place.configuration if isinstance(place, ItemPlace) else place
        after = self.table.step_reserved(at, byte) if reserved else self.table.step(at, byte)
        if after == DEAD:
            return DEAD
        items = place.items if isinstance(place, ItemPlace) else ()
        before, arrays = self.arrays.of(at), self.arrays.of(after).arrays
        kept = self._kept(items, arrays)
        data = bytes((byte,))
        if len(arrays) > len(items) == len(kept) == len(before.arrays) and before.alike:
            kept = (*kept, OpenItem(arrays[len(items)], EMPTY, NO_TEXT, EMPTY))
        lexical = place.lexical if isinstance(place, ItemPlace) else Lexical.BETWEEN
        return self.behind(ItemPlace(at, kept, lexical), after, data) if kept else after

    def is_inside(self, place: ItemPlace, configuration: int) -> bool:
        """Whether a configuration stands in the arrays of a place, and in no others."""
        return self.arrays.of(configuration).arrays == tuple([item.array for item in place.items])

    def behind(self, place: ItemPlace, configuration: int, data: bytes) -> ItemPlace | int:
        """The place behind bytes that neither end an item nor begin another one; DEAD where they have made one of them
        one that was there before, and nothing but an end may follow.
        """
        after = self.read(place, data)._replace(configuration=configuration)
        if self.is_repeated(after) and (after.lexical is Lexical.GAP or self._is_closed(configuration)):
            return DEAD
        return after

    def read(self, place: ItemPlace, data: bytes) -> ItemPlace:
        """The place with bytes more of its items, its configuration apart."""
        data, lexical = compacted(data, place.lexical)
        items = tuple([self.longer(item, data, lexical) for item in place.items])
        return ItemPlace(place.configuration, items, lexical)

    def is_repeated(self, place: ItemPlace) -> bool:
        """Whether an item would be one that was there before if it ended here."""
        return any(item.ahead != EMPTY and self.sets.ends(item.ahead) for item in place.items)

    def at_end(self, place: ItemPlace) -> bool:
        """Whether a comma may follow the innermost item."""
        item, at = place.item, place.configuration
        if item.text == NO_TEXT or not self.arrays.closes(at, item.array):
            return False
        # White space stands before commas where it has no bound: there it leads nowhere else.
        return place.lexical is not Lexical.GAP or self.table.step(at, GAPS[0]) == at

    def further(self, place: ItemPlace, *, stays: bool) -> ItemPlace | int:
        """The place behind the comma after the innermost item; DEAD where there may be no other. One that doesn't stay
        is only looked at.
        """
        item = place.item
        most = self.arrays.most(item.array)
        if most is not None and self.sets.count(item.earlier) + 2 > most:
            return DEAD
        grow = self.sets.with_text if stays else self.sets.beside
        earlier = grow(item.earlier, self.texts.text(item.text))
        outer = [self.longer(other, b",", Lexical.BETWEEN) for other in place.items[:-1]]
        items = (*outer, OpenItem(item.array, earlier, NO_TEXT, earlier))
        return ItemPlace(self.arrays.further(item.array), items, Lexical.BETWEEN)

    def longer(self, item: OpenItem, data: bytes, lexical: Lexical) -> OpenItem:
        """An item behind compact bytes of it, which end in some state."""
        text = self.texts.longer(item.text, data)
        ahead = self.sets.rests(item.ahead, data) if item.ahead != EMPTY else EMPTY
        if ahead != EMPTY and lexical is Lexical.GAP and text != NO_TEXT and self.texts.last(text) not in _OPEN:
            ahead = self.sets.beginning(ahead, _BEHIND_SCALARS)  # a number has ended
        return OpenItem(item.array, item.earlier, text, ahead)

    def moved(self, place: ItemPlace, configuration: int, source: ItemPlaces, sets: dict[int, int]) -> ItemPlace:
        """The place of another table, whose configuration is this one here. `sets`: that table's that are here."""
        items = []
        for item, array in zip(place.items, self.arrays.of(configuration).arrays, strict=False):
            earlier = self.sets.copied(item.earlier, source.sets, sets)
            begun = OpenItem(array, earlier, NO_TEXT, earlier)
            items.append(self.longer(begun, source.texts.text(item.text), place.lexical))
        assert len(items) == len(place.items), "a configuration is where it was"
        return ItemPlace(configuration, tuple(items), place.lexical)

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return self._bytes + self.sets.size_bytes + self.texts.size_bytes + self.arrays.size_bytes

    @staticmethod
    def _kept(items: tuple[OpenItem, ...], arrays: tuple[OpenArray, ...]) -> tuple[OpenItem, ...]:
        """The items whose arrays are still open."""
        same = 0
        while same < min(len(items), len(arrays)) and items[same].array == arrays[same]:
            same += 1
        return items[:same]

    def _is_closed(self, configuration: int) -> bool:
        """Whether nothing but an end may follow an item."""
        known = self._closed.get(configuration)
        if known is None:
            others = (byte for byte in range(256) if byte not in ENDS)
            known = all(self.table.step(configuration, byte) == DEAD for byte in others)
            self._closed[configuration] = known
        return known
