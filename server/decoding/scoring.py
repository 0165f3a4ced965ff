"""Distance-guided scoring (the paper's eqs. 14 to 16): the nearer the horizon, the less the model's taste counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FLOOR = np.float64(-1e9)
CEILING = np.float64(1e9)


def finite(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Logits fit to be compared: NaN and -inf become the floor, +inf the ceiling, so that every order is total."""
    return np.nan_to_num(logits.astype(np.float64), nan=FLOOR, posinf=CEILING, neginf=FLOOR).clip(FLOOR, CEILING)


def log_softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Over the last axis."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    normalised: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normalised


def guided(
    logits: NDArray[np.float64], distances: NDArray[np.int32], tokens_left: int, alpha: float
) -> NDArray[np.float64]:
    """Log-probabilities of the viable candidates, float64[n], from their logits and the distances behind them.

    With K tokens left: r = D / max(1, K - 1); α = α_min + (1 - α_min)·min(1, r); z̃ = (1 - α)·z + α·max z.
    """
    ratio = np.minimum(1.0, distances / max(1, tokens_left - 1))
    weight = alpha + (1.0 - alpha) * ratio
    return log_softmax((weight - 1.0) * (logits.max() - logits))  # z̃ less its maximum: equal logits stay equal
