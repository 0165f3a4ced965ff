"""Tokens of a vocabulary that matter to items: those that go along earlier items, and those with a comma."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from grammar_cache.loops.array_types import Ints
from grammar_cache.unique_items.item_sets import ItemSets
from grammar_cache.unique_items.places import ENDS, GAPS
from grammar_cache.vocabulary.vocabulary import Vocabulary

_WORDS = frozenset(word[first:] for word in (b"true", b"false", b"null") for first in range(len(word)))
_LAST = frozenset(b'"0123456789')


class ItemTokens:
    """Strings of a vocabulary, by number.

    `ending`: those with a byte that ends an item, `leaving`: with a bracket. `commas`: those with a comma behind what
    may end a scalar, by what is before it: numbers, each with what is behind it. `ends`: ids of tokens that begin with
    a byte that ends an item.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._strings = vocabulary.strings
        self._token_offsets, self._token_list = vocabulary.token_offsets, vocabulary.token_list
        behind = sorted((text.lstrip(GAPS), n) for n, text in enumerate(self._strings) if text[0] in GAPS)
        self._behind_gaps = [text for text, _ in behind]
        self._numbers = [number for _, number in behind]
        self._gaps = self._numbers[: bisect_right(self._behind_gaps, b"")]
        self.ending = frozenset(n for n, text in enumerate(self._strings) if not ENDS.isdisjoint(text))
        self.leaving = frozenset(n for n in self.ending if b"]" in self._strings[n])
        self.commas = _commas(self._strings)
        self.ends = np.array(self.ids(n for n in self.ending if self._strings[n][0] in ENDS), np.int32)

    def ids(self, strings: Iterable[int]) -> list[int]:
        """All ids of some strings."""
        first, ids = self._token_offsets, self._token_list
        return [token for string in strings for token in ids[first[string] : first[string + 1]].tolist()]

    def first_ids(self, strings: Iterable[int]) -> Ints:
        """One id of each of some strings."""
        return self._token_list[self._token_offsets[np.fromiter(strings, np.int64)]]

    def along(self, sets: ItemSets, texts: int, *, gaps: bool) -> tuple[list[int], list[int]]:
        """Strings that texts of a set begin with, and those that are one and an end of an item behind it. `gaps`: also
        those with white space before it, and those of white space alone.
        """
        inside, over = self._along(sets, texts, self._strings)
        if gaps:
            behind, over_behind = self._along(sets, texts, self._behind_gaps)
            inside += [*self._gaps, *(self._numbers[place] for place in behind)]
            over += [self._numbers[place] for place in over_behind]
        return inside, over

    def longest(self, text: bytes) -> int | None:
        """The longest string that a text begins with."""
        found = None
        for size in range(1, len(text) + 1):
            place = bisect_left(self._strings, text[:size])
            if place == len(self._strings) or not self._strings[place].startswith(text[:size]):
                break
            if len(self._strings[place]) == size:
                found = place
        return found

    @staticmethod
    def _along(sets: ItemSets, texts: int, strings: Sequence[bytes]) -> tuple[list[int], list[int]]:
        def begins(part: bytes) -> bool:
            place = bisect_left(strings, part)
            return place < len(strings) and strings[place].startswith(part)

        inside, over = list[int](), list[int]()
        for part, is_whole in sets.prefixes(texts, begins):
            inside.extend(range(bisect_left(strings, part), bisect_right(strings, part)))
            for end in ENDS if is_whole else ():
                first, past = part + bytes((end,)), part + bytes((end + 1,))
                over.extend(range(bisect_left(strings, first), bisect_left(strings, past)))
        return inside, over


class KnownItemTokens:
    """Item tokens of one vocabulary, found once: see `Vocabulary.cache`."""

    def __init__(self) -> None:
        self._found: ItemTokens | None = None

    def of(self, vocabulary: Vocabulary) -> ItemTokens:
        """Item tokens of the vocabulary that this is a cache of."""
        if self._found is None:
            self._found = ItemTokens(vocabulary)
        return self._found


def _commas(strings: Sequence[bytes]) -> dict[bytes, list[tuple[int, bytes]]]:
    found: dict[bytes, list[tuple[int, bytes]]] = {}
    for string, before, behind in _parted(strings):
        found.setdefault(before, []).append((string, behind))
    return found


def _parted(strings: Sequence[bytes]) -> Iterator[tuple[int, bytes, bytes]]:
    for number, text in enumerate(strings):
        place = text.find(b",")
        while place >= 0:
            before = text[:place]
            if not before or before[-1] in _LAST or before.lstrip(GAPS) in _WORDS:
                yield number, before, text[place + 1 :]
            place = text.find(b",", place + 1)
