"""Walk over the digits of a magnitude: the states of several conditions together, and which of them have equal futures.

States come in layers: those behind equally many digits, before or behind the point. Layers are found from the first
digit on, and merged from the last one back, since each leads to later ones only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.dialects.json_schema.numbers.digit_conditions import ConditionAutomaton
from grammar_cache.errors import LimitExceeded
from grammar_cache.loops.array_types import Flags, Ints

EXACT_DIGITS = 15
POINT = 10
END = 11
"""Columns of a state's row: first where the ten digits lead, then the point; -1 is nowhere. The last one says whether
a number may end there."""

MOST_STATES = 60_000
_MOST_PARTS = 1_000_000
"""States of the conditions, together, in a layer."""
_MOST_CODES = 1 << 62

_Parts: TypeAlias = NDArray[np.int32]
"""The state of each condition, int32[states, conditions]."""


@dataclass(slots=True, eq=False)
class _Way:
    """Moves from the states of a layer by some characters: at their columns, the places in `layer`, or -1."""

    columns: Sequence[int]
    places: NDArray[np.int64]
    layer: _Layer


@dataclass(slots=True, eq=False)
class _Layer:
    parts: _Parts
    ends: Flags
    ways: list[_Way] = field(default_factory=list)
    numbers: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    """Numbers of its states among those that differ in what may follow, -1 for those from which nothing does."""


class DigitWalk:
    """Walk over up to `whole` digits before the point, and up to `fraction` behind it."""

    def __init__(self, whole: int, fraction: int, conditions: Sequence[ConditionAutomaton]) -> None:
        self._whole = whole
        self._fraction = fraction
        self._conditions = conditions
        self._layers: list[_Layer] = []
        self._states = 0

    def merged(self) -> tuple[Ints, int]:
        """Rows of the states that differ in what may follow, int32[states, 12], and which is the start, or -1.

        Raises LimitExceeded(rules) where there are too many states.
        """
        self._explore()
        known: dict[bytes, int] = {}
        for layer in reversed(self._layers):
            rows = np.full((len(layer.parts), END + 1), -1, np.int32)
            for way in layer.ways:
                numbers = np.append(way.layer.numbers, -1)  # the last one is that of nowhere, also of an empty layer
                rows[:, way.columns] = numbers[way.places]
            rows[:, END] = layer.ends
            dead = ~layer.ends & (rows[:, :END] < 0).all(axis=1)
            content, width = rows.tobytes(), rows.strides[0]
            layer.numbers = np.array(
                [
                    -1 if gone else known.setdefault(content[at * width : (at + 1) * width], len(known))
                    for at, gone in enumerate(dead.tolist())
                ],
                np.int32,
            )
        found = np.frombuffer(b"".join(known), np.int32).reshape(-1, END + 1)
        return found, int(self._layers[0].numbers[0])

    def _explore(self) -> None:
        start = np.array([[condition.start for condition in self._conditions]], np.int32)
        first = _Layer(start, np.zeros(1, np.bool_))
        self._layers.append(first)
        after = self._after_digit(start, [condition.whole(0) for condition in self._conditions])
        layer = self._before_point(first, [0], after[:, :1], 1, self._fraction)
        pointed = [(1, layer)]
        layer = self._before_point(first, range(1, 10), after[:, 1:], 1, self._fraction + self._whole - 1)
        pointed.append((1, layer))
        for digits in range(1, self._whole):
            after = self._after_digit(layer.parts, [condition.whole(digits) for condition in self._conditions])
            most = self._fraction + self._whole - digits - 1
            layer = self._before_point(layer, range(10), after, digits + 1, most)
            pointed.append((digits + 1, layer))
        rooms: dict[int, list[tuple[int, _Layer]]] = {}
        for digits, layer in pointed:
            rooms.setdefault(min(self._fraction, EXACT_DIGITS - digits), []).append((digits, layer))
        for room, layers in rooms.items():
            if room > 0:
                self._behind_point(layers, room)

    def _before_point(self, before: _Layer, columns: Sequence[int], after: _Parts, digits: int, most: int) -> _Layer:
        """Adds the layer behind so many digits, to which `columns` lead; up to `most` digits may follow."""
        parts, places = self._distinct(after.reshape(-1, after.shape[-1]), self._fraction, most)
        layer = _Layer(parts, self._end(self._at_point(parts, digits), 0))
        before.ways.append(_Way(columns, places.reshape(after.shape[:2]), layer))
        self._layers.append(layer)
        return layer

    def _behind_point(self, layers: Sequence[tuple[int, _Layer]], room: int) -> None:
        """Adds the layers behind the point, where `room` digits fit."""
        pointed = [self._at_point(layer.parts, digits) for digits, layer in layers]
        parts, places = self._distinct(np.concatenate(pointed), self._fraction, self._fraction)
        behind = _Layer(parts, np.zeros(len(parts), np.bool_))
        self._layers.append(behind)
        for (_, layer), at in zip(layers, np.split(places, np.cumsum([len(rows) for rows in pointed])), strict=False):
            layer.ways.append(_Way([POINT], at[:, None], behind))
        for digits in range(room):
            after = self._after_digit(behind.parts, [condition.fraction(digits) for condition in self._conditions])
            left = self._fraction - digits - 1
            parts, places = self._distinct(after.reshape(-1, after.shape[-1]), left, left)
            layer = _Layer(parts, self._end(parts, digits + 1))
            behind.ways.append(_Way(range(10), places.reshape(-1, 10), layer))
            self._layers.append(layer)
            behind = layer

    def _after_digit(self, parts: _Parts, tables: Sequence[NDArray[np.integer]]) -> _Parts:
        """Parts behind each digit, int32[states, 10, conditions]."""
        return np.stack([table[column] for table, column in zip(tables, parts.T, strict=True)], axis=-1, dtype=np.int32)

    def _at_point(self, parts: _Parts, digits: int) -> _Parts:
        pairs = zip(self._conditions, parts.T, strict=True)
        return np.stack([condition.point(digits)[column] for condition, column in pairs], axis=-1, dtype=np.int32)

    def _end(self, parts: _Parts, digits: int) -> Flags:
        """Whether numbers may end there, behind so many digits after the point."""
        pairs = zip(self._conditions, parts.T, strict=True)
        ends: Flags = np.logical_and.reduce([condition.ends(digits)[column] for condition, column in pairs])
        return ends

    def _distinct(self, parts: _Parts, least: int, most: int) -> tuple[_Parts, NDArray[np.int64]]:
        """Each row once, and its place; -1 for those from which it is plain to see that no number ends, with so many
        digits more.
        """
        pairs = zip(self._conditions, parts.T, strict=True)
        alive = np.logical_and.reduce([condition.may_hold(least, most)[column] for condition, column in pairs])
        codes = np.zeros(len(parts), np.int64)
        count = 1
        for condition, column in zip(self._conditions, parts.T, strict=True):
            if count * condition.size > _MOST_CODES:
                found, codes = np.unique(codes, return_inverse=True)
                count = len(found)
            codes = codes * condition.size + column
            count *= condition.size
        _, first, inverse = np.unique(codes[alive], return_index=True, return_inverse=True)
        self._states += len(first)
        if self._states > MOST_STATES or len(first) * len(self._conditions) > _MOST_PARTS:
            message = f"multiples take more than {MOST_STATES} states, or too many with all numbers that are excluded"
            raise LimitExceeded(message, limit="rules")
        places = np.full(len(parts), -1, np.int64)
        places[alive] = inverse
        return parts[alive][first], places
