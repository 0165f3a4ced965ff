"""Tokens of a vocabulary that matter to items: those that go along earlier items, and those with a comma."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from grammar_cache.loops.array_types import Ints
from grammar_cache.unique_items.compact_texts import GAPS, Lexical, compacted
from grammar_cache.unique_items.places import ENDS
from grammar_cache.vocabulary.vocabulary import Vocabulary

_WORDS = frozenset(word[first:] for word in (b"true", b"false", b"null") for first in range(len(word)))
_LAST = frozenset(b'"}]0123456789')
_FIRST_BYTES = frozenset(bytes((byte,)) for byte in b'"{}[],:-0123456789tfn')
"""Beginnings of tokens of a JSON text."""
_OPENING = ord("[")
_BEFORE_ITEMS = frozenset((*GAPS, *b'",:[{'))
"""Bytes of a token that may stand before an array's first item: a key isn't among them."""


class CompactStrings(NamedTuple):
    """Strings that are others without white space: those in order, and the number of each."""

    texts: Sequence[bytes]
    numbers: Sequence[int]


class ItemTokens:
    """Strings of a vocabulary, by number: ascending.

    `compact`: by the state of a text, strings with white space that doesn't count behind it. `ending`: those with a
    byte that ends an item, `leaving`: with a bracket. `commas`: those with a comma behind what may end an item, by what
    is before it: numbers, each with what is behind it. `openings`: likewise those with a bracket that may open an
    array, and an item begun behind it. `ends`: ids of tokens that begin with a byte that ends an item.
    `unspelled`: ids of tokens with a byte that is no token by itself. `unquoted`: flags of strings without quotation
    marks and backslashes, which leave a text in a string or outside of one as it was.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.strings = vocabulary.strings
        self._token_offsets, self._token_list = vocabulary.token_offsets, vocabulary.token_list
        spaced, quoted = _with(GAPS, vocabulary), _with(b'"', vocabulary)
        self._gaps = [number for number in spaced if not self.strings[number].strip(GAPS)]
        self.compact = {state: self._compacted(spaced & quoted, state) for state in (Lexical.STRING, Lexical.ESCAPE)}
        self.compact |= dict.fromkeys((Lexical.BETWEEN, Lexical.GAP), self._compacted(spaced, Lexical.GAP))
        self.ending = _with(ENDS, vocabulary)
        self.leaving = _with(b"]", vocabulary)
        self.commas = self._parted(_with(b",", vocabulary), _at_commas)
        self.openings = self._parted(_with(b"[", vocabulary), _at_openings)
        self.unquoted = np.ones(len(self.strings), np.bool_)
        self.unquoted[list(quoted | _with(b"\\", vocabulary))] = False
        ends = np.array([text[0] in ENDS for text in self.strings] + [False])  # -1 is no string
        self.ends = np.flatnonzero(ends[vocabulary.string_of]).astype(np.int32)
        single = {text[0] for text in map(vocabulary.spelling.__getitem__, vocabulary.single_bytes.tolist()) if text}
        self.unspelled = np.sort(self.first_ids([*_with(set(range(256)) - single, vocabulary)]))

    def ids(self, strings: Sequence[int] | Ints) -> Ints:
        """All ids of some strings."""
        chosen = np.asarray(strings, np.int64)
        first, past = self._token_offsets[chosen], self._token_offsets[chosen + 1]
        counts = past - first
        return self._token_list[np.repeat(past - np.cumsum(counts), counts) + np.arange(counts.sum())]

    def first_ids(self, strings: Sequence[int] | Ints) -> Ints:
        """One id of each of some strings."""
        return self._token_list[self._token_offsets[np.asarray(strings, np.int64)]]

    def gaps(self, state: Lexical) -> list[int]:
        """Strings of white space that doesn't count behind a text in that state."""
        return [] if state.in_string else self._gaps

    def longest(self, text: bytes) -> int | None:
        """The longest string that a text begins with."""
        found = None
        for size in range(1, len(text) + 1):
            place = bisect_left(self.strings, text[:size])
            if place == len(self.strings) or not self.strings[place].startswith(text[:size]):
                break
            if len(self.strings[place]) == size:
                found = place
        return found

    def _compacted(self, strings: Iterable[int], state: Lexical) -> CompactStrings:
        """Strings, of some, whose white space doesn't count behind a text in that state."""
        found: list[tuple[bytes, int]] = []
        for number in strings:
            text = self.strings[number]
            rest = text if state.in_string else text.lstrip(GAPS)
            if rest is text or rest[:1] in _FIRST_BYTES:
                compact, _ = compacted(rest, state)
                if compact != text:
                    found.append((compact, number))
        found.sort()
        return CompactStrings([text for text, _ in found], [number for _, number in found])

    def _parted(
        self, strings: Iterable[int], parts: Callable[[bytes], Iterator[tuple[bytes, bytes]]]
    ) -> dict[bytes, list[tuple[int, bytes]]]:
        found: dict[bytes, list[tuple[int, bytes]]] = {}
        for string in sorted(strings):
            for before, behind in parts(self.strings[string]):
                found.setdefault(before, []).append((string, behind))
        return found


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


def _at_openings(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Bytes up to each bracket that may open an array, and an item's first bytes behind it."""
    for place, byte in enumerate(text):
        if byte not in _BEFORE_ITEMS:
            break
        if byte == _OPENING and text[place + 1 :].strip(GAPS):
            yield text[: place + 1], text[place + 1 :]


def _at_commas(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Bytes before and behind each comma that an item may end before."""
    place = text.find(b",")
    while place >= 0:
        before = text[:place]
        if not before or before[-1] in _LAST or before.lstrip(GAPS) in _WORDS:
            yield before, text[place + 1 :]
        place = text.find(b",", place + 1)
