"""Characters as numbers, and back to bytes: code points that no set of a pattern tells apart are one character.

A `CharacterRows` is the part of an automaton that reads the bytes of one character outside ASCII and leads where that
character leads. This module knows no patterns.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from operator import itemgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.dialects.lexemes.program import Work
from grammar_cache.expression import MAX_CODE_POINT, SURROGATES, Range

Run: TypeAlias = tuple[int, int, int]
"""First and last code point, and what they have in common."""

_WORK = 16
"""Sets of all runs of code points, for each state that is allowed."""
_FIRST_OF_LENGTH = (0x80, 0x800, 0x10000)
"""The first code points of two, three and four bytes."""


@dataclass(frozen=True, slots=True)
class Alphabet:
    """`ascii` int64[128]: the character of each ASCII code point. `runs`: the other code points, without surrogates.

    Runs have a number in common, for which `beyond` has the character.
    """

    ascii: NDArray[np.int64]
    runs: tuple[Run, ...]
    beyond: list[int]
    size: int
    contains: list[frozenset[int]]
    """Characters in each set."""


def alphabet(sets: Sequence[tuple[Range, ...]], limit: int) -> Alphabet:
    """The characters that the sets tell apart. Raises LimitExceeded(rule_states)."""
    ascii_sets: list[list[int]] = [[] for _ in range(128)]
    for index, ranges in enumerate(sets):
        for low, high in ranges:
            if low > 127:
                break
            for point in range(low, min(high, 127) + 1):
                ascii_sets[point].append(index)
    places: dict[tuple[Range, ...], list[int]] = {}  # the sets that are alike beyond ASCII
    for index, ranges in enumerate(sets):
        places.setdefault(ranges[bisect_left(ranges, 0x80, key=itemgetter(1)) :], []).append(index)
    runs, signatures = _runs(tuple(places), limit)
    alike = list(places.values())
    number: dict[frozenset[int], int] = {}
    ascii_chars = [number.setdefault(frozenset(found), len(number)) for found in ascii_sets]
    beyond = [number.setdefault(frozenset(i for p in s for i in alike[p]), len(number)) for s in signatures]
    contains: list[set[int]] = [set() for _ in sets]
    for members, char in number.items():
        for index in members:
            contains[index].add(char)
    return Alphabet(np.array(ascii_chars), runs, beyond, len(number), list(map(frozenset, contains)))


@lru_cache(maxsize=64)
def _runs(sets: tuple[tuple[Range, ...], ...], limit: int) -> tuple[tuple[Run, ...], tuple[frozenset[int], ...]]:
    """The code points beyond ASCII in runs with the number of a signature: the sets that contain them."""
    changes: dict[int, set[int]] = {0x80: set(), SURROGATES[0]: set(), SURROGATES[1] + 1: set()}
    for index, ranges in enumerate(sets):
        for low, high in ranges:
            for edge in (max(low, 0x80), high + 1):
                changes.setdefault(edge, set()).symmetric_difference_update({index})
    changes.setdefault(MAX_CODE_POINT + 1, set())
    edges = sorted(changes)
    work = Work(limit, _WORK * limit)
    signatures: dict[frozenset[int], int] = {}
    runs: list[Run] = []
    inside: frozenset[int] = frozenset()
    for low, after in pairwise(edges):
        inside ^= changes[low]
        work.spend(len(inside))
        if not SURROGATES[0] <= low <= SURROGATES[1]:
            runs.append((low, after - 1, signatures.setdefault(inside, len(signatures))))
    return tuple(runs), tuple(signatures)


@dataclass(frozen=True, slots=True)
class CharacterRows:
    """Automaton that reads one character outside ASCII: rows of entries by byte, minimal.

    `first` int32[128]: by the first byte, from 0x80. `levels` int32[rows, 64] each: by a continuation byte, the rows
    that read the last byte before those that read the last but one, and so on. An entry is the number of a row, from 1
    through all levels; `leads_to(target)`; or one of the targets -1 and -2, which stand for themselves, and are
    reached by the first byte that allows no other. Encodings that are invalid have the target `fill`.
    """

    first: NDArray[np.int32]
    levels: tuple[NDArray[np.int32], ...]


def leads_to(target: int) -> int:
    """Mark in a `CharacterRows` for a character that leads to the target of that number (from 0)."""
    return -3 - target


@lru_cache(maxsize=32)
def fragment(runs: tuple[Run, ...], targets: tuple[int, ...], fill: int) -> CharacterRows:
    """The fragment in which each character leads to the target of its run; `fill` is -1 or -2."""
    merged: list[Run] = []
    for low, high, common in runs:
        target = targets[common]
        if merged and merged[-1][2] == target and merged[-1][1] == low - 1:
            merged[-1] = (merged[-1][0], high, target)
        else:
            merged.append((low, high, target))
    return _Builder(merged, fill).fragment()


class _Builder:
    """Interns rows bottom-up. Depth is the number of continuation bytes: at most three."""

    def __init__(self, runs: list[Run], fill: int) -> None:
        self._lows = [low for low, _, _ in runs]
        self._runs = runs
        self._fill = fill
        self._rows: dict[tuple[int, ...], int] = {}
        self._depths: list[int] = []
        self._uniform: dict[tuple[int, int], int] = {}

    def fragment(self) -> CharacterRows:
        first = np.full(128, self._fill, np.int32)
        at = 0
        for depth, lead, last, base in ((1, 0xC2, 0xDF, 0xC0), (2, 0xE0, 0xEF, 0xE0), (3, 0xF0, 0xF4, 0xF0)):
            for byte in range(lead, last + 1):
                low = (byte - base) << 6 * depth
                at = self._advance(at, low)
                found = self._node(at, low, depth, _FIRST_OF_LENGTH[depth - 1])
                first[byte - 0x80] = self._fill if found is None else found
        rows = np.array(list(self._rows), np.int32).reshape(-1, 64)
        depths = np.array(self._depths, np.int32)
        order = np.argsort(depths, kind="stable")
        number = np.empty(len(order) + 1, np.int32)
        number[order + 1] = np.arange(1, len(order) + 1)
        rows = np.where(rows > 0, number[np.maximum(rows, 0)], rows)[order]
        levels = tuple(rows[depths[order] == depth] for depth in range(1, max(self._depths, default=0) + 1))
        return CharacterRows(np.where(first > 0, number[np.maximum(first, 0)], first), levels)

    def _advance(self, at: int, low: int) -> int:
        """The run that holds a code point, or the last one before it, from an earlier one on."""
        while at + 1 < len(self._runs) and self._lows[at + 1] <= low:
            at += 1
        return at

    def _node(self, at: int, low: int, depth: int, least: int) -> int | None:
        """Node that reads the last `depth` bytes of the code points from `low` on; None if none of them is valid."""
        last = low + (1 << 6 * depth) - 1
        start, end, label = self._runs[at]
        if last < least or low > MAX_CODE_POINT:
            return None
        if start <= low and last <= end and low >= least:
            return self._whole(label, depth)
        if depth == 1:
            return self._row(self._last_bytes(at, low), depth)
        children: list[int | None] = []
        size = 1 << 6 * (depth - 1)
        for child in range(low, last + 1, size):
            at = self._advance(at, child)
            children.append(self._node(at, child, depth - 1, least))
        return self._row(children, depth)

    def _last_bytes(self, at: int, low: int) -> list[int | None]:
        """Target of each of the 64 code points from `low` on."""
        children: list[int | None] = [None] * 64
        for start, end, label in islice(self._runs, at, None):
            if start >= low + 64:
                break
            for point in range(max(start, low), min(end + 1, low + 64)):
                children[point - low] = self._whole(label, 0)
        return children

    def _whole(self, label: int, depth: int) -> int:
        if label < 0:
            return label
        if depth == 0:
            return leads_to(label)
        key = (label, depth)
        if key not in self._uniform:
            self._uniform[key] = self._row([self._whole(label, depth - 1)] * 64, depth) or 0
        return self._uniform[key]

    def _row(self, children: list[int | None], depth: int) -> int | None:
        valid = {child for child in children if child is not None}
        if not valid:
            return None
        if len(valid) == 1 and (only := next(iter(valid))) in (-1, -2):
            return only
        row = tuple(self._fill if child is None else child for child in children)
        if row not in self._rows:
            self._rows[row] = len(self._rows) + 1
            self._depths.append(depth)
        return self._rows[row]
