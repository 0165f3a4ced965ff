"""Tokens of a vocabulary that matter to items: those that go along an earlier item, and those with a comma."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from grammar_cache.unique_items.places import ENDS, GAPS
from grammar_cache.vocabulary.vocabulary import Vocabulary

_WORDS = frozenset(word[first:] for word in (b"true", b"false", b"null") for first in range(len(word)))
_LAST = frozenset(b'"0123456789')


class ItemTokens:
    """Strings of a vocabulary, by number.

    `gaps`: those of white space alone. `ends`: those that end an item, or an array, before anything else. `leaving`:
    those with a comma or a bracket, `ending` those with white space too. `commas`: those with a comma behind what may
    end a scalar, each with what is before it and what behind it.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._strings = vocabulary.strings
        self._token_offsets, self._token_list = vocabulary.token_offsets, vocabulary.token_list
        stripped = [text.lstrip(GAPS) for text in self._strings]
        behind = sorted((text, n) for n, text in enumerate(stripped) if len(text) < len(self._strings[n]))
        self._behind_gaps = [text for text, _ in behind]
        self._numbers = [number for _, number in behind]
        self.gaps = frozenset(self._numbers[: bisect_right(self._behind_gaps, b"")])
        self.ends = frozenset(n for n, text in enumerate(stripped) if text[:1] in (b"", b",", b"]"))
        self.ending = frozenset(n for n, text in enumerate(self._strings) if not ENDS.isdisjoint(text))
        self.leaving = frozenset(n for n in self.ending if b"," in self._strings[n] or b"]" in self._strings[n])
        self.ending = frozenset(n for n, text in enumerate(self._strings) if not ENDS.isdisjoint(text))
        self.commas = tuple(_commas(self._strings))

    def ids(self, strings: Iterable[int]) -> list[int]:
        """All ids of some strings."""
        first, ids = self._token_offsets, self._token_list
        return [token for string in strings for token in ids[first[string] : first[string + 1]].tolist()]

    def first_ids(self, strings: Iterable[int]) -> list[int]:
        """One id of each of some strings."""
        return [int(self._token_list[self._token_offsets[string]]) for string in strings]

    def inside(self, text: bytes, *, gaps: bool) -> Iterator[int]:
        """Strings that a text begins with; `gaps`: also behind white space."""
        yield from _inside(self._strings, text)
        if gaps:
            yield from (self._numbers[place] for place in _inside(self._behind_gaps, text))

    def over(self, text: bytes, *, gaps: bool) -> Iterator[int]:
        """Strings that are a text and an end of an item behind it; `gaps`: also behind white space."""
        if not text:
            yield from self.ends
            return
        yield from _over(self._strings, text)
        if gaps:
            yield from (self._numbers[place] for place in _over(self._behind_gaps, text))


class KnownItemTokens:
    """Item tokens of one vocabulary, found once: see `Vocabulary.cache`."""

    def __init__(self) -> None:
        self._found: ItemTokens | None = None

    def of(self, vocabulary: Vocabulary) -> ItemTokens:
        """Item tokens of the vocabulary that this is a cache of."""
        if self._found is None:
            self._found = ItemTokens(vocabulary)
        return self._found


def _inside(texts: Sequence[bytes], text: bytes) -> Iterator[int]:
    """Places among ascending texts."""
    for size in range(1, len(text) + 1):
        part = text[:size]
        first = bisect_left(texts, part)
        if first == len(texts) or not texts[first].startswith(part):
            return
        yield from range(first, bisect_right(texts, part))


def _over(texts: Sequence[bytes], text: bytes) -> Iterator[int]:
    """Places among ascending texts."""
    for end in ENDS:
        yield from range(bisect_left(texts, text + bytes((end,))), bisect_left(texts, text + bytes((end + 1,))))


def _commas(strings: Sequence[bytes]) -> Iterator[tuple[int, bytes, bytes]]:
    for number, text in enumerate(strings):
        place = text.find(b",")
        while place >= 0:
            before = text[:place]
            if not before or before[-1] in _LAST or before.lstrip(GAPS) in _WORDS:
                yield number, before, text[place + 1 :]
            place = text.find(b",", place + 1)
