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

Floats: TypeAlias = NDArray[np.float64]


def log_softmax(logits: NDArray[np.floating]) -> Floats:
    """Over the last axis, in float64."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    normalised: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normalised


SOFTMAXES: Mapping[Softmax, Callable[[Floats, Floats], Floats]] = MappingProxyType(
    {
        "viable": lambda promoted, model: log_softmax(promoted),
        "vocabulary": lambda promoted, model: promoted + model.max(),
    }
)
"""Guided scores from promoted logits less z⁺ and the model's own log-probabilities of the same candidates."""
