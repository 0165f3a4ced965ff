"""Strings of a vocabulary that go along earlier items.

Most of the texts of a set are those of the set before them, and so are the parts of its trie: what goes along a part is
found once. This module knows sets and strings, but no grammar.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.unique_items.compact_texts import Lexical
from grammar_cache.unique_items.item_sets import ItemSets, SetEdge
from grammar_cache.unique_items.item_tokens import ItemTokens
from grammar_cache.unique_items.places import ENDS

_SMALL = 16
"""Strings along a part, below which they are sought again each time."""

PART_BYTES, STRING_BYTES = 400, 20
"""Bytes of a part that is known, and of each string along it, about."""

_Key: TypeAlias = tuple[Lexical | None, bytes, SetEdge]
"""State behind which white space is left out, or None; bytes before an edge; and the edge."""


class Along(NamedTuple):
    """Strings that texts of a set begin with, and what is missing behind each: the set of that number, or where it is
    below 0, texts that all begin with the byte ~rest. `over`: strings that are a text and an end of an item behind it.
    """

    strings: list[int]
    rests: list[int]
    over: list[int]

    def add(self, other: Along) -> None:
        """Adds those along another part."""
        self.strings.extend(other.strings)
        self.rests.extend(other.rests)
        self.over.extend(other.over)


class _Part(NamedTuple):
    """Part of a trie under way: bytes before it, its edges that are still to be looked at, what is found along it."""

    key: _Key | None
    before: bytes
    edges: Iterator[SetEdge]
    found: Along


class StringsAlong:
    """Strings of a vocabulary along sets of texts."""

    def __init__(self, tokens: ItemTokens, sets: ItemSets, room: int) -> None:
        """`room`: bytes for what is known, the least recently used of which goes first."""
        self.tokens = tokens
        self._sets = sets
        self._known: LruCache[_Key, Along] = LruCache(room)

    @property
    def size(self) -> int:
        """Bytes of what is known."""
        return self._known.size

    def plain(self, texts: int) -> Along:
        """Strings that texts of a set begin with, byte by byte."""
        return self._along(self.tokens.strings, None, texts)

    def of(self, texts: int, state: Lexical) -> list[int]:
        """All strings that go along texts of a set, behind a text in that state."""
        return self.plain(texts).strings + self.spaced(texts, state)[0]

    def spaced(self, texts: int, state: Lexical) -> tuple[list[int], list[int]]:
        """Strings whose white space doesn't count behind a text in that state: those that texts of a set begin with,
        and those that are one and an end of an item behind it.
        """
        compact = self.tokens.compact[state]
        found = self._along(compact.texts, state, texts)
        inside = [compact.numbers[place] for place in found.strings]
        return inside + self.tokens.gaps(state), [compact.numbers[place] for place in found.over]

    def _along(self, strings: Sequence[bytes], state: Lexical | None, texts: int) -> Along:
        """Places of the strings, which ascend."""
        parts = [_Part(None, b"", iter(self._sets.edges(texts)), Along([], [], []))]
        while True:
            part = parts[-1]
            edge = next(part.edges, None)
            if edge is None:
                parts.pop()
                if part.key is not None and len(part.found.strings) >= _SMALL:
                    size = PART_BYTES + STRING_BYTES * (len(part.found.strings) + len(part.found.over))
                    self._known.keep(part.key, part.found, size)
                if not parts:
                    return part.found
                parts[-1].found.add(part.found)
                continue
            further = self._sets.edges(edge[1])
            if not further:
                self._along_edge(strings, part.before, edge, part.found)
                continue
            key = state, part.before, edge
            found = self._known.get(key)
            if found is not None:
                part.found.add(found)
                continue
            found = Along([], [], [])
            behind = self._along_edge(strings, part.before, edge, found)
            parts.append(_Part(key, behind or b"", iter(further if behind else ()), found))

    def _along_edge(self, strings: Sequence[bytes], before: bytes, edge: SetEdge, found: Along) -> bytes | None:
        """Adds what ends on an edge, given the bytes before it. Gives the bytes up to its end; None where no string
        reads so far.
        """
        part, (label, after, begin) = before, edge
        for past in range(begin + 1, len(label) + 1):
            part = before + label[begin:past]
            place = bisect_left(strings, part)
            if place == len(strings) or not strings[place].startswith(part):
                return None
            is_end = past == len(label)
            while place < len(strings) and strings[place] == part:  # without white space several may be the same
                found.strings.append(place)
                found.rests.append(after if is_end else ~label[past])
                place += 1
            if is_end and self._sets.ends(after) and place < len(strings) and strings[place].startswith(part):
                for end in ENDS:
                    first, last = part + bytes((end,)), part + bytes((end + 1,))
                    found.over.extend(range(bisect_left(strings, first, place), bisect_left(strings, last, place)))
        return part
