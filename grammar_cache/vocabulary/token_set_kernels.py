"""Compiled loops of sets of tokens: the few words of a set, written to all words of a mask."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.jit import jit_no_arrays


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
