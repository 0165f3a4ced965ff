"""Distance-guided scoring (the paper's eqs. 14 to 16): the nearer the horizon, the less the model's taste counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LARGEST = 1e9


def finite(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits fit to be compared: NaN and -inf become the least, +inf the largest, so that every order is total."""
    if np.isfinite(logits).all() and np.abs(logits).max(initial=0) <= LARGEST:
        return logits
    return np.nan_to_num(logits, nan=-LARGEST, posinf=LARGEST, neginf=-LARGEST).clip(-LARGEST, LARGEST)


def log_softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Over the last axis, in float64."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    normalised: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normalised


def guided(
    logits: NDArray[np.floating], distances: NDArray[np.int32], tokens_left: int, alpha: float
) -> NDArray[np.float64]:
    """Log-probabilities of the viable candidates, float64[n], from their logits and the distances behind them.

    With K tokens left: r = D / max(1, K - 1); α = α_min + (1 - α_min)·min(1, r); z̃ = (1 - α)·z + α·max z.
    """
    logits = logits.astype(np.float64)
    ratio = np.minimum(1.0, distances / max(1, tokens_left - 1))
    weight = alpha + (1.0 - alpha) * ratio
    return log_softmax((weight - 1.0) * (logits.max() - logits))  # z̃ less its maximum: equal logits stay equal
