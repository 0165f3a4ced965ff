"""Tokens of a vocabulary that matter to items: those that go along earlier items, and those with a comma."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from grammar_cache.loops.array_types import Ints
from grammar_cache.unique_items.compact_texts import GAPS, Lexical, compacted
from grammar_cache.unique_items.item_sets import ItemSets
from grammar_cache.unique_items.places import ENDS
from grammar_cache.vocabulary.vocabulary import Vocabulary

_WORDS = frozenset(word[first:] for word in (b"true", b"false", b"null") for first in range(len(word)))
_LAST = frozenset(b'"}]0123456789')
_FIRST_BYTES = frozenset(bytes((byte,)) for byte in b'"{}[],:-0123456789tfn')
"""Beginnings of tokens of a JSON text."""
_GAP_BYTES = frozenset(GAPS)


class _Strings(NamedTuple):
    """Strings that are others without white space: those in order, and the number of each."""

    texts: Sequence[bytes]
    numbers: Sequence[int]


class ItemTokens:
    """Strings of a vocabulary, by number.

    `ending`: those with a byte that ends an item, `leaving`: with a bracket. `commas`: those with a comma behind what
    may end an item, by what is before it: numbers, each with what is behind it. `ends`: ids of tokens that begin with a
    byte that ends an item. `unspelled`: ids of tokens with a byte that is no token by itself.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._strings = vocabulary.strings
        self._token_offsets, self._token_list = vocabulary.token_offsets, vocabulary.token_list
        spaced, quoted = _with(GAPS, vocabulary), _with(b'"', vocabulary)
        self._gaps = [number for number in spaced if not self._strings[number].strip(GAPS)]
        self._compact = {state: self._compacted(spaced & quoted, state) for state in (Lexical.STRING, Lexical.ESCAPE)}
        self._compact |= dict.fromkeys((Lexical.BETWEEN, Lexical.GAP), self._compacted(spaced, Lexical.GAP))
        self.ending = _with(ENDS, vocabulary)
        self.leaving = _with(b"]", vocabulary)
        self.commas = self._commas(_with(b",", vocabulary))
        ends = np.array([text[0] in ENDS for text in self._strings] + [False])  # -1 is no string
        self.ends = np.flatnonzero(ends[vocabulary.string_of]).astype(np.int32)
        single = {text[0] for text in map(vocabulary.spelling.__getitem__, vocabulary.single_bytes.tolist()) if text}
        self.unspelled = np.sort(self.first_ids(_with(set(range(256)) - single, vocabulary)))

    def ids(self, strings: Iterable[int]) -> list[int]:
        """All ids of some strings."""
        first, ids = self._token_offsets, self._token_list
        return [token for string in strings for token in ids[first[string] : first[string + 1]].tolist()]

    def first_ids(self, strings: Iterable[int]) -> Ints:
        """One id of each of some strings."""
        return self._token_list[self._token_offsets[np.fromiter(strings, np.int64)]]

    def along(self, sets: ItemSets, texts: int, state: Lexical) -> tuple[list[int], list[int]]:
        """Strings that texts of a set begin with, and those that are one and an end of an item behind it. They follow a
        text in that state.
        """
        inside, over = self._along(sets, texts, self._strings)
        compact = self._compact[state]
        further, further_over = self._along(sets, texts, compact.texts)
        inside += [compact.numbers[place] for place in further]
        over += [compact.numbers[place] for place in further_over]
        if not state.in_string:
            inside += self._gaps
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

    def _compacted(self, strings: Iterable[int], state: Lexical) -> _Strings:
        """Strings, of some, whose white space doesn't count behind a text in that state."""
        found: list[tuple[bytes, int]] = []
        for number in strings:
            text = self._strings[number]
            rest = text if state.in_string else text.lstrip(GAPS)
            if rest is text or rest[:1] in _FIRST_BYTES:
                compact, _ = compacted(rest, state)
                if compact != text:
                    found.append((compact, number))
        found.sort()
        return _Strings([text for text, _ in found], [number for _, number in found])

    def _commas(self, strings: Iterable[int]) -> dict[bytes, list[tuple[int, bytes]]]:
        found: dict[bytes, list[tuple[int, bytes]]] = {}
        for string in sorted(strings):
            for before, behind in _parted(self._strings[string]):
                found.setdefault(before, []).append((string, behind))
        return found

    @staticmethod
    def _along(sets: ItemSets, texts: int, strings: Sequence[bytes]) -> tuple[list[int], list[int]]:
        def begins(part: bytes) -> bool:
            place = bisect_left(strings, part)
            return place < len(strings) and strings[place].startswith(part)

        inside, over = list[int](), list[int]()
        for part, is_whole in sets.prefixes(texts, begins):
            begin, longer = bisect_left(strings, part), bisect_right(strings, part)
            inside.extend(range(begin, longer))
            goes_on = is_whole and longer < len(strings) and strings[longer].startswith(part)
            for end in ENDS if goes_on else ():
                first, past = part + bytes((end,)), part + bytes((end + 1,))
                over.extend(range(bisect_left(strings, first, longer), bisect_left(strings, past, longer)))
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


def _with(marks: Iterable[int], vocabulary: Vocabulary) -> frozenset[int]:
    """The strings that have one of some bytes."""
    met = np.concatenate(([0], np.cumsum(np.isin(vocabulary.data, list(marks)))))[vocabulary.data_offsets]
    return frozenset(vocabulary.string_of[np.flatnonzero(np.diff(met))].tolist()) - {-1}


def _parted(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Bytes before and behind each comma that an item may end before."""
    place = text.find(b",")
    while place >= 0:
        before = text[:place]
        if not before or before[-1] in _LAST or before.lstrip(GAPS) in _WORDS:
            yield before, text[place + 1 :]
        place = text.find(b",", place + 1)
