"""From logits to the log-probabilities that rank beams.

A token's *guided* score is the softmax of its promoted logit over the viable candidates of its beam (eq. 16), or over
the model's whole vocabulary: then a beam also pays for what the model would rather have written, were it allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from server.decoding.parameters import Softmax

LARGEST = 1e9

Floats: TypeAlias = NDArray[np.float64]


def finite(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits fit to be compared: NaN and -inf become the least, +inf the largest, so that every order is total."""
    if np.isfinite(logits).all() and np.abs(logits).max(initial=0) <= LARGEST:
        return logits
    return np.nan_to_num(logits, nan=-LARGEST, posinf=LARGEST, neginf=-LARGEST).clip(-LARGEST, LARGEST)


def log_softmax(logits: NDArray[np.floating]) -> Floats:
    """Over the last axis, in float64."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    normalised: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normalised


def log_total(logits: NDArray[np.floating]) -> float:
    """The logarithm of the sum of exp(logits), in one pass of the logits' own precision."""
    highest = logits.max()
    return float(highest) + float(np.log(np.exp(logits - highest).sum(dtype=np.float64)))


SOFTMAXES: Mapping[Softmax, Callable[[Floats, Floats], Floats]] = MappingProxyType(
    {
        "viable": lambda promoted, model: log_softmax(promoted),
        "vocabulary": lambda promoted, model: promoted + model.max(),
    }
)
"""Guided scores from promoted logits less z⁺ and the model's own log-probabilities of the same candidates."""
