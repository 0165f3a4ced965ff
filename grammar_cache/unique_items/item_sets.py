"""Sets of texts of items, each as one integer: tries whose nodes are shared.

Sets of the same texts are the same number, in whatever order these were added. So are the rests of one set behind the
same bytes; those of two sets may be two numbers in the midst of a label. A node stands for the rests of all texts that
begin as the way to it reads. Nodes never change: a set with a text more shares all nodes but those on the way of that
text.

Nodes and edges are plain tuples of bytes and numbers: Python's collector of garbage doesn't look through those again
and again, as it would through objects.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TypeAlias

EMPTY = 0
"""Number of the set without texts."""

NODE_BYTES, EDGE_BYTES, SLOT_BYTES = 300, 120, 9
"""Bytes of a node, of an edge that no other node has, its label apart, and of each edge in a node, about."""

PAIR_BYTES = 250
"""Bytes of a pair, about."""

SetEdge: TypeAlias = tuple[bytes, int, int]
"""Label, node, begin: all texts that begin with its first byte begin as the label reads from `begin` on. Rests have the
labels of the sets that they are rests of, so that those of a long text take no more room than it.
"""


class ItemSets:
    """Sets of texts, numbered as they are met."""

    def __init__(self) -> None:
        self._ends: list[bool] = []
        self._edges: list[tuple[SetEdge, ...]] = []
        self._heads: list[bytes] = []
        self._counts: list[int] = []
        self._numbers: dict[tuple[bool, tuple[SetEdge, ...]], int] = {}
        self._pairs: list[tuple[int, bytes, int]] = []
        self._pair_numbers: dict[tuple[int, bytes, int], int] = {}
        self.size_bytes = 0
        """Bytes in use, about."""
        self._number(False, (), b"")

    def ends(self, number: int) -> bool:
        """Whether the empty text is in a set."""
        if number < 0:
            base, text, begin = self._pairs[~number]
            return begin == len(text) or self._ends[base]
        return self._ends[number]

    def edges(self, number: int) -> tuple[SetEdge, ...]:
        """Edges of a set's node, which ascend."""
        return self._edges[self._whole(number)]

    def heads(self, number: int) -> bytes:
        """First bytes of a set's texts, the first bytes of its edges: they ascend."""
        if number < 0:
            base, text, begin = self._pairs[~number]
            return bytes(sorted({*self._heads[base], *text[begin : begin + 1]}))
        return self._heads[number]

    def forget_pairs(self) -> None:
        """Forgets all pairs: their numbers may stand for others."""
        self.size_bytes -= sum(PAIR_BYTES + (0 if begin else len(text)) for _, text, begin in self._pairs)
        self._pairs.clear()
        self._pair_numbers.clear()

    def shared(self, number: int, head: bytes) -> bytes:
        """Bytes that all of a set's texts begin with that begin with one byte; none if there are no such texts."""
        if number < 0:
            base, text, begin = self._pairs[~number]
            own, other = text[begin:] if text.startswith(head, begin) else b"", self.shared(base, head)
            return own[: _shared(own, other)] if own and other else own or other
        place = self._heads[number].find(head)
        if place < 0:
            return b""
        label, _, begin = self._edges[number][place]
        return label[begin:]

    def count(self, number: int) -> int:
        """Number of the texts of a set."""
        return self._counts[number] if number >= 0 else self._counts[self._pairs[~number][0]] + 1

    def beside(self, number: int, text: bytes) -> int:
        """The set with one text more that isn't in it, to be looked at: another number than `with_text` gives."""
        return self._pair(self._whole(number), text, 0)

    def with_text(self, number: int, text: bytes) -> int:
        """The set with one text more."""
        way: list[tuple[int, int, bytes]] = []  # nodes, the place of the edge that is taken, and its label
        number, left = self._whole(number), text
        while True:
            place = self._heads[number].find(left[:1]) if left else -1
            if place < 0:
                break
            label, after, begin = self._edges[number][place]
            label = label[begin:]
            shared = _shared(label, left)
            if shared < len(label):  # the edge is parted
                edge = label[shared:], after, 0
                label, after = label[:shared], self._number(False, (edge,), label[shared : shared + 1], edge)
            way.append((number, place, label))
            number, left = after, left[shared:]
        heads, edges = self._heads[number], self._edges[number]
        if left:
            place = sum(head < left[0] for head in heads)
            edge = left, self._number(True, (), b""), 0
            edges, heads = (*edges[:place], edge, *edges[place:]), heads[:place] + left[:1] + heads[place:]
            number = self._number(self._ends[number], edges, heads, edge)
        else:
            number = self._number(True, edges, heads)
        for node, place, label in reversed(way):
            edges, edge = self._edges[node], (label, number, 0)
            edges = (*edges[:place], edge, *edges[place + 1 :])
            number = self._number(self._ends[node], edges, self._heads[node], edge)
        return number

    def rests(self, number: int, data: bytes) -> int:
        """Rests of the texts that begin so, behind that; `EMPTY` if there are none."""
        if number < 0:
            base, text, begin = self._pairs[~number]
            rests = self.rests(base, data)
            return self._pair(rests, text, begin + len(data)) if text.startswith(data, begin) else rests
        while data:
            place = self._heads[number].find(data[:1])
            if place < 0:
                return EMPTY
            label, after, begin = self._edges[number][place]
            part = label[begin : begin + len(data)]
            if not data.startswith(part):
                return EMPTY
            past = begin + len(data)
            if past < len(label):
                edge = label, after, past
                return self._number(False, (edge,), label[past : past + 1], edge)
            number, data = after, data[len(part) :]
        return number

    def beginning(self, number: int, heads: Container[int]) -> int:
        """The set of those texts that begin with one of some bytes, and of the empty one if it is there."""
        number = self._whole(number)
        pairs = zip(self._heads[number], self._edges[number], strict=True)
        kept = [(head, edge) for head, edge in pairs if head in heads]
        return self._number(self._ends[number], tuple([edge for _, edge in kept]), bytes([head for head, _ in kept]))

    def copied(self, number: int, source: ItemSets, numbers: dict[int, int]) -> int:
        """The set that has a number elsewhere, and isn't a pair. `numbers`: of what is copied, by those elsewhere."""
        assert number >= 0, "pairs are only looked at"
        todo = [number]
        while todo:
            at = todo[-1]
            missing = [after for _, after, _ in source.edges(at) if after not in numbers]
            if missing:
                todo += missing
                continue
            todo.pop()
            if at not in numbers:
                edges = tuple([(label, numbers[after], begin) for label, after, begin in source.edges(at)])
                numbers[at] = self._number(source.ends(at), edges, source.heads(at), *edges)
        return numbers[number]

    def _whole(self, number: int) -> int:
        """A set itself, if it isn't a pair."""
        if number >= 0:
            return number
        base, text, begin = self._pairs[~number]
        return self.with_text(base, text[begin:])

    def _pair(self, base: int, text: bytes, begin: int) -> int:
        """Number of a set and the rest of a text that isn't in it."""
        pair = base, text, begin
        known = self._pair_numbers.get(pair)
        if known is None:
            known = self._pair_numbers[pair] = ~len(self._pairs)
            self._pairs.append(pair)
            self.size_bytes += PAIR_BYTES + (0 if begin else len(text))
        return known

    def _number(self, ends: bool, edges: tuple[SetEdge, ...], heads: bytes, *own: SetEdge) -> int:
        """Number of a node; `own`: those of its edges that no other node has, if it is new."""
        known = self._numbers.get((ends, edges))
        if known is None:
            known = self._numbers[ends, edges] = len(self._ends)
            self._ends.append(ends)
            self._edges.append(edges)
            self._heads.append(heads)
            self._counts.append(ends + sum([self._counts[after] for _, after, _ in edges]))
            labels = sum([0 if begin else len(label) for label, _, begin in own])
            self.size_bytes += NODE_BYTES + SLOT_BYTES * len(edges) + EDGE_BYTES * len(own) + labels
        return known


def _shared(one: bytes, other: bytes) -> int:
    """Number of first bytes that are the same."""
    size = min(len(one), len(other))
    if one[:size] == other[:size]:
        return size
    return next(place for place in range(size) if one[place] != other[place])
