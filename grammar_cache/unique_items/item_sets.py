"""Sets of texts of items, each as one integer: tries whose nodes are shared.

Sets of the same texts are the same number, in whatever order these were added. So are the rests of one set behind the
same bytes; those of two sets may be two numbers in the midst of a label. A node stands for the rests of all texts that
begin as the way to it reads. Nodes never change: a set with a text more shares all nodes but those on the way of that
text.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from itertools import takewhile
from typing import NamedTuple

EMPTY = 0
"""Number of the set without texts."""

NODE_BYTES, EDGE_BYTES = 300, 120
"""Bytes of a node and of an edge, with what they hold, about; labels apart."""


class SetEdge(NamedTuple):
    """Edge of a trie: all texts that begin with its first byte begin as the `label` reads from `begin` on.

    Rests have the labels of the sets that they are rests of, so that those of a long text take no more room than it.
    """

    label: bytes
    node: int
    begin: int = 0

    @property
    def head(self) -> int:
        """The first byte."""
        return self.label[self.begin]

    @property
    def size(self) -> int:
        """Number of bytes."""
        return len(self.label) - self.begin

    def first(self, most: int) -> bytes:
        """The bytes, at most so many."""
        return self.label[self.begin : self.begin + most]


class SetNode(NamedTuple):
    """Node of a trie. `ends`: the empty text is there. Edges ascend, and so do their `heads`."""

    ends: bool
    edges: tuple[SetEdge, ...]
    heads: bytes


def set_node(ends: bool, edges: tuple[SetEdge, ...]) -> SetNode:
    """Gives a node."""
    return SetNode(ends, edges, bytes([edge.head for edge in edges]))


class ItemSets:
    """Sets of texts, numbered as they are met."""

    def __init__(self) -> None:
        self._nodes: list[SetNode] = []
        self._numbers: dict[SetNode, int] = {}
        self._counts: list[int] = []
        self.size_bytes = 0
        """Bytes in use, about."""
        self._number(set_node(False, ()))

    def node(self, number: int) -> SetNode:
        """The node of a set."""
        return self._nodes[number]

    def count(self, number: int) -> int:
        """Number of the texts of a set."""
        return self._counts[number]

    def with_text(self, number: int, text: bytes) -> int:
        """The set with one text more."""
        way: list[tuple[SetNode, int, bytes]] = []  # nodes, the place of the edge that is taken, and its label
        left = text
        while True:
            node = self._nodes[number]
            place = node.heads.find(left[:1]) if left else -1
            if place < 0:
                break
            label, after, begin = node.edges[place]
            assert begin == 0, "rests take no more texts"
            shared = _shared(label, left)
            if shared < len(label):  # the edge is parted
                after = self._number(set_node(False, (SetEdge(label[shared:], after),)))
                label = label[:shared]
            way.append((node, place, label))
            number, left = after, left[shared:]
        node = self._nodes[number]
        if left:
            edges = tuple(sorted((*node.edges, SetEdge(left, self._number(set_node(True, ()))))))
            number = self._number(set_node(node.ends, edges))
        else:
            number = self._number(set_node(True, node.edges))
        for node, place, label in reversed(way):
            edges = (*node.edges[:place], SetEdge(label, number), *node.edges[place + 1 :])
            number = self._number(set_node(node.ends, edges))
        return number

    def rests(self, number: int, data: bytes) -> int:
        """Rests of the texts that begin so, behind that; `EMPTY` if there are none."""
        while data:
            node = self._nodes[number]
            place = node.heads.find(data[:1])
            if place < 0:
                return EMPTY
            edge = node.edges[place]
            part = edge.first(len(data))
            if not data.startswith(part):
                return EMPTY
            if len(data) < edge.size:
                return self._number(set_node(False, (edge._replace(begin=edge.begin + len(data)),)))
            number, data = edge.node, data[len(part) :]
        return number

    def beginning(self, number: int, heads: Container[int]) -> int:
        """The set of those texts that begin with one of some bytes, and of the empty one if it is there."""
        node = self._nodes[number]
        return self._number(set_node(node.ends, tuple([edge for edge in node.edges if edge.head in heads])))

    def texts(self, number: int) -> Iterator[bytes]:
        """The texts of a set."""
        todo = [(b"", number)]
        while todo:
            before, at = todo.pop()
            if self._nodes[at].ends:
                yield before
            todo += [(before + edge.first(edge.size), edge.node) for edge in self._nodes[at].edges]

    def prefixes(self, number: int, goes_on: Callable[[bytes], bool]) -> Iterator[tuple[bytes, bool]]:
        """Beginnings of the texts, the empty one left out, and whether each is a whole text; none that begins as one
        from which it doesn't go on.
        """
        todo = [(b"", number)]
        while todo:
            before, at = todo.pop()
            for edge in self._nodes[at].edges:
                parts = (before + edge.first(size) for size in range(1, edge.size + 1))
                read = list(takewhile(goes_on, parts))
                ends = len(read) == edge.size
                yield from ((part, ends and part == read[-1] and self._nodes[edge.node].ends) for part in read)
                if ends:
                    todo.append((read[-1], edge.node))

    def _number(self, node: SetNode) -> int:
        known = self._numbers.get(node)
        if known is None:
            known = self._numbers[node] = len(self._nodes)
            self._nodes.append(node)
            self._counts.append(node.ends + sum(self._counts[edge.node] for edge in node.edges))
            labels = sum(0 if edge.begin else edge.size for edge in node.edges)
            self.size_bytes += NODE_BYTES + EDGE_BYTES * len(node.edges) + labels
        return known


def _shared(one: bytes, other: bytes) -> int:
    """Number of first bytes that are the same."""
    size = min(len(one), len(other))
    if one[:size] == other[:size]:
        return size
    return next(place for place in range(size) if one[place] != other[place])
