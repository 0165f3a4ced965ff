"""Fewest pieces of a set that spell a text: no tokenizer with these pieces makes fewer tokens of it.

How many pieces the rest of a text takes depends on where it begins and on nothing else. The trie gives all pieces that
match at each place, so the work is the length of the text times that of the longest piece, at most. A model's own
tokenizer need not find the fewest: it merges pairs in the order in which it learned them. One program goes backward and
tells the pieces; the other goes forward and only counts, so that it stops in a text that is far too long.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from grammar_cache.loops.array_types import FrozenOctets
from grammar_cache.loops.jit import jit
from grammar_cache.vocabulary.trie import Children, Trie
from grammar_cache.vocabulary.vocabulary import Vocabulary

_NONE = 1 << 60
"""No pieces spell the text up to there."""


def retokenised(text: bytes, vocabulary: Vocabulary) -> list[int] | None:
    """The fewest strings that spell exactly the text, the longest first where several do; None where none do."""
    first = np.full(len(text), -1, np.int32)
    _fill(np.frombuffer(text, np.uint8), vocabulary.children, vocabulary.trie.string, first)
    strings: list[int] = []
    place = 0
    while place < len(text):
        string = int(first[place])
        if string < 0:
            return None
        strings.append(string)
        place += len(vocabulary.strings[string])
    return strings


class FewestPieces:
    """Fewest pieces of a text, from a fixed set of pieces; any thread may ask."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        strings = sorted(set(pieces) - {b""})
        self._longest = max(map(len, strings), default=0)
        self._children = Children.of(Trie.of(strings))
        self._single = np.zeros(256, np.bool_)
        self._single[[piece[0] for piece in strings if len(piece) == 1]] = True

    def more_than(self, text: bytes, most: int) -> bool:
        """Whether every way to spell the text takes more pieces than that. False where there is no way.

        Stops where it knows. Time: bytes that are read x length of pieces.
        """
        data = np.frombuffer(text, np.uint8)
        if len(text) > most * self._longest and self._single[data].all():
            return True
        found: int = _fewest(data, self._children, self._longest, most)
        return bool(most < found < _NONE)


@jit
def _child(children: Children, node: int, byte: int) -> int:
    """Place of a node's child by its byte, or -1."""
    first, past = children.first[node], children.first[node + 1]
    at = first + np.searchsorted(children.byte[first:past], byte)
    return -1 if at == past or children.byte[at] != byte else int(at)


@jit
def _fill(text: FrozenOctets, children: Children, string: NDArray[np.int32], first: NDArray[np.int32]) -> None:
    """Writes `first[place]`, the string that begins the shortest spelling of the rest; leaves -1 where none does."""
    fewest = np.full(len(text) + 1, len(text) + 1, np.int32)  # more than there are: not known
    fewest[len(text)] = 0
    for place in range(len(text) - 1, -1, -1):
        node = 0
        for end in range(place, len(text)):
            child = _child(children, node, text[end])
            if child < 0:
                break
            node = children.node[child]
            if children.ends[child] and fewest[end + 1] + 1 <= fewest[place]:
                fewest[place] = fewest[end + 1] + 1
                first[place] = string[node]


@jit
def _fewest(text: FrozenOctets, children: Children, longest: int, most: int) -> int:
    """Breadth first over places in the text; `most + 1` as soon as all that is left takes more than `most`."""
    size = longest + 1
    fewest = np.full(size, _NONE, np.int64)  # fewest pieces of the places from here on, by place modulo size
    fewest[0] = 0
    within = 0  # the last place that at most `most` pieces reach
    beyond = False
    for at in range(len(text)):
        here = fewest[at % size]
        fewest[at % size] = _NONE
        if here > most:
            beyond = beyond or here < _NONE
            if at - within > longest:
                return most + 1 if beyond else _NONE
            continue
        within = at
        node = 0
        for end in range(at, len(text)):
            child = _child(children, node, text[end])
            if child < 0:
                break
            node = children.node[child]
            if children.ends[child]:
                fewest[(end + 1) % size] = min(fewest[(end + 1) % size], here + 1)
    found: int = fewest[len(text) % size]
    return most + 1 if beyond and found == _NONE else found
