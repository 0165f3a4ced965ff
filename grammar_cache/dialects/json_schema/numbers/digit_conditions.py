"""Conditions on a magnitude, as automata that read its digits, most significant first.

Both kinds have the same methods. Their states are numbers below `size`, the first one `start`. `whole` and `fraction`
say where each digit leads that stands at a place before or behind the point, int[size, 10]; `point` what the state
becomes at the point, int[size], and `ends` whether the condition holds where the number ends, bool[size].
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.dialects.json_schema.numbers.multiples import fewest, remainders, without_tens
from grammar_cache.loops.array_types import Flags

_TINIEST = 1_000
LONGEST_BOUND = 60
"""Digits that bounds may have, before the point."""
LONGEST = LONGEST_BOUND + 1
"""Digits that numbers may have, before the point: one more than a bound that they have to reach."""

_Table: TypeAlias = NDArray[np.integer]

_LESS, _EQUAL, _MORE = range(3)
_AGAINST = np.sign(np.arange(10) - np.arange(10)[:, None]) + _EQUAL
"""Comparison of each digit with another one, by the other one."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a magnitude with `value`, which is not negative: `allowed` of -1, 0 and 1."""

    value: Decimal
    allowed: frozenset[int]

    def digits(self) -> tuple[str, str]:
        if not self.value:
            return "0", ""  # however many zeros it is written with
        if self.value.adjusted() < -_TINIEST:
            return "0", "0" * _TINIEST + "1"
        whole, _, fraction = f"{self.value:f}".partition(".")
        return whole, fraction


@dataclass(frozen=True, slots=True)
class Division:
    """Whether the magnitude is a multiple of `step`, which is positive."""

    step: Decimal
    wanted: bool


Condition: TypeAlias = Comparison | Division


class ConditionAutomaton(Protocol):
    """Automaton of one condition."""

    size: int
    start: int

    def whole(self, place: int) -> _Table: ...

    def point(self, count: int) -> _Table:
        """States behind the point, before which so many digits stand."""

    def fraction(self, place: int) -> _Table: ...

    def ends(self, count: int) -> Flags:
        """Whether it holds behind so many digits after the point."""

    def may_hold(self, least: int, most: int) -> Flags:
        """Whether between `least` and `most` digits more may make it hold, as far as that is told."""


class Compared:
    """States: less, equal, or more so far."""

    size = 3
    start = _EQUAL

    def __init__(self, comparison: Comparison) -> None:
        self._whole, self._fraction = comparison.digits()
        self._allowed = np.array([order in comparison.allowed for order in (-1, 0, 1)])

    def whole(self, place: int) -> _Table:
        return self._read(self._whole, place)

    def point(self, count: int) -> _Table:
        longer = count - len(self._whole)
        return np.arange(3) if longer == 0 else np.full(3, _MORE if longer > 0 else _LESS)

    def fraction(self, place: int) -> _Table:
        return self._read(self._fraction, place)

    def ends(self, count: int) -> Flags:
        left = self._fraction[count:].strip("0")
        return self._allowed[[_LESS, _LESS if left else _EQUAL, _MORE]]

    def may_hold(self, least: int, most: int) -> Flags:
        return np.ones(3, np.bool_)

    @staticmethod
    def _read(digits: str, place: int) -> _Table:
        table = np.repeat(np.arange(3), 10).reshape(3, 10)
        table[_EQUAL] = _AGAINST[int(digits[place]) if place < len(digits) else 0]
        return table


class Divided:
    """States: one for what may equally follow."""

    start = 0

    def __init__(self, division: Division, fraction: int) -> None:
        tens, divisor = without_tens(division.step, fraction)
        self._next, self._holds = fewest(*remainders(min(tens, LONGEST + fraction), divisor))
        self._digits = fraction
        self._wanted = division.wanted
        self._before = [self._holds]
        """States from which so many digits may lead to one that holds."""
        self.size = len(self._holds)

    def whole(self, place: int) -> _Table:
        return self._next

    def point(self, count: int) -> _Table:
        return np.arange(self.size)

    def fraction(self, place: int) -> _Table:
        return self._next

    def ends(self, count: int) -> Flags:
        state = np.arange(self.size)
        for _ in range(count, self._digits):
            state = self._next[state, 0]
        holds: Flags = self._holds[state]
        return holds if self._wanted else ~holds

    def may_hold(self, least: int, most: int) -> Flags:
        if not self._wanted:
            return np.ones(self.size, np.bool_)
        while len(self._before) <= most:
            self._before.append(np.logical_or.reduce(self._before[-1][self._next], axis=1))
        may: Flags = np.logical_or.reduce(self._before[least : most + 1])
        return may
