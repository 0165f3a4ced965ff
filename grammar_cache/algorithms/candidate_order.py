"""A few dozen candidates, in order, and what they weigh: compiled, since calls of numpy take longer than such work."""

from __future__ import annotations

from math import exp, log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_types import Floats, Ints
from grammar_cache.jit import jit_no_arrays

Places: TypeAlias = NDArray[np.intp]


def ordered(tokens: Ints, values: Floats, distances: Ints, most: int, after: Ints) -> tuple[Places, int | None]:
    """Places with distance at most `most`: the highest value first, then the least distance, then
    token.

    The second item is the place of the highest one that leads somewhere (`after` ≥ 0) and is too far, if it is higher
    than all of these. All arrays [k], best in nearly this order: the rest is sorted in by steps.
    """
    order = np.empty(len(tokens), np.intp)
    count, lost = _order(tokens, values, distances, most, after, order)
    return order[:count], None if lost < 0 else lost


def leading(values: Floats, count: int) -> Places:
    """Places of the highest `count` values, or of all, best first, equal ones as they lie. float64[k] to
    intp[count].
    """
    order = np.empty(min(count, len(values)), np.intp)
    _lead(values, order)
    return order


@jit_no_arrays
def log_sum(values: Floats) -> float:
    """The logarithm of the sum of their exponentials; at least one, and finite."""
    top = values[0]
    for value in values:
        top = value if value > top else top
    total = 0.0
    for value in values:
        total += exp(value - top)
    return float(top + log(total))


@jit_no_arrays
def _order(tokens: Ints, values: Floats, distances: Ints, most: int, after: Ints, order: Places) -> tuple[int, int]:
    """Number of places written to `order`, and the place of the lost token, or -1."""
    count, lost = 0, -1
    for i in range(len(tokens)):
        if distances[i] <= most:
            at = count
            while at > 0:
                j = order[at - 1]
                if values[j] > values[i] or (
                    values[j] == values[i] and (distances[j], tokens[j]) <= (distances[i], tokens[i])
                ):
                    break
                order[at] = j
                at -= 1
            order[at] = i
            count += 1
        elif after[i] >= 0 and (lost < 0 or values[i] > values[lost]):
            lost = i
    if lost >= 0 and count > 0 and values[lost] <= values[order[0]]:
        lost = -1
    return count, lost


@jit_no_arrays
def _lead(values: Floats, order: Places) -> None:
    count = 0
    for i in range(len(values)):
        at = count
        while at > 0 and values[order[at - 1]] < values[i]:
            at -= 1
        if at < len(order):
            count = min(count + 1, len(order))
            for place in range(count - 1, at, -1):
                order[place] = order[place - 1]
            order[at] = i
