"""Trie of a vocabulary's strings with bytes taken for their classes: strings that differ within classes are one.

Where nothing tells the bytes of a class apart, such as inside of a text of bounded length, this trie says of all tokens
what the vocabulary's own says, with a few thousand nodes where that has hundreds of thousands. This module knows bytes
and their classes, but no grammar.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.loops.array_types import IntRows, Ints
from grammar_cache.loops.jit import jit
from grammar_cache.vocabulary.trie import Trie
from grammar_cache.vocabulary.vocabulary import Vocabulary

CACHE_BYTES = 8 << 20
"""Some eight tries of 128,256 tokens: what is found along a trie is kept, so few are asked for again."""
MOST_CLASSES = 32
"""Classes of bytes in a trie: of 600 real schemas none has a trie of more than 30 that is small enough."""
SHARE = 8
"""The vocabulary's nodes for each node that a trie of classes may have."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassTrie:
    """Trie whose bytes are the least ones of their classes. Tokens of string s are
    `token_list[token_offsets[s] : token_offsets[s + 1]]`; nodes of the vocabulary's trie that are node i of this one
    are `node_list[node_first[i] : node_first[i + 1]]`, ascending, but for those that no longer string begins with.
    `string_of[i]` is the least of the vocabulary's strings that are node i, or -1.
    """

    trie: Trie
    token_offsets: Ints
    token_list: Ints
    node_first: Ints
    node_list: Ints
    string_of: Ints

    @staticmethod
    def of(vocabulary: Vocabulary, classes: NDArray[np.uint8]) -> ClassTrie | None:
        """`classes` [256] are numbered from 0 on, by their least bytes. None where there would be many nodes."""
        whole, count = vocabulary.trie, int(classes.max()) + 1
        most = whole.size // SHARE
        if count > MOST_CLASSES:
            return None
        size, into, children = _merged(whole.byte, whole.depth, classes, count, most)
        if size > most:
            return None
        least = np.unique(classes, return_index=True)[1].astype(np.uint8)
        place, byte, depth, skip = _in_order(children[:size], least)
        string, *lists = _lists(into, place, whole.string, whole.skip, vocabulary.token_offsets, vocabulary.token_list)
        return ClassTrie(Trie(byte, depth, skip, string), *lists)

    @property
    def size_bytes(self) -> int:
        lists = self.token_offsets.nbytes + self.token_list.nbytes + self.node_first.nbytes + self.node_list.nbytes
        return lists + (13 + 4) * self.trie.size

    def listed(self, nodes: Ints, known: Ints) -> tuple[Ints, Ints]:
        """The vocabulary's nodes that are some of these, if longer strings begin with them; and what is `known` of the
        ones that they are.
        """
        return _listed(nodes, known, self.node_first, self.node_list)


class ClassTrieCache(LruCache[bytes, tuple[ClassTrie, ...]]):
    """Tries by their classes, for one vocabulary: see `Vocabulary.cache`. Empty tuples: there would be many nodes."""

    def __init__(self) -> None:
        super().__init__(CACHE_BYTES)

    def of(self, vocabulary: Vocabulary, classes: NDArray[np.uint8]) -> ClassTrie | None:
        """The trie of such classes, made where it isn't known; see `ClassTrie.of`."""
        key = classes.tobytes()
        known = self.get(key)
        if known is None:
            made = ClassTrie.of(vocabulary, classes)
            known = () if made is None else (made,)
            self.keep(key, known, 200 + len(key) + sum(one.size_bytes for one in known))
        return known[0] if known else None


@jit
def _listed(nodes: Ints, known: Ints, first: Ints, members: Ints) -> tuple[Ints, Ints]:
    """The members of each node, one after the other, and what is known of the node that each is of."""
    count = 0
    for node in nodes:
        count += first[node + 1] - first[node]
    found, repeated, place = np.empty(count, np.int32), np.empty(count, np.int32), 0
    for k in range(len(nodes)):
        for member in members[first[nodes[k]] : first[nodes[k] + 1]]:
            found[place], repeated[place] = member, known[k]
            place += 1
    return found, repeated


@jit
def _merged(
    byte: NDArray[np.uint8], depth: Ints, classes: NDArray[np.uint8], count: int, most: int
) -> tuple[int, Ints, Ints]:
    """The node that each node of a trie becomes, by first visit, and the child of each of those by class, or -1. The
    first item is how many there are: with one more than `most` the others mean nothing.
    """
    into, path = np.zeros(len(byte), np.int32), np.zeros(depth.max() + 1, np.int32)
    children, size = np.full((most + 1, count), -1, np.int32), 1
    for i in range(1, len(byte)):
        parent, own = path[depth[i] - 1], classes[byte[i]]
        node = children[parent, own]
        if node < 0:
            if size > most:
                return most + 1, into, children
            node = children[parent, own] = size
            size += 1
        into[i] = path[depth[i]] = node
    return size, into, children


@jit
def _in_order(children: IntRows, least: NDArray[np.uint8]) -> tuple[Ints, NDArray[np.uint8], Ints, Ints]:
    """Places of nodes in preorder; by place, their bytes, depths and skips."""
    size, count = children.shape
    place, byte = np.zeros(size, np.int32), np.zeros(size, np.uint8)
    depth, skip = np.zeros(size, np.int32), np.zeros(size, np.int32)
    path, next_class = np.zeros(size + 1, np.int32), np.zeros(size + 1, np.int32)
    level, made = 0, 1
    while level >= 0:
        own, node = next_class[level], path[level]
        while own < count and children[node, own] < 0:
            own += 1
        if own == count:
            skip[place[node]] = made
            level -= 1
            continue
        next_class[level] = own + 1
        level += 1
        path[level], next_class[level] = children[node, own], 0
        place[path[level]], byte[made], depth[made] = made, least[own], level
        made += 1
    return place, byte, depth, skip


@jit
def _lists(
    into: Ints, place: Ints, string: Ints, skip: Ints, offsets: Ints, ids: Ints
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """Numbers of strings by place, ascending, or -1; where the tokens of each string begin, and the tokens; where the
    nodes of each place begin that longer strings begin with, and these nodes; the least of the strings at each place.
    """
    size, least = len(place), np.full(len(place), -1, np.int32)
    tokens, nodes = np.zeros(size + 1, np.int32), np.zeros(size + 1, np.int32)
    for i in range(len(into)):
        own = place[into[i]] + 1
        nodes[own] += skip[i] > i + 1
        if string[i] >= 0:
            tokens[own] += offsets[string[i] + 1] - offsets[string[i]]
    number, first, total = np.full(size, -1, np.int32), np.zeros(size + 1, np.int32), 0
    for own in range(size):
        nodes[own + 1] += nodes[own]
        if tokens[own + 1] > 0:
            number[own] = total
            first[total + 1] = first[total] + tokens[own + 1]
            total += 1
        tokens[own + 1] += tokens[own]
    token_list, node_list = np.empty(tokens[size], np.int32), np.empty(nodes[size], np.int32)
    node_first = nodes.copy()
    for i in range(len(into)):
        own = place[into[i]]
        if skip[i] > i + 1:
            node_list[nodes[own]] = i
            nodes[own] += 1
        if string[i] >= 0:
            if least[own] < 0:
                least[own] = string[i]
            for t in range(offsets[string[i]], offsets[string[i] + 1]):
                token_list[tokens[own]] = ids[t]
                tokens[own] += 1
    return number, first[: total + 1].copy(), token_list, node_first, node_list, least
