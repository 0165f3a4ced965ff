"""How the candidates of a beam travel from vLLM's workers to the search: as log-probabilities of a few tokens.

The filter leaves a beam's row the logits of its viable candidates, and -inf elsewhere. Asked for enough
log-probabilities (of the processed logits), vLLM yields the same numbers up to a shift, which is all that the step
needs: `successors_of` judges the tokens again and scores them as if it had the row. So nothing is lost in between:
neither the order of tokens whose guided scores tie, nor scores that break ties between beams.

Two tokens may be there besides. One that only the budget keeps out, if it beats all candidates, tells that the budget
had a say; it stands just above the best. And where scores need the model's own log-probabilities, all that isn't a
candidate weighs on a token that no text has (`spare_token`), so that the shift is 0.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from grammar_cache.vocabulary import Vocabulary
from server.decoding.candidates import Place, candidates
from server.decoding.language import Language
from server.decoding.logits import Row, Tokens
from server.decoding.parameters import Parameters
from server.decoding.step import Successors, received

MARGIN = 1.0
"""By how much a token that the budget keeps out beats the best candidate, at most: more would cost precision."""


def log_probabilities_of(language: Language, place: Place, parameters: Parameters) -> int:
    """How many log-probabilities to ask vLLM for, so that no candidate is missing. Raises ValueError."""
    if parameters.needs_model_scores and spare_token(language.vocabulary) is None:
        raise ValueError("the model's own scores need a token that no text has, and this vocabulary has none")
    beside = 3  # an end token, one that the budget keeps out, one that no text has
    return parameters.candidates + len(language.proposals(place.configuration)) + beside


def successors_of(
    language: Language, place: Place, log_probabilities: Mapping[int, float], parameters: Parameters
) -> Successors:
    """How a beam goes on, by what vLLM answered: the step that `step` would take with the whole row."""
    possible = sorted(token for token, value in log_probabilities.items() if value > -np.inf)
    values = np.array([log_probabilities[token] for token in possible], np.float32)
    return received(language, place, np.array(possible, np.int32), values, parameters)


def row_of(language: Language, place: Place, logits: Row, parameters: Parameters) -> tuple[Tokens, NDArray[np.float32]]:
    """The tokens that a beam's row keeps, and what their logits become: [k]; none where nothing may follow."""
    options = candidates(language, place, logits, parameters)
    tokens, values = options.tokens, options.logits.astype(np.float32)
    if options.lost is not None:
        lost = logits.at(np.array([options.lost], np.int32)) / np.float32(parameters.scale)
        highest = values.max(initial=np.float32(lost[0]) - MARGIN)
        tokens = np.append(tokens, np.int32(options.lost))
        values = np.append(values, np.minimum(lost, highest + np.float32(MARGIN)))
    if parameters.needs_model_scores and len(tokens):
        tokens, values = _with_the_rest(language.vocabulary, tokens, values, logits, parameters.scale)
    return tokens, values


def spare_token(vocabulary: Vocabulary) -> int | None:
    """The first token that neither spells a text nor ends one."""
    spare = vocabulary.string_of < 0
    spare[list(vocabulary.stop_ids)] = False
    return int(spare.argmax()) if spare.any() else None


def _with_the_rest(
    vocabulary: Vocabulary, tokens: Tokens, values: NDArray[np.float32], logits: Row, scale: float
) -> tuple[Tokens, NDArray[np.float32]]:
    """With the weight of all other tokens on the spare one."""
    spare = spare_token(vocabulary)
    if spare is None:
        raise ValueError("no token is there to carry the rest")
    _, [highest] = logits.highest(1)
    shift = float(highest) / scale
    rest = logits.mass(scale) - float(np.exp(values.astype(np.float64) - shift).sum())
    if rest <= 0:
        return tokens, values
    return np.append(tokens, np.int32(spare)), np.append(values, np.float32(shift + np.log(rest)))
