"""A row of logits, one number a token, as a decoding step asks for it.

A step mostly needs the highest few logits and a sum, so a row that lies on another device needs not travel: see
`Row`. Every number is finite and every order total, whatever a model yields; equal logits go by their ids.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms import selection as compiled
from grammar_cache.algorithms.exponentials import sum_of_exponentials

LARGEST = 1e9

Tokens: TypeAlias = NDArray[np.int32]
Values: TypeAlias = NDArray[np.float32]


class Row(Protocol):
    """`size`: how many tokens there are."""

    @property
    def size(self) -> int: ...

    @property
    def ordinary(self) -> bool:
        """Whether it has been seen that no value as it was given is NaN or above `LARGEST`."""
        ...

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
    """A row in memory: float32[tokens], any values.

    Each look at all values costs, so whether all of them are fit to be compared is only looked at where it matters.
    """

    def __init__(self, logits: NDArray[np.floating]) -> None:
        self._given: Values = logits.astype(np.float32, copy=False)
        self._ordinary = False
        self._known: tuple[Tokens, Values] | None = None

    @cached_property
    def _top(self) -> np.float32 | None:
        """The highest logit as given; None if that is none that is fit to be compared."""
        if self._ordinary and self._known is not None and self._known[1][:1] > -LARGEST:
            return np.float32(self._known[1][0])
        top = self._given.max(initial=-np.inf)  # a NaN, if there is one
        return top if -LARGEST < top <= LARGEST else None

    @cached_property
    def _finite(self) -> Values:
        return finite(self._given)

    @property
    def size(self) -> int:
        return len(self._given)

    @property
    def ordinary(self) -> bool:
        return self._ordinary

    def best(self) -> tuple[int, bool]:
        logits = self._given
        token = int(logits.argmax())  # a NaN is the highest, if there is one
        if -LARGEST < logits[token] <= LARGEST:
            self._ordinary = True
        else:
            logits = self._finite
            token = int(logits.argmax())
        return token, np.count_nonzero(logits == logits[token]) == 1

    def highest(self, count: int) -> tuple[Tokens, Values]:
        if self._known is None or len(self._known[0]) < min(count, self.size):
            self._known = self._look(count)
        tokens, values = self._known
        return tokens[:count], values[:count]

    def _look(self, count: int) -> tuple[Tokens, Values]:
        logits = self._given
        tokens = compiled.highest(logits, count, LARGEST)
        if tokens is not None:
            self._ordinary = True
            values = logits[tokens]
            if not len(values) or values[-1] > -LARGEST:
                return tokens, values
        tokens = highest(self._finite, count)  # the least are all alike
        return tokens, self._finite[tokens]

    def at(self, tokens: Tokens) -> Values:
        values = self._given[tokens]
        return np.maximum(values, np.float32(-LARGEST)) if self._ordinary else finite(values)

    def mass(self, temperature: float) -> float:
        # The given -inf weighs nothing, as the least number does.
        logits, top = (self._finite, self._finite.max()) if self._top is None else (self._given, self._top)
        return sum_of_exponentials(logits, top, temperature)

    def whole(self) -> Values:
        return self._finite


def finite(logits: NDArray[np.floating]) -> Values:
    """float32 fit to be compared: NaN and -inf become the least, +inf the largest."""
    logits = logits.astype(np.float32, copy=False)
    # A NaN anywhere is both the least and the largest value.
    if logits.min(initial=0) >= -LARGEST and logits.max(initial=0) <= LARGEST:
        return logits
    found: Values = np.nan_to_num(logits, nan=-LARGEST, posinf=LARGEST, neginf=-LARGEST).clip(-LARGEST, LARGEST)
    return found


def highest(values: Values, count: int) -> Tokens:
    """Indices of the `count` highest of values that can be compared: see `grammar_cache.algorithms.selection`."""
    found = compiled.highest(values, count, LARGEST)
    assert found is not None, "they are finite"
    return found
