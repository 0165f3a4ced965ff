"""The fewest tokens of the vocabulary that spell a text: a dynamic program over its places, from the end.

How many tokens the rest of a text takes depends on where it begins and on nothing else. The trie gives all strings that
match at each place, so the work is the length of the text times that of the longest token, at most. A model's own
tokenizer need not find the fewest: it merges pairs in the order in which it learned them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.jit import jit
from grammar_cache.vocabulary.trie import Children
from grammar_cache.vocabulary.vocabulary import Vocabulary


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


@jit
def _fill(text: NDArray[np.uint8], children: Children, string: NDArray[np.int32], first: NDArray[np.int32]) -> None:
    """Writes `first[place]`, the string that begins the shortest spelling of the rest; leaves -1 where none does."""
    fewest = np.full(len(text) + 1, len(text) + 1, np.int32)  # more than there are: not known
    fewest[len(text)] = 0
    for place in range(len(text) - 1, -1, -1):
        node = 0
        for end in range(place, len(text)):
            begin, past = children.first[node], children.first[node + 1]
            child = begin + np.searchsorted(children.byte[begin:past], text[end])
            if child == past or children.byte[child] != text[end]:
                break
            node = children.node[child]
            if children.ends[child] and fewest[end + 1] + 1 <= fewest[place]:
                fewest[place] = fewest[end + 1] + 1
                first[place] = string[node]
