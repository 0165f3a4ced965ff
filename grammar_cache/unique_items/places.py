"""Places of texts in grammars that have arrays whose items may not repeat, each as one integer.

A place inside such an array is a configuration together with the texts of the items before, and what of the item that
is under way has been read; where one array stands in another, that of both. Everywhere else it is the configuration,
by its own number. An item may not end as one that was before. A comma leads to another item, with one text more that
may not repeat. Texts are compact ones.
"""

from __future__ import annotations

from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.unique_items.compact_texts import GAPS, Lexical, compacted
from grammar_cache.unique_items.item_place import ItemPlace, OpenItem
from grammar_cache.unique_items.item_sets import EMPTY, ItemSets
from grammar_cache.unique_items.item_texts import NO_TEXT, ItemTexts
from grammar_cache.unique_items.open_arrays import OpenArray, OpenArrays
from grammar_cache.unique_items.required_items import RequiredItems

FIRST = 1 << 30
"""Number of the first place inside an array. Configurations have smaller ones."""

_COMMA = ord(",")
ENDS = frozenset((*GAPS, _COMMA, ord("]")))
"""Bytes of which one follows every item."""
_OPEN = frozenset(b"{[,:")
_BEHIND_SCALARS = frozenset(b"}],:")

PLACE_BYTES, ITEM_BYTES = 230, 100
"""Bytes of a place, and of each item of it, with what they hold, about."""


