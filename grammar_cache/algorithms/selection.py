"""The highest of many values, such as a model's logits, without sorting them: for vocabularies of any size.

Values are looked at in groups. Only what reaches the k-th best of the groups' highest ones can be among the k best, so
few groups are looked at closely. A group is a column of a block, so that a processor compares many at a time, and the
values of a group still lie near each other.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.heap import replace
from grammar_cache.loops.jit import jit_inline, jit_no_arrays

Values: TypeAlias = NDArray[np.float32]
Ids: TypeAlias = NDArray[np.int32]
Keys: TypeAlias = NDArray[np.int64]

GROUP = 32
"""Values of a group."""
BLOCK = 64
"""Groups of a block."""

_PLACES = 0x7FFFFFFF
_MINUS_ZERO = np.int64(-1)


def highest(values: Values, count: int, most: float = np.inf) -> Ids | None:
    """Indices of the `count` highest values, or of all, best first; equal ones in the order of their index.

    None where a value is NaN or above `most`: then there is no such order. float32[n] to int32[count].
    """
    if not (values.flags.c_contiguous and values.flags.writeable):
        values = values.copy()  # else loops would be compiled once more, for arrays of this kind
    count = min(count, len(values))
    maxima = np.empty(len(values) // (GROUP * BLOCK) * BLOCK, np.float32)
    tops, keys, ids = np.empty(count, np.float32), np.empty(count, np.int64), np.empty(count, np.int32)
    return ids if _highest(values, values.view(np.int32), np.float32(most), maxima, tops, keys, ids) else None


@jit_no_arrays
def _highest(values: Values, bits: Ids, most: np.float32, maxima: Values, tops: Values, keys: Keys, ids: Ids) -> bool:
    """Fills `ids`, and returns whether all values are at most so much; else they aren't compared.

    `bits` are those of the values, for `_key`. What branches is little: a wrong guess of the processor costs more than
    a comparison.
    """
    if not _group_maxima(values, most, maxima):
        return False
    if not len(ids):
        return True
    least = _least(maxima, tops) if len(maxima) > len(ids) else np.float32(-np.inf)
    keys[:] = np.iinfo(np.int64).min
    for group in range(len(maxima)):
        if maxima[group] >= least:
            first = group // BLOCK * (GROUP * BLOCK) + group % BLOCK
            for at in range(first, first + GROUP * BLOCK, BLOCK):
                if values[at] >= least:
                    _take(keys, _key(bits[at], at))
    for at in range(len(maxima) * GROUP, len(values)):
        if values[at] >= least:
            _take(keys, _key(bits[at], at))
    for last in range(len(ids) - 1, -1, -1):  # the worst first
        ids[last] = _PLACES - (keys[0] & _PLACES)
        replace(keys, last, keys[last])
    return True


@jit_inline
def _group_maxima(values: Values, most: np.float32, maxima: Values) -> bool:
    """Whether all values are at most so much; then `maxima` has the highest of each group."""
    odd = False
    for first in range(0, len(maxima), BLOCK):
        block = maxima[first : first + BLOCK]
        block[:] = -np.inf
        for begin in range(first * GROUP, (first + BLOCK) * GROUP, 4 * BLOCK):  # four rows for each look at the maxima
            rows = values[begin : begin + 4 * BLOCK]
            for column in range(BLOCK):
                one, two = rows[column], rows[column + BLOCK]
                three, four = rows[column + 2 * BLOCK], rows[column + 3 * BLOCK]
                odd |= not (one <= most and two <= most and three <= most and four <= most)
                one = one if one > two else two
                three = three if three > four else four
                one = one if one > three else three
                block[column] = one if one > block[column] else block[column]
    for at in range(len(maxima) * GROUP, len(values)):
        odd |= not values[at] <= most
    return not odd


@jit_inline
def _least(maxima: Values, tops: Values) -> np.float32:
    """The k-th best of more than k groups' highest values: `tops` float32[k] is a heap of the best."""
    tops[:] = -np.inf
    for first in range(0, len(maxima) - len(tops) + 1, len(tops)):
        for column in range(len(tops)):  # k of them that are high, so that few get into the heap
            top = maxima[first + column]
            tops[column] = top if top > tops[column] else tops[column]
    low = tops[0]
    for top in tops:
        low = top if top < low else low
    least = low
    tops[:] = -np.inf
    for group in range(len(maxima)):
        if maxima[group] >= least:
            replace(tops, len(tops), maxima[group])
            least = tops[0] if tops[0] > low else low
    return np.float32(least)


@jit_inline
def _key(bits: np.int32, at: int) -> np.int64:
    """Orders like the value with these bits, and among equal values against the index. -0.0 equals 0.0."""
    ordered = np.int64(bits) ^ ((np.int64(bits) >> 31) & _PLACES)
    return np.int64(((0 if ordered == _MINUS_ZERO else ordered) << 32) | (_PLACES - at))


@jit_inline
def _take(keys: Keys, key: np.int64) -> None:
    """Replaces the worst key if this one is better."""
    if key > keys[0]:
        replace(keys, len(keys), key)
