"""The fewest pieces of a set that spell a text: no tokenizer with these pieces makes fewer tokens of it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from grammar_cache.jit import jit
from grammar_cache.vocabulary.trie import Children, Trie

_NONE = 1 << 60
"""No pieces spell the text up to there."""


class FewestPieces:
    """Fewest pieces of a text, from a fixed set of pieces; any thread may ask."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        strings = sorted(set(pieces) - {b""})
        self._longest = max(map(len, strings), default=0)
        self._children = Children.of(Trie.of(strings))

    def more_than(self, text: bytes, most: int) -> bool:
        """Whether every way to spell the text takes more pieces than that. False where there is no way.

        Stops where it knows. Time: bytes that are read x length of pieces.
        """
        data = np.frombuffer(text, np.uint8)
        found: int = _fewest(
            data,
            self._children.first,
            self._children.node,
            self._children.byte,
            self._children.ends,
            self._longest,
            most,
        )
        return bool(most < found < _NONE)


@jit
def _fewest(
    data: NDArray[np.uint8],
    first: NDArray[np.int32],
    node: NDArray[np.int32],
    byte: NDArray[np.uint8],
    ends: NDArray[np.bool_],
    longest: int,
    most: int,
) -> int:
    """Breadth first over places in the text; `most + 1` as soon as all that is left takes more than `most`."""
    size = longest + 1
    fewest = np.full(size, _NONE, np.int64)  # fewest pieces of the places from here on, by place modulo size
    fewest[0] = 0
    within = 0  # the last place that at most `most` pieces reach
    beyond = False
    for at in range(len(data)):
        here = fewest[at % size]
        fewest[at % size] = _NONE
        if here > most:
            beyond = beyond or here < _NONE
            if at - within > longest:
                return most + 1 if beyond else _NONE
            continue
        within = at
        walk = 0
        for end in range(at, len(data)):
            low, high = first[walk], first[walk + 1]
            while low < high:
                middle = (low + high) // 2
                if byte[middle] < data[end]:
                    low = middle + 1
                else:
                    high = middle
            if low == first[walk + 1] or byte[low] != data[end]:
                break
            walk = node[low]
            if ends[low]:
                fewest[(end + 1) % size] = min(fewest[(end + 1) % size], here + 1)
    found: int = fewest[len(data) % size]
    return most + 1 if beyond and found == _NONE else found
