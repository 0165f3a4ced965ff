"""Numbers that are told by all their digits: multiples, and what is no multiple.

A walk over the digits, most significant first, without exponent. Its state says how the digits so far compare with
each bound, and what they leave over each divisor; equal futures are one state. The walk is finite, since digits are
capped: where there is a point, at 15 in all, which any reader that keeps 64-bit floats tells apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np

from grammar_cache.dialects.json_schema.expressions.combine import alt, seq
from grammar_cache.dialects.json_schema.expressions.right_linear import MOST_STATES, Define
from grammar_cache.dialects.json_schema.numbers.multiples import fewest, places, remainders, without_tens
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import NOTHING, Automaton, Bytes, Expression, Repeat

_EXACT_DIGITS = 15
_MOST_STATES = 60_000
_TINIEST = 1_000
_LONGEST = 60
"""Digits that bounds may have, before the point."""
_DIGITS = (20, 15, 12, 9, 7)
"""Digits before the point: the most with which states stay few, at least one more than divisor and bound have."""
_FEWEST = 4
"""Digits before the point even where states are many."""
_FEW = 500
_FURTHER = 6

_CHARACTERS = "0123456789"
_AGAINST = [tuple((digit > other) - (digit < other) for digit in range(10)) for other in range(10)]
"""Comparison of each digit with another one, by the other one."""
_START, _ZERO, _WHOLE, _POINT, _FRACTION = range(5)


class _State(NamedTuple):
    """`digits`: those of the whole or of the fraction, as the phase says. `room`: digits that the fraction may have.
    `parts`: the state of each condition."""

    phase: int
    digits: int
    room: int
    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a magnitude with `value`, which is not negative: `allowed` of -1, 0 and 1."""

    value: Decimal
    allowed: frozenset[int]

    def digits(self) -> tuple[str, str]:
        if self.value and self.value.adjusted() < -_TINIEST:
            return "0", "0" * _TINIEST + "1"
        whole, _, fraction = f"{self.value:f}".partition(".")
        return whole, fraction


@dataclass(frozen=True, slots=True)
class Division:
    """Whether the magnitude is a multiple of `step`, which is positive."""

    step: Decimal
    wanted: bool


Condition: TypeAlias = Comparison | Division


class _Compared:
    """States: -1, 0 or 1. `whole` and `fraction` give the state after each digit at a place."""

    start = 0
    asks = False

    def __init__(self, comparison: Comparison) -> None:
        self._whole, self._fraction = comparison.digits()
        self._allowed = comparison.allowed

    def whole(self, state: int, place: int) -> Sequence[int]:
        return self._row(state, self._whole, place)

    def point(self, state: int, count: int) -> int:
        longer = count - len(self._whole)
        return state if longer == 0 else (1 if longer > 0 else -1)

    def fraction(self, state: int, place: int) -> Sequence[int]:
        return self._row(state, self._fraction, place)

    def may_hold(self, state: int, least: int, most: int) -> bool:
        """Whether so many digits more may make it hold, as far as that is told."""
        return True

    def ends(self, state: int, count: int) -> bool:
        if state == 0 and self._fraction[count:].strip("0"):
            return -1 in self._allowed
        return state in self._allowed

    @staticmethod
    def _row(state: int, digits: str, place: int) -> Sequence[int]:
        if state:
            return (state,) * 10
        return _AGAINST[int(digits[place]) if place < len(digits) else 0]


