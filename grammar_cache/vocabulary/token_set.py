"""Sets of tokens, one bit each: little-endian, in multiples of 32. This module knows no grammar and no vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.loops.array_types import Ints
from grammar_cache.vocabulary.token_set_kernels import (
    add_words,
    mark_all,
    mark_some,
    some_of,
    write_words,
    write_words_of,
)

Bits = NDArray[np.uint8]

_SPARSE = 16
"""Words per stored word: a set keeps only the words that aren't 0 if they are fewer than one in so many."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class TokenBits:
    """A set that doesn't change. `places`: which of `size` words of 32 bits the `words` are; None: all of them."""

    words: NDArray[np.int32]
    places: NDArray[np.int32] | None
    size: int

    @staticmethod
    def of(bits: Bits) -> TokenBits:
        """Takes the array over: nobody writes to it any more."""
        words = bits.view(np.int32)
        places, some = np.empty((2, len(words) // _SPARSE), np.int32)
        count = some_of(words, places, some)
        if count < 0:
            return TokenBits(words, None, len(words))
        return TokenBits(some[:count].copy(), places[:count].copy(), len(words))

    @staticmethod
    def of_tokens(tokens: Ints, size_bytes: int) -> TokenBits:
        """A set by its members, ascending, in so many bytes: quicker than `of` where they are few."""
        places, words = np.empty((2, len(tokens)), np.int32)
        count = write_words_of(tokens, places, words)
        return TokenBits(words[:count].copy(), places[:count].copy(), size_bytes // 4)

    @property
    def size_bytes(self) -> int:
        return int(self.words.nbytes) + (0 if self.places is None else int(self.places.nbytes))

    def __contains__(self, token: int) -> bool:
        place = token >> 5
        if self.places is not None:
            word = np.int32(place)
            place = int(self.places.searchsorted(word))
            if place == len(self.places) or self.places[place] != word:
                return False
        return bool(int(self.words[place]) >> (token & 31) & 1)

    def write_to(self, words: NDArray[np.int32]) -> None:
        """Writes the set over what stands in `size` words."""
        if self.places is None:
            words[:] = self.words
        else:
            write_words(words, self.places, self.words)

    def add_to(self, words: NDArray[np.int32]) -> None:
        """Adds the set to the one in `size` words."""
        if self.places is None:
            np.bitwise_or(words, self.words, out=words)
        else:
            add_words(words, self.places, self.words)

    def mark(self, flags: NDArray[np.uint64]) -> None:
        """Marks the members, a byte each: a number holds eight."""
        if self.places is None:
            mark_all(self.words.view(np.uint8), flags)
        else:
            mark_some(self.places, self.words, flags)

    def whole(self) -> Bits:
        """All bits; read-only."""
        return _frozen(self.words.view(np.uint8) if self.places is None else self.copy())

    def copy(self) -> Bits:
        """All bits, to be changed."""
        if self.places is None:
            return self.words.copy().view(np.uint8)
        words = np.empty(self.size, np.int32)
        self.write_to(words)
        return words.view(np.uint8)


def mask_bytes(vocabulary_size: int) -> int:
    """Bytes of the bits of a vocabulary."""
    return 4 * -(-vocabulary_size // 32)


def allowed(tokens: Iterable[int], size: int) -> Bits:
    """A set by its members, in so many bytes."""
    bits = np.zeros(size, np.uint8)
    for token in tokens:
        bits[token >> 3] |= 1 << (token & 7)
    return bits


def union(sets: Sequence[TokenBits], size: int) -> Bits:
    """The tokens of all of them, in so many bytes; read-only."""
    if not sets:
        return _frozen(np.zeros(size, np.uint8))
    if len(sets) == 1:
        return sets[0].whole()
    largest = max(sets, key=lambda one: len(one.words))
    bits = largest.copy()
    for one in sets:
        if one is not largest:
            one.add_to(bits.view(np.int32))
    return _frozen(bits)


def flags(sets: Sequence[TokenBits], size: int) -> NDArray[np.bool_]:
    """The tokens of all of them, as a flag for each of `size` ids; read-only. NumPy takes twice as long."""
    eights = np.zeros(mask_bytes(size), np.uint64)
    for one in sets:
        one.mark(eights)
    eights.flags.writeable = False
    return eights.view(np.bool_)[:size]


def _frozen(bits: Bits) -> Bits:
    bits.flags.writeable = False
    return bits
