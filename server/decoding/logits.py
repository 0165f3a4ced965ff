"""A row of logits, one number a token, as a decoding step asks for it.

A step mostly needs the highest few logits and a sum, so a row that lies on another device needs not travel: see
`Row`. Every number is finite and every order total, whatever a model yields; equal logits go by their ids.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e9

GROUP = 64
"""Values that `highest` looks at together."""

Tokens: TypeAlias = NDArray[np.int32]
Values: TypeAlias = NDArray[np.float32]


class Row(Protocol):
    """`size`: how many tokens there are."""

    @property
    def size(self) -> int: ...

    def best(self) -> tuple[int, bool]:
        """The token of the highest logit, and whether no other one is as high."""
        ...

    def highest(self, count: int) -> tuple[Tokens, Values]:
        """The tokens of the `count` highest logits and these, best first; all there are, if there are fewer."""
        ...

    def at(self, tokens: Tokens) -> Values:
        """The logits of these tokens."""
        ...

    def mass(self, temperature: float) -> float:
        """The sum of exp((z - z⁺) / temperature) over all tokens, z⁺ the highest logit: 1 or more, to some 1e-6."""
        ...

    def whole(self) -> Values:
        """All logits, by token. Read-only."""
        ...


class ArrayRow:
    """A row in memory: float32[tokens], any values."""

    def __init__(self, logits: NDArray[np.floating]) -> None:
        self._given = logits
        self._finite: Values | None = None

    @property
    def _logits(self) -> Values:
        if self._finite is None:
            self._finite = finite(self._given)
        return self._finite

    @property
    def size(self) -> int:
        return len(self._given)

    def best(self) -> tuple[int, bool]:
        logits = self._given
        token = int(logits.argmax())  # a NaN is the highest, if there is one
        if not -LARGEST <= logits[token] <= LARGEST:
            logits = self._logits
            token = int(logits.argmax())
        return token, np.count_nonzero(logits == logits[token]) == 1

    def highest(self, count: int) -> tuple[Tokens, Values]:
        tokens = highest(self._logits, count).astype(np.int32)
        return tokens, self._logits[tokens]

    def at(self, tokens: Tokens) -> Values:
        return self._logits[tokens]

    def mass(self, temperature: float) -> float:
        shifted = self._logits - self._logits.max()
        if temperature != 1.0:
            shifted /= np.float32(temperature)
        return float(np.exp(shifted, out=shifted).sum())

    def whole(self) -> Values:
        return self._logits


def finite(logits: NDArray[np.floating]) -> Values:
    """float32 fit to be compared: NaN and -inf become the least, +inf the largest."""
    logits = logits.astype(np.float32, copy=False)
    # A NaN anywhere is both the least and the largest value.
    if logits.min(initial=0) >= -LARGEST and logits.max(initial=0) <= LARGEST:
        return logits
    found: Values = np.nan_to_num(logits, nan=-LARGEST, posinf=LARGEST, neginf=-LARGEST).clip(-LARGEST, LARGEST)
    return found


def highest(values: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """Indices of the `count` highest values, best first; equal values in the order of their index."""
    chosen = _reaching(values, count)
    return chosen[np.lexsort((chosen, -values[chosen]))][:count]


def _reaching(values: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """Indices that hold the `count` highest values, and few others.

    Only what reaches the `count`-th best of the groups' maxima can be among them: two passes instead of a partition.
    """
    groups = len(values) // GROUP
    if len(values) <= max(count, GROUP):
        return np.arange(len(values))
    if groups <= count:
        return np.flatnonzero(values >= np.partition(values, len(values) - count)[len(values) - count])
    table = values[: groups * GROUP].reshape(GROUP, groups)
    maxima = table.max(axis=0)
    least = np.partition(maxima, groups - count)[groups - count]
    columns = np.flatnonzero(maxima >= least)
    found = np.flatnonzero(table[:, columns] >= least)
    inside = found // len(columns) * groups + columns[found % len(columns)]
    return np.concatenate([inside, groups * GROUP + np.flatnonzero(values[groups * GROUP :] >= least)])