class _Divided:
    """States: one for what may equally follow."""

    start = 0

    def __init__(self, division: Division, fraction: int) -> None:
        tens, divisor = without_tens(division.step, fraction)
        self._next, self._holds = fewest(*remainders(min(tens, _LONGEST), divisor))
        self._digits = fraction
        self.asks = division.wanted
        """Whether digits that are still to come must make it hold."""
        self._before = [frozenset(state for state, held in enumerate(self._holds) if held)]

    @property
    def count(self) -> int:
        return len(self._next)

    def whole(self, state: int, _: int) -> Sequence[int]:
        return self._next[state]

    def point(self, state: int, _: int) -> int:
        return state

    fraction = whole

    def may_hold(self, state: int, least: int, most: int) -> bool:
        """Whether between `least` and `most` digits more may make it hold, as far as that is told."""
        while len(self._before) <= most:
            last = self._before[-1]
            self._before.append(frozenset(one for one, row in enumerate(self._next) if not last.isdisjoint(row)))
        return any(state in self._before[count] for count in range(least, most + 1))

    def ends(self, state: int, count: int) -> bool:
        for _ in range(count, self._digits):
            state = self._next[state][0]
        return self._holds[state] is self.asks


@dataclass(frozen=True, slots=True)
class _Walk:
    whole: int
    fraction: int
    conditions: Sequence[_Compared | _Divided]
    may_end: dict[_State, bool] = field(default_factory=dict)
    """Whether numbers may end behind a state: most are led to by several."""

    def start(self) -> _State:
        return _State(_START, 0, 0, tuple(condition.start for condition in self.conditions))

    def moves(self, state: _State) -> Iterator[tuple[str, _State]]:
        """Moves by each character, without the states from which it is plain to see that no number ends."""
        return ((char, after) for char, after in self._moves(state) if self._may_end(after))

    def _may_end(self, state: _State) -> bool:
        if state not in self.may_end:
            least = self.fraction - (state.digits if state.phase == _FRACTION else 0)
            most = least + (self.whole - state.digits if state.phase == _WHOLE else 0)
            pairs = zip(self.conditions, state.parts, strict=True)
            self.may_end[state] = all(one.may_hold(part, least, most) for one, part in pairs if one.asks)
        return self.may_end[state]

    def _moves(self, state: _State) -> Iterator[tuple[str, _State]]:
        phase, digits, room, parts = state
        if phase in (_START, _WHOLE) and digits < self.whole:
            rows = [condition.whole(part, digits) for condition, part in zip(self.conditions, parts, strict=True)]
            for char, after in zip(_CHARACTERS, zip(*rows, strict=True), strict=True):
                leads_to = _ZERO if phase == _START and char == "0" else _WHOLE
                yield char, _State(leads_to, digits + 1, 0, after)
        if phase in (_ZERO, _WHOLE):
            room = min(self.fraction, _EXACT_DIGITS - digits)
            if room > 0:
                yield ".", _State(_POINT, 0, room, self._at_point(state))
        if phase in (_POINT, _FRACTION) and digits < room:
            rows = [condition.fraction(part, digits) for condition, part in zip(self.conditions, parts, strict=True)]
            for char, after in zip(_CHARACTERS, zip(*rows, strict=True), strict=True):
                yield char, _State(_FRACTION, digits + 1, room, after)

    def _at_point(self, state: _State) -> tuple[int, ...]:
        pairs = zip(self.conditions, state.parts, strict=True)
        return tuple(condition.point(part, state.digits) for condition, part in pairs)

    def ends(self, state: _State) -> bool:
        if state.phase in (_START, _POINT):
            return False
        parts, count = (state.parts, state.digits) if state.phase == _FRACTION else (self._at_point(state), 0)
        return all(condition.ends(part, count) for condition, part in zip(self.conditions, parts, strict=True))