class ItemPlaces:
    """Places over one table of configurations. `start` is that of the empty text."""

    def __init__(self, configurations: Configurations) -> None:
        self.table = configurations
        self.arrays = OpenArrays(configurations)
        self.required = RequiredItems(configurations)
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
        if isinstance(place, int):
            return self._moved(ItemPlace(place, (), Lexical.BETWEEN), byte, reserved=reserved)
        spares = self.follow_spares(place, bytes((byte,)))
        if byte in ENDS and self.is_repeated(place):
            return DEAD
        if byte == _COMMA and self.at_end(place):
            return self.with_spares(self.further(place, stays=True), spares)
        return self.with_spares(self._moved(place, byte, reserved=reserved), spares)

    def _moved(self, place: ItemPlace, byte: int, *, reserved: bool) -> ItemPlace | int:
        """The place after one byte that neither ends an item nor follows one."""
        at = place.configuration
        after = self.table.step_reserved(at, byte) if reserved else self.table.step(at, byte)
        if after == DEAD:
            return DEAD
        items = place.items if place.owes else self._items(place.items, at, after)
        if not items:
            return after
        if items[-1].owed and len(items) > len(place.items):
            return self._entered(items, after)
        return self.behind(place._replace(items=items), after, bytes((byte,)))

    def begun(self, array: OpenArray) -> OpenItem:
        """The first item of an array."""
        return OpenItem(array, EMPTY, NO_TEXT, EMPTY, self.required.after_first(array))

    def before(self, item: OpenItem) -> int:
        """The configuration before an item, which isn't the first one unless others have to follow it."""
        return self.required.alone(item.array) if item.owed else self.arrays.further(item.array)

    def by_spares(self, place: ItemPlace) -> int:
        """The configuration of all spare items that may go on at a place: where one is under way, and behind an item
        that may end here, where others have to follow. DEAD if there are none.
        """
        spares = place.spares
        if not place.owes or not self.at_end(place) or self.is_repeated(place):
            return spares
        if spares != DEAD and self.required.after(spares, _COMMA) != DEAD:
            return spares
        return self.required.either(spares, self._completed(place.item))

    def follow_spares(self, place: ItemPlace, data: bytes) -> int:
        """The configuration of the spare items that go on so, or DEAD."""
        spares = self.by_spares(place)
        for byte in data:
            if spares == DEAD:
                break
            spares = self.required.after(spares, byte)
        return spares

    def is_inside(self, place: ItemPlace, configuration: int) -> bool:
        """Whether a configuration stands in the arrays of a place, and in no others."""
        if place.owes:
            return True
        return self.arrays.of(configuration).arrays == tuple([item.array for item in place.items])

    def behind(self, place: ItemPlace, configuration: int, data: bytes) -> ItemPlace | int:
        """The place behind bytes that neither end an item nor begin another one; DEAD where they have made one of them
        one that was there before, and nothing but an end may follow. Spare items stand as they did.
        """
        after = self.read(place, data, configuration)
        if self.is_repeated(after) and (after.lexical is Lexical.GAP or self._is_closed(configuration)):
            return DEAD
        return after

    def read(self, place: ItemPlace, data: bytes, configuration: int | None = None) -> ItemPlace:
        """The place with bytes more of its items; all else stands as it did, unless the configuration is told."""
        data, lexical = compacted(data, place.lexical)
        items = tuple([self.longer(item, data, lexical) for item in place.items])
        at = place.configuration if configuration is None else configuration
        return ItemPlace(at, items, lexical, place.spares)

    def is_repeated(self, place: ItemPlace) -> bool:
        """Whether an item would be one that was there before if it ended here."""
        return any(item.ahead != EMPTY and self.sets.ends(item.ahead) for item in place.items)

    def at_end(self, place: ItemPlace) -> bool:
        """Whether a comma may follow the innermost item."""
        item, at = place.item, place.configuration
        if item.owed:
            return self.table.accepts(at)
        if item.text == NO_TEXT or not self.arrays.closes(at, item.array):
            return False
        # White space stands before commas where it has no bound: there it leads nowhere else.
        return place.lexical is not Lexical.GAP or self.table.step_reserved(at, GAPS[0]) == at

    def further(self, place: ItemPlace, *, stays: bool) -> ItemPlace | int:
        """The place behind the comma after the innermost item; DEAD where there may be no other. One that doesn't stay
        is only looked at.
        """
        item = place.item
        most = self.arrays.most(item.array)
        if most is not None and self.sets.count(item.earlier) + 2 > most:
            return DEAD
        grow, text = self.sets.with_text if stays else self.sets.beside, self.texts.text(item.text)
        earlier, used, spares = grow(item.earlier, text), 0, DEAD
        if item.owed:
            used = self.required.used(item.array, item.used, text)
            spares = self.required.after(self._completed(item), _COMMA)
        outer = [self.longer(other, b",", Lexical.BETWEEN) for other in place.items[:-1]]
        begun = OpenItem(item.array, earlier, NO_TEXT, earlier, max(item.owed - 1, 0), used)
        return ItemPlace(self.before(begun), (*outer, begun), Lexical.BETWEEN, spares)

    def longer(self, item: OpenItem, data: bytes, lexical: Lexical) -> OpenItem:
        """An item behind compact bytes of it, which end in some state."""
        text = self.texts.longer(item.text, data)
        ahead = self.sets.rests(item.ahead, data) if item.ahead != EMPTY else EMPTY
        if ahead != EMPTY and lexical is Lexical.GAP and text != NO_TEXT and self.texts.last(text) not in _OPEN:
            ahead = self.sets.beginning(ahead, _BEHIND_SCALARS)  # a number has ended
        return OpenItem(item.array, item.earlier, text, ahead, item.owed, item.used)

    def needed(self, place: ItemPlace | int) -> list[int]:
        """Configurations that make a place in another table: see `moved`."""
        if isinstance(place, int):
            return [place]
        behind = [self.required.before_end(place.item.array)] if place.owes else []
        return [place.configuration, *behind, *([] if place.spares == DEAD else [place.spares])]

    def moved(self, place: ItemPlace, needed: list[int], source: ItemPlaces, sets: dict[int, int]) -> ItemPlace:
        """The place of another table, given what it needs, as that is numbered here. `sets`: that table's that are
        here.
        """
        configuration, *others = needed
        arrays = self.arrays.of(configuration).arrays
        if place.owes:
            [(_, node)] = self.table.items(others.pop(0))
            arrays = (OpenArray(place.item.array.rule, node),)
        items = []
        for item, array in zip(place.items, arrays, strict=False):
            earlier = self.sets.copied(item.earlier, source.sets, sets)
            begun = OpenItem(array, earlier, NO_TEXT, earlier, item.owed, item.used)
            items.append(self.longer(begun, source.texts.text(item.text), place.lexical))
        assert len(items) == len(place.items), "a configuration is where it was"
        return ItemPlace(configuration, tuple(items), place.lexical, others[0] if others else DEAD)

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        own = self._bytes + self.required.size_bytes
        return own + self.sets.size_bytes + self.texts.size_bytes + self.arrays.size_bytes

    def _completed(self, item: OpenItem) -> int:
        """The configuration behind an item, where as many spare items follow as have to."""
        used = self.required.used(item.array, item.used, self.texts.text(item.text))
        return self.required.completed(item.array, used, item.owed)

    def _items(self, items: tuple[OpenItem, ...], before: int, after: int) -> tuple[OpenItem, ...]:
        """The items under way behind a byte: those whose arrays are still open, and one that it has begun."""
        around, within = self.arrays.of(before), self.arrays.of(after).arrays
        same = 0
        while same < min(len(items), len(within)) and items[same].array == within[same]:
            same += 1
        if len(within) > len(items) == same == len(around.arrays):
            begun = self.begun(within[same])
            if not items if begun.owed else around.alike:
                return (*items, begun)
        return items[:same]

    def _entered(self, items: tuple[OpenItem, ...], spares: int) -> ItemPlace | int:
        """The place in an array of required items that has been entered. Where it wasn't plain at once that it is this
        array, some of its spare items have been read.
        """
        read = self.required.read_before(items[-1].array, spares)
        if read is None:
            return spares
        return self.with_spares(self.follow(ItemPlace(self.before(items[-1]), items, Lexical.BETWEEN), read), spares)

    def with_spares(self, place: ItemPlace | int, spares: int) -> ItemPlace | int:
        """The place where spare items have been read so far: these, where they are complete or nothing else may be."""
        if isinstance(place, int):
            return spares if place == DEAD else place
        if spares != DEAD and self.table.accepts(spares):
            return spares
        return place if place.spares == spares else place._replace(spares=spares)

    def _is_closed(self, configuration: int) -> bool:
        """Whether nothing but an end may follow an item."""
        known = self._closed.get(configuration)
        if known is None:
            others = (byte for byte in range(256) if byte not in ENDS)
            known = all(self.table.step(configuration, byte) == DEAD for byte in others)
            self._closed[configuration] = known
        return known
