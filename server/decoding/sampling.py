"""Drawing a token exactly from the model's distribution, restricted to what is viable.

Without truncation the full set of viable tokens isn't needed: in the order of Gumbel-perturbed logits, the first
viable token is such a draw, and mostly the very first is. With top-k or top-p, which count viable tokens only, it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from server.decoding.candidates import highest
from server.decoding.language import Language
from server.decoding.parameters import Parameters
from server.decoding.scoring import log_softmax

FIRST_LOOK = 64
"""Tokens in perturbed order that are checked before the whole vocabulary is: enough on 99 % of steps."""


def draw(
    language: Language,
    configuration: int,
    logits: NDArray[np.floating],
    tokens_left: int,
    parameters: Parameters,
    random: np.random.Generator,
) -> tuple[int | None, bool]:
    """A viable token id, or a stop id where the text may end; and whether the budget kept a likelier draw out.

    None where nothing is viable: a complete text, and a model without end tokens.
    """
    scaled = logits / np.float32(parameters.temperature)
    # Minus the logarithm of an exponential variate is a Gumbel one; drawing floats this way is the fastest.
    noise = random.standard_exponential(len(scaled), dtype=np.float32)
    perturbed = scaled - np.log(np.maximum(noise, np.finfo(np.float32).tiny))
    truncated = parameters.top_k > 0 or parameters.top_p < 1.0
    if not truncated:
        best = int(perturbed.argmax())
        if _may_follow(language, configuration, best, tokens_left):
            return best, False
    order = highest(perturbed, FIRST_LOOK).astype(np.int32)
    after = language.consume_batch(np.array([configuration], np.int32), order[None, :])[0]
    viable = language.distances(after, tokens_left - 1) < tokens_left
    lost = order[(after >= 0) & ~viable]
    if language.accepts(configuration):
        viable |= np.isin(order, language.vocabulary.stop_ids)
    if not truncated and viable.any():
        token = int(order[viable.argmax()])
    else:
        allowed = np.flatnonzero(language.mask(configuration, tokens_left))
        if not len(allowed):
            return None, False
        kept = _truncated(allowed, scaled[allowed], parameters)
        token = int(kept[perturbed[kept].argmax()])
    return token, bool((perturbed[lost] > perturbed[token]).any())


def _may_follow(language: Language, configuration: int, token: int, tokens_left: int) -> bool:
    if token in language.vocabulary.stop_ids:
        return language.accepts(configuration)
    return language.first_viable(configuration, np.array([token], np.int32), tokens_left - 1) is not None


def _truncated(allowed: NDArray[np.int64], scaled: NDArray[np.floating], parameters: Parameters) -> NDArray[np.int64]:
    order = highest(scaled, parameters.top_k or len(allowed))
    probabilities = np.exp(log_softmax(scaled[order]))
    before = np.cumsum(probabilities) - probabilities
    kept: NDArray[np.int64] = allowed[order[before < parameters.top_p]] if parameters.top_p < 1.0 else allowed[order]
    return kept if len(kept) else allowed[order[:1]]
