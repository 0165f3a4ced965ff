"""Successors of many configurations, as flat arrays, and shortest ways through them.

Configurations are places in an enumeration. A process that shares the work writes pieces of it as bytes, and reads
those of others. Their arrays are checked to be whole; who reads them trusts that tokens lead where they say, or looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grammar_cache.arrays.checks import divides, require, within
from grammar_cache.arrays.format import Kinds, pack, unpack
from grammar_cache.distances.additive import INFINITE
from grammar_cache.loops.array_types import Ints

_WHAT, _FORMAT = b"swyb-pre", 1
_KINDS: Kinds = dict.fromkeys(("first", "target", "string", "beyond", "beyond_string", "least_beyond"), ("<i4", 1))


@dataclass(frozen=True, slots=True, eq=False)
class SuccessorGraph:
    """Successors of each configuration i: places `target`, and a `string` that leads to each, from `first[i]` on.

    `beyond`: by configuration, the least bound of those that tokens lead to and that are not in the enumeration;
    `beyond_string` leads there. `least_beyond`: how few tokens might do from any of them. INFINITE where none are.
    """

    first: Ints
    target: Ints
    string: Ints
    beyond: Ints
    beyond_string: Ints
    least_beyond: Ints

    @staticmethod
    def empty(size: int) -> SuccessorGraph:
        """Graph of so many configurations, of which nothing is known."""
        none = np.empty(0, np.int32)
        infinite = np.full(size, INFINITE, np.int32)
        return SuccessorGraph(np.zeros(size + 1, np.int32), none, none, infinite, np.full(size, -1, np.int32), infinite)

    @staticmethod
    def joined(pieces: Sequence[SuccessorGraph]) -> SuccessorGraph:
        """One piece of all, in their order."""
        sizes = np.concatenate([[0], *(np.diff(piece.first) for piece in pieces)])
        rest = {name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in _KINDS if name != "first"}
        return SuccessorGraph(first=np.cumsum(sizes, dtype=np.int32), **rest)

    def solved(self, bounds: Ints) -> Ints:
        """The least of the bounds and of all ways to another bound, each target a token away."""
        [rows] = np.nonzero(np.diff(self.first))
        begins = self.first[rows]
        while len(rows):
            ahead = np.minimum.reduceat(bounds[self.target], begins) + 1
            nearer = ahead < bounds[rows]
            if not nearer.any():
                break
            bounds = bounds.copy()
            bounds[rows[nearer]] = ahead[nearer]
        return bounds

    def onward(self, solved: Ints, place: int, lengths: Ints) -> int:
        """The string that begins a way of the solved length: the shortest, then the least."""
        own = slice(int(self.first[place]), int(self.first[place + 1]))
        strings: list[int] = self.string[own][solved[self.target[own]] + 1 == solved[place]].tolist()
        if self.beyond[place] + 1 == solved[place]:
            strings.append(int(self.beyond_string[place]))
        return min(strings, key=lambda string: (lengths[string], string))

    def to_bytes(self) -> bytes:
        return pack(_WHAT, _FORMAT, {}, {name: getattr(self, name) for name in _KINDS})

    @staticmethod
    def from_bytes(data: bytes, size: int, places: int, strings: int) -> SuccessorGraph:
        """Graph of so many configurations, in an enumeration of so many places. Raises ArtefactError."""
        _, arrays = unpack(data, _WHAT, _FORMAT, _KINDS)
        piece = SuccessorGraph(**arrays)
        beyond = (piece.beyond, piece.beyond_string, piece.least_beyond)
        require(all(len(array) == size for array in beyond), "a piece is of other configurations")
        whole = divides(piece.first, size, len(piece.target)) and len(piece.string) == len(piece.target)
        named = within(piece.string, 0, strings) and within(piece.beyond_string, -1, strings)
        bounded = within(piece.beyond, 0, INFINITE + 1) and within(piece.least_beyond, 0, INFINITE + 1)
        require(whole and named and bounded and within(piece.target, 0, places), "a piece is not whole")
        return piece
