"""The distinct byte strings of a vocabulary as a preorder trie of flat arrays, ready for a compiled walk.

Preorder with skips makes a walk one loop: at node i go on to i + 1, or to `skip[i]` to leave out everything
that begins like i. This module knows byte strings only: no token ids, no tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.loops.jit import jit


@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """Node 0 is the root (the empty string; its byte means nothing). Siblings stand in byte order."""

    byte: NDArray[np.uint8]
    """[nodes] The last byte of the node's string."""
    depth: NDArray[np.int32]
    """[nodes] The length of the node's string."""
    skip: NDArray[np.int32]
    """[nodes] The first node behind this node's subtree; the number of nodes where none follows."""
    string: NDArray[np.int32]
    """[nodes] The index of the string that ends here, or -1. Ascending in preorder."""

    @staticmethod
    def of(strings: Sequence[bytes]) -> Trie:
        """The trie of sorted, distinct, non-empty strings."""
        data, offsets = flatten(strings)
        byte, depth, skip, string = _build(data, offsets)
        return Trie(byte, depth, skip, string)

    @property
    def size(self) -> int:
        """The number of nodes, the root included."""
        return len(self.byte)

    def byte_weights(self) -> NDArray[np.int64]:
        """[256] How many nodes begin with each byte."""
        first = np.flatnonzero(self.depth == 1)
        weights = np.zeros(256, np.int64)
        weights[self.byte[first]] = self.skip[first] - first
        return weights

    def first_bytes(self) -> NDArray[np.uint8]:
        """[nodes] The byte that the node's string begins with; that of the root means nothing."""
        first = np.flatnonzero(self.depth <= 1)
        return np.repeat(self.byte[first], np.diff(first, append=self.size))

    def deepest(self) -> NDArray[np.int32]:
        """[nodes] The length of the longest string that begins with the node's."""
        found: NDArray[np.int32] = _deepest(self.depth, self.skip)
        return found


class Children(NamedTuple):
    """The children of node i, in byte order, stand from `first[i]` to `first[i + 1]`. `ends`: where a string does."""

    first: NDArray[np.int32]
    node: NDArray[np.int32]
    byte: NDArray[np.uint8]
    ends: NDArray[np.bool_]

    @staticmethod
    def of(trie: Trie) -> Children:
        first, node = _children(trie.depth)
        return Children(first, node, trie.byte[node], trie.string[node] >= 0)


def flatten(strings: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """All strings in one array, and where each begins: string i is `data[offsets[i] : offsets[i + 1]]`."""
    offsets = np.zeros(len(strings) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, strings), np.int32, len(strings)), out=offsets[1:])
    return np.frombuffer(bytearray(b"".join(strings)), np.uint8), offsets


@jit
def _build(
    data: NDArray[np.uint8], offsets: NDArray[np.int32]
) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    capacity = len(data) + 1  # no string shares a prefix with the one before it
    byte = np.zeros(capacity, np.uint8)
    depth = np.zeros(capacity, np.int32)
    skip = np.zeros(capacity, np.int32)
    string = np.full(capacity, -1, np.int32)
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    path = np.zeros(longest + 1, np.int32)  # by depth, the nodes whose subtrees are still open; the root stays so
    opened, nodes = 0, 1
    for s in range(len(offsets) - 1):
        start, length = offsets[s], offsets[s + 1] - offsets[s]
        shared = 0
        while shared < min(opened, length) and byte[path[shared + 1]] == data[start + shared]:
            shared += 1
        for level in range(shared + 1, opened + 1):
            skip[path[level]] = nodes
        for level in range(shared + 1, length + 1):
            byte[nodes] = data[start + level - 1]
            depth[nodes] = level
            path[level] = nodes
            nodes += 1
        string[nodes - 1] = s
        opened = length
    for level in range(opened + 1):
        skip[path[level]] = nodes
    return byte[:nodes].copy(), depth[:nodes].copy(), skip[:nodes].copy(), string[:nodes].copy()


@jit
def _children(depth: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    parent = np.zeros(len(depth), np.int32)
    first = np.zeros(len(depth) + 1, np.int32)
    path = np.zeros(depth.max() + 1, np.int32)
    for i in range(1, len(depth)):
        path[depth[i]] = i
        parent[i] = path[depth[i] - 1]
        first[parent[i] + 1] += 1
    for i in range(len(depth)):
        first[i + 1] += first[i]
    node, at = np.empty(len(depth) - 1, np.int32), first[:-1].copy()
    for i in range(1, len(depth)):
        node[at[parent[i]]] = i
        at[parent[i]] += 1
    return first, node


@jit
def _deepest(depth: NDArray[np.int32], skip: NDArray[np.int32]) -> NDArray[np.int32]:
    found = depth.copy()
    for i in range(len(depth) - 1, -1, -1):
        child = i + 1
        while child < skip[i]:
            found[i] = max(found[i], found[child])
            child = skip[child]
    return found
