"""The highest of many values, such as a model's logits, without sorting them: for vocabularies of any size.

Values are looked at in groups. Only what reaches the k-th best of the groups' highest ones can be among the k best, so
few groups are looked at closely. A group is a column of a block, so that a processor compares many at a time, and the
values of a group still lie near each other.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

Values: TypeAlias = NDArray[np.float32]
Ids: TypeAlias = NDArray[np.int32]

GROUP = 32
"""Values of a group."""
BLOCK = 64
"""Groups of a block."""


def highest(values: Values, count: int, most: float = np.inf) -> Ids | None:
    """Indices of the `count` highest values, or of all, best first; equal ones in the order of their index.

    None where a value is NaN or above `most`: then there is no such order. float32[n] to int32[count].
    """
    if not (values.flags.c_contiguous and values.flags.writeable):
        values = values.copy()  # else loops would be compiled once more, for arrays of this kind
    count = min(count, len(values))
    maxima = np.empty(len(values) // (GROUP * BLOCK) * BLOCK, np.float32)
    kept, ids = np.empty(max(count, 1), np.float32), np.empty(count, np.int32)
    if not _group_maxima(values, np.float32(most), maxima):
        return None
    if count:
        _select(values, maxima, kept, ids)
    return ids


@njit(cache=True, nogil=True, _nrt=False)  # type: ignore[untyped-decorator]
def _select(values: Values, maxima: Values, kept: Values, ids: Ids) -> None:
    """Fills `ids`, at least one. `kept` and `ids` are a heap, the worst of them first; `maxima` by group."""
    rest, size = len(maxima) * GROUP, len(ids)
    least = np.float32(-np.inf)
    if len(maxima) > size:
        _clear(kept, ids, least)
        for group in range(len(maxima)):
            _take(kept, ids, maxima[group], group)
        least = kept[0]
    _clear(kept, ids, least)
    for group in range(len(maxima)):
        if maxima[group] >= least:
            first = group // BLOCK * (GROUP * BLOCK) + group % BLOCK
            for at in range(first, first + GROUP * BLOCK, BLOCK):
                _take(kept, ids, values[at], at)
    for at in range(rest, len(values)):
        _take(kept, ids, values[at], at)
    for last in range(size - 1, 0, -1):
        value, index = kept[last], ids[last]
        kept[last], ids[last] = kept[0], ids[0]
        _sink(kept, ids, last, value, index)


@njit(cache=True, nogil=True, _nrt=False)  # type: ignore[untyped-decorator]
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


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator]
def _clear(kept: Values, ids: Ids, least: np.float32) -> None:
    """Nothing is kept yet, and nothing will be that is below `least`."""
    for at in range(len(ids)):
        kept[at], ids[at] = least, 2147483647 - at


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator]
def _take(kept: Values, ids: Ids, value: np.float32, index: int) -> None:
    """In place of the worst, if it is better."""
    if value > kept[0] or (value == kept[0] and index < ids[0]):
        _sink(kept, ids, len(ids), value, index)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator]
def _sink(kept: Values, ids: Ids, size: int, value: np.float32, index: int) -> None:
    """Puts a value in place of the first of `size`, and down to where those below are better."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _worse(kept, ids, child + 1, child):
            child += 1
        if value < kept[child] or (value == kept[child] and index > ids[child]):
            break
        kept[at], ids[at] = kept[child], ids[child]
        at = child
    kept[at], ids[at] = value, index


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator]
def _worse(kept: Values, ids: Ids, one: int, other: int) -> bool:
    return bool(kept[one] < kept[other] or (kept[one] == kept[other] and ids[one] > ids[other]))
