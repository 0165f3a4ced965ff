"""One step of one row: how a text goes on, given the logits behind it.

Pure functions of the language, the place in it, the logits and the parameters: whoever has the logits takes the step,
a thread beside the model or an engine's worker. A step with one beam (M = 1) is one token, the best or a drawn one;
with more it is the best 2·M, for the search to choose from (`decoder`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.candidate_order import leading
from server.decoding.beam import NOTHING_SCORED, Scores
from server.decoding.candidates import Candidates, Place, candidates, may_follow
from server.decoding.distance_scoring import CHANGES_GREEDY, NORMALISERS, PROMOTIONS
from server.decoding.language import Language, going_on
from server.decoding.logits import ArrayRow, Row
from server.decoding.parameters import UNLIMITED, Parameters
from server.decoding.sampling import Draw, draw, noise


class Successor(NamedTuple):
    """A token that may follow, the configuration behind it, and what it adds to a beam's scores."""

    token: int
    configuration: int
    scores: Scores


@dataclass(frozen=True, slots=True)
class Successors:
    """Successors of one text, best first: not at all where it is complete and a model has no end token.

    `forced`: the budget kept out what the model would rather have; of a single token, what it would be without one.
    """

    ranked: tuple[Successor, ...]
    forced: bool


def steps(
    language: Language, places: Sequence[Place], logits: NDArray[np.floating], parameters: Parameters
) -> list[Successors]:
    """`step` for each row of [rows, vocabulary size]."""
    return [step(language, place, ArrayRow(row), parameters) for place, row in zip(places, logits, strict=True)]


def step(language: Language, place: Place, row: Row, parameters: Parameters) -> Successors:
    """Successors of the text at a place."""
    if parameters.beam_width > 1:
        return _several(language, place, row, parameters)
    return taken(language, place, drawn(language, place, row, parameters))


def drawn(language: Language, place: Place, row: Row, parameters: Parameters) -> Draw:
    """The one token that M = 1 goes on with: drawn at a temperature, else the best. Needs a seed to draw."""
    more = going_on(language, parameters, place.tokens_left)
    if more is None:
        return _one(language, place, row, parameters)
    choice = _one(more, place, row, parameters)
    if choice.token is not None:
        return choice
    # Nothing but an end is viable; if the budget alone has it so, another token would have come.
    free = more.mask(place.configuration, UNLIMITED).any()
    choice = _one(language, place, row, parameters)
    return choice._replace(forced=choice.forced or bool(free))


def _one(language: Language, place: Place, row: Row, parameters: Parameters) -> Draw:
    if parameters.temperature > 0:
        assert parameters.seed is not None, "see Parameters.seeded"
        chance = noise(parameters.seed, parameters.budget - place.tokens_left)
        return draw(language, place, row, parameters, chance)
    best, alone = row.best()  # mostly it is viable, and nothing else need be looked at
    if alone and parameters.promotion not in CHANGES_GREEDY and may_follow(language, place, best):
        return Draw(best, False)
    token, same = _best(language, place, row, parameters)
    if same or place.tokens_left >= UNLIMITED // 2:
        return Draw(token, False)
    free, _ = _best(language, place._replace(tokens_left=UNLIMITED), row, parameters)
    return Draw(token, token != free)


def _best(language: Language, place: Place, row: Row, parameters: Parameters) -> tuple[int | None, bool]:
    """The best viable token, None if there is none, and whether it is known to be that without a budget."""
    options = candidates(language, place, row, parameters)
    found = successors(language, options, parameters, _log_total(row, parameters))
    same = options.same and parameters.promotion not in CHANGES_GREEDY
    return (found.ranked[0].token if found.ranked else None), same


def _several(language: Language, place: Place, row: Row, parameters: Parameters) -> Successors:
    """Successors for beams, by their scores."""
    more = going_on(language, parameters, place.tokens_left)
    options = candidates(more or language, place, row, parameters)
    if more is not None and not len(options.tokens):
        options = candidates(language, place, row, parameters)
    return successors(language, _likely(options, row, parameters), parameters, _log_total(row, parameters))


def _likely(options: Candidates, row: Row, parameters: Parameters) -> Candidates:
    """The candidates whose share of the model is not below `parameters.epsilon`; in any case the best.

    A share of all tokens is less than one beside the model's best alone, which mostly settles it: to sum takes long.
    """
    if not parameters.epsilon or len(options.tokens) < 2:
        return options
    least = log(parameters.epsilon) + _log_best(row, parameters)
    if options.logits[1] < least:
        return options.best(1)
    least += log(row.mass(parameters.scale))
    return options.best(max(1, int(np.count_nonzero(options.logits >= least))))


def taken(language: Language, place: Place, choice: Draw) -> Successors:
    """A token that is chosen already, as the only way to go on; it counts 0 in every score."""
    if choice.token is None:
        return Successors((), False)
    configuration = place.configuration
    if choice.token not in language.vocabulary.stop_ids:
        configuration = language.take(configuration, choice.token)
    return Successors((Successor(choice.token, configuration, NOTHING_SCORED),), choice.forced)


def successors(language: Language, options: Candidates, parameters: Parameters, log_total: float) -> Successors:
    """The best 2·M candidates: M continuations and a few more, in case some spell the same text.

    `log_total`: the logarithm of the sum of exp(logit) over the model's whole vocabulary, where scores need it.
    """
    if not len(options.tokens):
        return Successors((), False)
    promoted = PROMOTIONS[parameters.promotion](options, language, parameters.alpha)
    normaliser = NORMALISERS[parameters.softmax](promoted, options, float(options.logits[0]) - log_total)
    order, *columns = leading(promoted, normaliser, options.logits, 2 * parameters.beam_width)
    if parameters.needs_model_scores:
        columns.append(options.logits[order] - log_total)
    scores = map(Scores, *(column.tolist() for column in columns))
    ranked = map(Successor, options.tokens[order].tolist(), options.configurations[order].tolist(), scores)
    return Successors(tuple(ranked), options.lost is not None)


def _log_total(row: Row, parameters: Parameters) -> float:
    if not parameters.needs_model_scores:
        return 0.0
    return _log_best(row, parameters) + log(row.mass(parameters.scale))


def _log_best(row: Row, parameters: Parameters) -> float:
    """The model's highest logit, scaled."""
    _, best = row.highest(1)
    return float(best[0]) / parameters.scale
