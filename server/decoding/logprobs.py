"""Log-probabilities of chosen tokens: the model's own, before penalties and temperature, and those among viable tokens.

All numbers are finite: a token that the model gives no probability has `LEAST`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from server.decoding.candidates import Place
from server.decoding.language import Language
from server.decoding.logits import finite, highest

LEAST = -9999.0
"""Number that OpenAI tells of a token that is too unlikely for one."""


class Likely(NamedTuple):
    """A token and its log-probability."""

    token: int
    logprob: float


class TokenLogprobs(NamedTuple):
    """A chosen token: the model's log-probability over its whole vocabulary, that among the tokens that were viable,
    whether the budget chose it, None where that isn't known, and the model's likeliest tokens, best first.
    """

    token: int
    logprob: float
    viable: float
    forced: bool | None
    top: tuple[Likely, ...]


def token_logprobs(
    language: Language, place: Place, row: NDArray[np.floating], token: int, count: int, *, forced: bool
) -> TokenLogprobs:
    """Log-probabilities of a token that follows at a place, by logits [tokens], and the `count` likeliest ones."""
    logits = finite(row).astype(np.float64)
    total = _log_sum(logits)
    allowed = _log_sum(logits[language.mask(place.configuration, place.tokens_left)])
    best = highest(finite(row), count).tolist()
    return TokenLogprobs(
        token,
        told_logprob(logits[token] - total),
        told_logprob(logits[token] - allowed),
        forced,
        tuple(Likely(other, told_logprob(logits[other] - total)) for other in best),
    )


def _log_sum(logits: NDArray[np.float64]) -> float:
    """The logarithm of the sum of exponentials: of at least one finite number."""
    top = logits.max()
    return float(top + np.log(np.exp(logits - top).sum()))


def told_logprob(logprob: float) -> float:
    """The log-probability as it is told: neither above 0 by rounding, nor below `LEAST`."""
    return float(min(0.0, max(LEAST, logprob)))
