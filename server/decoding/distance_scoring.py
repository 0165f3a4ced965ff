"""Distance-guided scoring (the paper's eqs. 14 to 16) and its variants: how the distance changes viable logits.

K tokens are left before a token t is taken; z are the viable logits, z⁺ the highest; d(e) is the distance of the text
so far, D = d(e·t) that behind t, 0 behind the end token. As printed, every viable logit moves towards z⁺:

    r(t) = min(1, D / max(1, K - 1)),   α(t) = α_min + (1 - α_min)·r(t),   z̃(t) = (1 - α(t))·z(t) + α(t)·z⁺

So α grows with the distance: tokens that lead far from the end are pushed most, the end token least, and as no z̃
exceeds z⁺, a greedy beam never changes. Rules differ in which tokens move (all others keep z), and by how much:

    viable      all tokens, as printed
    closing     those with d(e·t) < d(e), and the end token; as printed
    proposals   those that the grammar proposes as ways to an end, and the end token; as printed
    slack       closing tokens, by what the text so far needs of what is left: r = d(e) / K, the same for all of them
    penalty     all tokens, away from z⁺:  z̃(t) = z(t) - λ·r(t),  λ = α_min / (1 - α_min)  (α_min = 0.5: one logit)
    flat        all tokens, by α_min wherever they lead: α(t) = α_min
    none        no token: z̃ = z

Only the penalty can change a greedy beam: a token of the distance d(e) - 1 gains 2·λ / (K - 1) on one of d(e) + 1,
little while much is left and ever more near the horizon.

A token's *guided* score is the logarithm of the softmax of its promoted logit over the viable candidates of its beam
(eq. 16). There whatever the budget forces is free, and texts that come to such places early win: empty strings, odd
tokens. So there are two that make a beam pay:

    grammar     plus the logarithm of the viable candidates' share of the model among those that the grammar allows
    vocabulary  the softmax over the model's whole vocabulary, z⁺ unpromoted: pays for what the grammar keeps out too
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.candidate_order import log_sum
from grammar_cache.loops.array_types import Floats
from server.decoding.candidates import Candidates
from server.decoding.language import Language
from server.decoding.parameters import Promotion, Softmax

Rule: TypeAlias = Callable[[Candidates, Language, float], Floats]
"""Function from the candidates of a beam and α_min to z̃ - z⁺, float64[candidates], none above 0."""

LEAST_SHARE = 1e-9
"""Share of the model where α_min = 1 leaves it nothing: λ stays finite."""


def viable(options: Candidates, language: Language, alpha: float) -> Floats:
    return _towards_best(options, _by_distance(options, alpha))


def closing(options: Candidates, language: Language, alpha: float) -> Floats:
    return _towards_best(options, np.where(_closes(options, language), _by_distance(options, alpha), 0.0))


def proposals(options: Candidates, language: Language, alpha: float) -> Floats:
    proposed = np.isin(options.tokens, language.proposals(options.place.configuration)) | _is_end(options)
    return _towards_best(options, np.where(proposed, _by_distance(options, alpha), 0.0))


def slack(options: Candidates, language: Language, alpha: float) -> Floats:
    pressure = alpha + (1.0 - alpha) * min(1.0, _here(options, language) / options.place.tokens_left)
    return _towards_best(options, np.where(_closes(options, language), pressure, 0.0))


def penalty(options: Candidates, language: Language, alpha: float) -> Floats:
    return none(options, language, alpha) - alpha / max(LEAST_SHARE, 1.0 - alpha) * _ratio(options)


def flat(options: Candidates, language: Language, alpha: float) -> Floats:
    return _towards_best(options, alpha)


def none(options: Candidates, language: Language, alpha: float) -> Floats:
    return _towards_best(options, 0.0)


PROMOTIONS: Mapping[Promotion, Rule] = MappingProxyType(
    {
        "viable": viable,
        "closing": closing,
        "proposals": proposals,
        "slack": slack,
        "penalty": penalty,
        "flat": flat,
        "none": none,
    }
)

CHANGES_GREEDY: frozenset[Promotion] = frozenset({"penalty"})
"""Rules by which the best viable logit need not be the best promoted one."""


def over_viable(promoted: Floats, options: Candidates, best: float) -> float:
    return log_sum(promoted)


def over_grammar(promoted: Floats, options: Candidates, best: float) -> float:
    if not len(options.lost_logits):
        return log_sum(promoted)
    forced = log_sum(np.append(options.logits, options.lost_logits)) - log_sum(options.logits)
    return log_sum(promoted) + max(0.0, forced)


def over_vocabulary(promoted: Floats, options: Candidates, best: float) -> float:
    return -best


NORMALISERS: Mapping[Softmax, Callable[[Floats, Candidates, float], float]] = MappingProxyType(
    {"viable": over_viable, "grammar": over_grammar, "vocabulary": over_vocabulary}
)
"""Normalisers: how far promoted logits less z⁺ are above the guided scores, from all of them, the candidates, and
log p(z⁺) of the model.
"""


def _towards_best(options: Candidates, weight: Floats | float) -> Floats:
    logits = options.logits
    promoted: Floats = (weight - 1.0) * (logits[0] - logits)  # z̃ less its maximum: equal logits stay equal
    return promoted


def _by_distance(options: Candidates, alpha: float) -> Floats:
    return alpha + (1.0 - alpha) * _ratio(options)


def _ratio(options: Candidates) -> Floats:
    ratio: Floats = np.minimum(1.0, options.distances / max(1, options.place.tokens_left - 1))
    return ratio


def _closes(options: Candidates, language: Language) -> NDArray[np.bool_]:
    return (options.distances < _here(options, language)) | _is_end(options)


def _here(options: Candidates, language: Language) -> int:
    """The distance of the text so far, as decoding uses it."""
    configuration, left = options.place
    return int(language.distances(np.array([configuration], np.int32), left)[0])


def _is_end(options: Candidates) -> NDArray[np.bool_]:
    end: NDArray[np.bool_] = options.tokens == (-1 if options.end is None else options.end)
    return end
