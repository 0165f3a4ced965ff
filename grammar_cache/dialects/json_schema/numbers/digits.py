"""Numbers that are told by all their digits: multiples, and what is no multiple.

A walk over the digits, most significant first, without exponent. Its states say how the digits so far compare with
each bound, and what they leave over each divisor; equal futures are one state. The walk is finite, since digits are
capped: where there is a point, at 15 in all, which any reader that keeps 64-bit floats tells apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from math import prod

import numpy as np

from grammar_cache.dialects.json_schema.expressions.combine import alt, seq
from grammar_cache.dialects.json_schema.expressions.right_linear import MOST_STATES, Define
from grammar_cache.dialects.json_schema.numbers.digit_conditions import (
    LONGEST,
    Compared,
    Comparison,
    Condition,
    Divided,
    Division,
)
from grammar_cache.dialects.json_schema.numbers.digit_walk import END, EXACT_DIGITS, DigitWalk
from grammar_cache.dialects.json_schema.numbers.digit_walk import MOST_STATES as _MOST_STATES
from grammar_cache.dialects.json_schema.numbers.multiples import places
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import NOTHING, Automaton, Bytes, Expression, Repeat
from grammar_cache.loops.array_types import Ints

_DIGITS = (20, 15, 12, 9, 7)
"""Digits before the point: the most with which states stay few, at least one more than divisor and bound have."""
_FEWEST = 4
"""Digits before the point even where states are many."""
_FEW = 500
_FURTHER = 6

_BYTES = np.frombuffer(b"0123456789.", np.uint8).astype(np.int32)


def magnitudes(
    conditions: Sequence[Condition], digits: tuple[int, int | None], define: Define, name: str, *, integral: bool
) -> Expression:
    """Numbers without sign, or only integers, that meet all the conditions.

    `digits`: of the least and of the largest number, before the point. `name`: of the rule that is made. Raises
    LimitExceeded where the conditions have too many states together.
    """
    found = _counted(tuple(conditions), digits, integral)
    return NOTHING if found is None else define(name, found)


@lru_cache(maxsize=32)
def _counted(conditions: tuple[Condition, ...], digits: tuple[int, int | None], integral: bool) -> Automaton | None:
    """The automaton of these numbers, None where there are none: many schemas have the same few, and what is made of
    one object is kept.
    """
    divisions = [one for one in conditions if isinstance(one, Division)]
    fraction = 0 if integral else _fraction(divisions)
    parts = [Compared(one) if isinstance(one, Comparison) else Divided(one, fraction) for one in conditions]
    least, largest = digits
    own = max(least, 0, *(one.step.adjusted() + 1 for one in divisions if one.step.adjusted() < LONGEST)) + 1
    own = min(own, LONGEST)
    states = prod(part.size for part in parts if isinstance(part, Divided))
    own = max(own, min(_FEWEST, _MOST_STATES // (4 * states)))
    whole = next((count for count in _DIGITS if count > own and count * states <= _FEW), own)
    whole = whole if largest is None else min(whole, max(largest, 1))
    rows, start = DigitWalk(whole, fraction, parts).merged()
    return None if start < 0 else _automaton(rows, start)


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
        return min(max(*wanted, 1), EXACT_DIGITS - 1)
    return min(max(places(one.step) for one in divisions) + _FURTHER, EXACT_DIGITS - 1)


def _automaton(rows: Ints, start: int) -> Automaton:
    """The automaton of the states that the start leads to, itself the first."""
    order = np.array([start])
    new = np.full(len(rows) + 1, -1, np.int32)  # the last one is nowhere
    new[start] = 0
    at = 0
    while at < len(order):
        heads = np.unique(rows[order[at:], :END])
        at = len(order)
        heads = heads[(heads >= 0) & (new[heads] < 0)]
        new[heads] = np.arange(at, at + len(heads))
        order = np.concatenate((order, heads))
        if len(order) > MOST_STATES:
            raise LimitExceeded(
                f"these multiples take more than {MOST_STATES} states: those of a step with fewer digits take fewer",
                limit="rules",
            )
    heads = new[rows[order, :END]]
    tails, characters = np.nonzero(heads >= 0)
    labels = _BYTES[characters]
    edges = np.stack((tails, labels, labels, heads[tails, characters]), axis=1, dtype=np.int32)
    return Automaton(len(order), edges, np.flatnonzero(rows[order, END]).astype(np.int32))
