"""The trie of all suffixes of a vocabulary's strings: how a text may go on from the middle of a token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grammar_cache.loops.array_types import Flags
from grammar_cache.vocabulary.trie import Children, Trie


@dataclass(frozen=True, slots=True, eq=False)
class SuffixTrie:
    """Trie of the strings and of all that they end with, and the children of its nodes.

    By node: whether its string is a `whole` one of the vocabulary, and whether any that is longer begins with it.
    """

    trie: Trie
    children: Children
    whole: Flags
    within: Flags

    @staticmethod
    def of(strings: Sequence[bytes]) -> SuffixTrie:
        """The trie of sorted, distinct, non-empty strings: for 128,000 tokens 0.7 seconds, 620,000 nodes, 15 MB."""
        suffixes = sorted({string[begin:] for string in strings for begin in range(len(string))})
        trie, known = Trie.of(suffixes), frozenset(strings)
        whole = np.zeros(trie.size, np.bool_)
        whole[trie.string >= 0] = np.fromiter((suffix in known for suffix in suffixes), np.bool_, len(suffixes))
        before = np.concatenate([[0], np.cumsum(whole)])
        within = before[trie.skip] > before[1:]
        return SuffixTrie(trie, Children.of(trie), whole, within)
