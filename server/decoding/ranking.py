"""Ranking of complete texts that differ in length; and the test that no beam under way can overtake the best.

    sum         the sum of guided scores (eq. 17): each token costs, so short texts have it easier
    normalised  that sum divided by the tokens used, the end token included
    model       the model's own log-probability (eq. 8), over its whole vocabulary: nothing for being forced

A ranking only decides among complete texts. The guided sum decides in any case which M prefixes are kept, complete or
not: a complete text holds one of the M places until M beams have higher sums.

The best one is the answer as soon as nothing under way can become better. Sums only fall, so what a beam is worth now
bounds what it can become; with T tokens at most, a sum s of a beam under way ends no higher than s / T on average. That
bound is far away while T is: normalised beams mostly run to their ends.

Tokens that were jumped over count 0: guided scores over viable tokens have it so anyway, but the model's own share is
not known there. A text that ends without an end token, since nothing may follow or no token is left, has no term for
ending.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from server.decoding.beam import Beam
from server.decoding.parameters import Ranking

Worth: TypeAlias = tuple[float, float]
"""Compared in this order; the second breaks ties."""


def guided_sum(beam: Beam, budget: int) -> Worth:
    return beam.scores.guided, beam.scores.viable


def normalised(beam: Beam, budget: int) -> Worth:
    length = beam.used if beam.ended else budget
    return beam.scores.guided / max(1, length), beam.scores.viable


def model(beam: Beam, budget: int) -> Worth:
    return beam.scores.model, beam.scores.guided


RANKINGS: Mapping[Ranking, Callable[[Beam, int], Worth]] = MappingProxyType(
    {"sum": guided_sum, "normalised": normalised, "model": model}
)
"""Worth of a complete text within the budget T; of a beam under way, no less than any of its completions."""
