"""A few dozen candidates, in order, and what they weigh: compiled, since calls of numpy take longer than such work."""

from __future__ import annotations

from math import exp, log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.loops.array_types import FloatRows, Floats, Ints
from grammar_cache.loops.jit import jit_no_arrays

Places: TypeAlias = NDArray[np.intp]


def ordered(tokens: Ints, values: Floats, distances: Ints, most: int, after: Ints) -> tuple[Places, Places, int | None]:
    """Places with distance at most `most`, the highest value first, then the least distance, then token; places of
    those that lead somewhere (`after` ≥ 0) and are too far, as they lie; the highest of these, if none that fits is as
    high. All arrays [k], best in nearly this order: the rest is sorted in by steps.
    """
    order, beyond = np.empty(len(tokens), np.intp), np.empty(len(tokens), np.intp)
    count, far, lost = _order(tokens, values, distances, most, after, order, beyond)
    return order[:count], beyond[:far], None if lost < 0 else lost


def leading(values: Floats, normaliser: float, logits: Floats, count: int) -> tuple[Places, Floats, Floats]:
    """Places of the highest `count` values, or of all, best first, equal ones as they lie; what these values are above
    the `normaliser`; and log softmax(logits) there. float64[k], at least one, the highest logit first.
    """
    order = np.empty(min(count, len(values)), np.intp)
    scores = np.empty((2, len(order)))
    _lead(values, normaliser, logits, order, scores)
    return order, scores[0], scores[1]


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
def _order(
    tokens: Ints, values: Floats, distances: Ints, most: int, after: Ints, order: Places, beyond: Places
) -> tuple[int, int, int]:
    """Numbers of places written to `order` and to `beyond`, and the place of the lost token, or -1."""
    count, far, lost = 0, 0, -1
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
        elif after[i] >= 0:
            beyond[far] = i
            far += 1
            if lost < 0 or values[i] > values[lost]:
                lost = i
    if lost >= 0 and count > 0 and values[lost] <= values[order[0]]:
        lost = -1
    return count, far, lost


@jit_no_arrays
def _lead(values: Floats, normaliser: float, logits: Floats, order: Places, scores: FloatRows) -> None:
    """Writes to `order`, and to `scores` float64[2, places]: values less the normaliser, and log softmax(logits)."""
    count, total = 0, 0.0
    for i in range(len(values)):
        total += exp(logits[i] - logits[0])
        at = count
        while at > 0 and values[order[at - 1]] < values[i]:
            at -= 1
        if at < len(order):
            count = min(count + 1, len(order))
            for place in range(count - 1, at, -1):
                order[place] = order[place - 1]
            order[at] = i
    log_total = log(total)
    for place in range(count):
        scores[0, place] = values[order[place]] - normaliser
        scores[1, place] = logits[order[place]] - logits[0] - log_total
