"""Items that can only become what was there before, since all others are used up."""

from __future__ import annotations

from grammar_cache.unique_items.item_sets import EMPTY
from grammar_cache.unique_items.item_texts import NO_TEXT
from grammar_cache.unique_items.open_arrays import ENTRY_BYTES
from grammar_cache.unique_items.places import ItemPlaces, OpenItem
from grammar_cache.unique_items.text_counts import TextCounts


class UsedUp:
    """Comparison of how many texts an item may become with how many of these were there."""

    def __init__(self, counts: TextCounts, places: ItemPlaces) -> None:
        self._counts = counts
        self._places = places
        self._begun: dict[tuple[int, int], int] = {}  # by the rule of the array and the text

    def is_so(self, item: OpenItem) -> bool:
        """Whether all that an item under way may become was there."""
        return item.ahead != EMPTY and self._counts.count(self.begun(item)) <= self._places.sets.count(item.ahead)

    @property
    def size_bytes(self) -> int:
        """Bytes in use, about."""
        return ENTRY_BYTES * len(self._begun)

    def begun(self, item: OpenItem) -> int:
        """Number of what has been read of an item, among beginnings of texts."""
        rule, texts, way = item.array.rule, self._places.texts, [item.text]
        while (rule, way[-1]) not in self._begun and way[-1] != NO_TEXT:
            way.append(texts.shorter(way[-1]))
        begun = self._begun.get((rule, way.pop()), self._counts.begin(rule))
        for text in reversed(way):
            begun = self._begun[rule, text] = self._counts.after(begun, texts.last(text))
        return begun