def magnitudes(
    conditions: Sequence[Condition], digits: tuple[int, int | None], define: Define, name: str, *, integral: bool
) -> Expression:
    """Numbers without sign, or only integers, that meet all the conditions.

    `digits`: of the least and of the largest number, before the point. `name`: of the rule that is made. Raises
    LimitExceeded where the conditions have too many states together.
    """
    divisions = [one for one in conditions if isinstance(one, Division)]
    fraction = 0 if integral else _fraction(divisions)
    parts = [_Compared(one) if isinstance(one, Comparison) else _Divided(one, fraction) for one in conditions]
    least, largest = digits
    own = max(least, 0, *(one.step.adjusted() + 1 for one in divisions if one.step.adjusted() < _LONGEST)) + 1
    states = prod(part.count for part in parts if isinstance(part, _Divided))
    own = max(own, min(_FEWEST, _MOST_STATES // (4 * states)))
    whole = next((count for count in _DIGITS if count > own and count * states <= _FEW), own)
    walk = _Walk(whole if largest is None else min(whole, max(largest, 1)), fraction, parts)
    start, ending, moves = _merged(walk, *_explored(walk))
    return NOTHING if start is None else define(name, _automaton(start, ending, moves))


def listed(values: Iterable[Decimal], places: int, *, integral: bool) -> Expression:
    """Expression for these magnitudes, with up to so many digits after the point, but one in any case; or only the
    integers.
    """
    forms: list[Expression] = []
    for value in values:
        whole, _, rest = f"{value:f}".partition(".")
        rest = rest.rstrip("0")
        if not rest:
            forms.append(Bytes(whole.encode()))
        if not integral:
            first = rest or "0"
            more = Repeat(Bytes(b"0"), 0, max(places - len(first), 0))
            forms.append(seq(Bytes(f"{whole}.{first}".encode()), more))
    return alt(forms)


def _fraction(divisions: Sequence[Division]) -> int:
    """Digits after the point: as many as multiples have, or some more than what is no multiple needs."""
    wanted = [places(one.step) for one in divisions if one.wanted]
    if wanted:
        return min(max(*wanted, 1), _EXACT_DIGITS - 1)
    return min(max(places(one.step) for one in divisions) + _FURTHER, _EXACT_DIGITS - 1)


def _explored(walk: _Walk) -> tuple[dict[_State, list[tuple[str, _State]]], list[_State]]:
    """All states, each before those that follow it."""
    ways: dict[_State, list[tuple[str, _State]]] = {}
    todo = [walk.start()]
    while todo:
        state = todo.pop()
        if state in ways:
            continue
        ways[state] = list(walk.moves(state))
        todo += [after for _, after in ways[state] if after not in ways]
        if len(ways) > _MOST_STATES:
            raise LimitExceeded(f"multiples take more than {_MOST_STATES} states", limit="rules")
    return ways, sorted(ways, key=lambda state: (state.phase, state.digits))


def _merged(
    walk: _Walk, ways: dict[_State, list[tuple[str, _State]]], order: list[_State]
) -> tuple[int | None, list[bool], list[dict[int, str]]]:
    """States from which the same may follow, as one: the start (None: nothing follows), which end, and what leads
    from each to which, by characters."""
    number: dict[_State, int] = {}
    known: dict[tuple[bool, tuple[tuple[int, str], ...]], int] = {}
    ending: list[bool] = []
    moves: list[dict[int, str]] = []
    for state in reversed(order):
        found: dict[int, str] = {}
        for char, after in ways[state]:
            if (place := number.get(after)) is not None:
                found[place] = found.get(place, "") + char
        key = (walk.ends(state), tuple(sorted(found.items())))
        if not any(key):
            continue  # no number ends from here
        if key not in known:
            known[key] = len(ending)
            ending.append(key[0])
            moves.append(found)
        number[state] = known[key]
    return number.get(order[0]), ending, moves


def _automaton(start: int, ending: list[bool], moves: list[dict[int, str]]) -> Automaton:
    """The automaton of the merged states that the start leads to, itself the first."""
    order = {start: 0}
    edges: list[tuple[int, int, int, int]] = []
    for state in (todo := [start]):  # grows while it is read
        for after, chars in moves[state].items():
            if after not in order:
                order[after] = len(order)
                todo.append(after)
            edges += [(order[state], ord(char), ord(char), order[after]) for char in chars]
    if len(order) > MOST_STATES:
        raise LimitExceeded(f"counting takes more than {MOST_STATES} states", limit="rules")
    ends = [number for state, number in order.items() if ending[state]]
    return Automaton(len(order), np.array(edges, np.int32).reshape(-1, 4), np.array(ends, np.int32))
