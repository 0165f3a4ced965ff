"""Compiled loops of sets of tokens: the few words of a set, written to all words of a mask."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.loops.array_types import FrozenInts, FrozenOctets, Ints, Octets
from grammar_cache.loops.jit import jit_inline, jit_no_arrays


@jit_no_arrays
def write_words_of(tokens: Ints, places: Ints, words: Ints) -> int:
    """Writes the places of the words that hold tokens, which ascend, and these words: how many there are."""
    count = 0
    for token in tokens:
        if count == 0 or places[count - 1] != token >> 5:
            places[count], words[count] = token >> 5, 0
            count += 1
        words[count - 1] |= np.int32(1) << np.int32(token & 31)
    return count


@jit_no_arrays
def some_of(words: Ints | FrozenInts, places: Ints, some: Ints) -> int:
    """Writes the places of the words that aren't 0, and these words: how many there are; -1 where there is no room."""
    count = 0
    for place in range(len(words)):
        if words[place] != 0:
            if count == len(places):
                return -1
            places[count], some[count] = place, words[place]
            count += 1
    return count


@jit_no_arrays
def sum_of(words: Ints | FrozenInts) -> int:
    """The sum of all words."""
    total = np.int64(0)
    for word in words:
        total += word
    return int(total)


@jit_no_arrays
def equal(words: Ints | FrozenInts, others: Ints | FrozenInts) -> bool:
    """Whether as many words are the same."""
    differing = np.int32(0)
    for place in range(len(words)):
        differing |= words[place] ^ others[place]
    return bool(differing == 0)


@jit_no_arrays
def write_words(words: NDArray[np.int32], places: NDArray[np.int32], some: NDArray[np.int32]) -> None:
    """Writes words to their places, and 0 elsewhere."""
    words[:] = 0
    for number in range(len(places)):
        words[places[number]] = some[number]


@jit_no_arrays
def add_words(words: NDArray[np.int32], places: NDArray[np.int32], some: NDArray[np.int32]) -> None:
    """Adds the bits of words to those at their places."""
    for number in range(len(places)):
        words[places[number]] |= some[number]


@jit_no_arrays
def mark_all(bits: Octets | FrozenOctets, flags: NDArray[np.uint64]) -> None:
    """Marks the ids of all bits: a flag is a byte, and a number in `flags` holds those of eight ids."""
    for place in range(len(bits)):
        flags[place] |= _spread(bits[place])


@jit_no_arrays
def mark_some(places: NDArray[np.int32], words: NDArray[np.int32], flags: NDArray[np.uint64]) -> None:
    """`mark_all` for the few words of a set, at their places."""
    for number in range(len(places)):
        for part in range(4):
            flags[4 * places[number] + part] |= _spread((words[number] >> (8 * part)) & 255)


@jit_inline
def _spread(byte: int) -> np.uint64:
    """The bits of a byte as bytes, the lowest first: each copy of it keeps its own bit, which a sum carries up."""
    own = (np.uint64(byte) * np.uint64(0x0101010101010101)) & np.uint64(0x8040201008040201)
    return ((own + np.uint64(0x7F7F7F7F7F7F7F7F)) >> np.uint64(7)) & np.uint64(0x0101010101010101)
