"""The tokens a beam looks at: the model's best and the grammar's proposals, those that the horizon leaves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.candidate_order import ordered
from server.decoding.language import Language
from server.decoding.logits import Row, Tokens, highest
from server.decoding.parameters import Parameters


class Place(NamedTuple):
    """Place of a text in its language and budget: its configuration, and the tokens that it may still have."""

    configuration: int
    tokens_left: int


class Candidates(NamedTuple):
    """Viable tokens of one beam: ids, the configurations and distances behind them, and their logits, best first.

    `end` is the id of the end token among the candidates, if the text may end here: its distance is 0 and its
    configuration is that of the beam. `lost`: the best token that the grammar allows and the budget doesn't, where it
    beats all that are viable. `lost_logits`: of all tokens looked at that the grammar allows and the budget doesn't.
    `same`: whether the best one is known to be that without a budget.
    """

    place: Place
    tokens: Tokens
    configurations: NDArray[np.int32]
    distances: NDArray[np.int32]
    logits: NDArray[np.float64]
    end: int | None
    lost: int | None
    lost_logits: NDArray[np.float64]
    same: bool

    def best(self, count: int) -> Candidates:
        """The first `count` of them."""
        if count >= len(self.tokens):
            return self
        return self._replace(
            tokens=self.tokens[:count],
            configurations=self.configurations[:count],
            distances=self.distances[:count],
            logits=self.logits[:count],
        )


def candidates(language: Language, place: Place, row: Row, parameters: Parameters) -> Candidates:
    """The model's best `parameters.candidates` tokens and the grammar's proposals, where viable.

    If none of the model's best is, as many of the best of all viable tokens. None at all only where the text is
    complete. Logits are scaled by the temperature.
    """
    tokens, logits = row.highest(parameters.candidates)
    best = tokens.tolist()
    end = _end_token(language, place, row)
    others = [token for token in (*language.proposals(place.configuration).tolist(), *end) if token not in best]
    if others:
        beside = np.array(others, np.int32)
        tokens, logits = np.concatenate([tokens, beside]), np.concatenate([logits, row.at(beside)])
    found = among(language, place, tokens, logits / parameters.scale)
    if any(token in best for token in found.tokens.tolist()):  # mostly the first one is
        return found
    allowed = np.flatnonzero(language.mask(place.configuration, place.tokens_left))
    allowed = allowed[language.vocabulary.string_of[allowed] >= 0]
    viable = allowed[highest(row.whole()[allowed], parameters.candidates)].astype(np.int32)
    known = set(viable.tolist())
    lost = [] if found.lost is None else [found.lost]
    tokens = np.concatenate([viable, np.array([token for token in (*end, *lost) if token not in known], np.int32)])
    here = among(language, place, tokens, row.at(tokens) / parameters.scale)
    return here._replace(lost_logits=found.lost_logits, same=False)


def among(language: Language, place: Place, tokens: Tokens, logits: NDArray[np.floating]) -> Candidates:
    """Viable tokens of some, int32[k], with their logits or any shift of them, [k]."""
    configuration, left = place
    after, distances = judged(language, place, tokens)
    end = None
    if language.accepts(configuration):
        stops = (tokens[:, None] == np.array(language.vocabulary.stop_ids, np.int32)).any(axis=1)
        if stops.any():
            at = int(np.where(stops, logits, -np.inf).argmax())
            end = int(tokens[at])
            distances[at], after[at] = 0, configuration
    values = logits.astype(np.float64)
    kept, beyond, lost = ordered(tokens, values, distances, left - 1, after)
    # Equal logits go by distances, and these by the budget.
    tied = len(kept) > 1 and values[kept[0]] == values[kept[1]]
    return Candidates(
        place=place,
        tokens=tokens[kept],
        configurations=after[kept],
        distances=distances[kept],
        logits=values[kept],
        end=end,
        lost=None if lost is None else int(tokens[lost]),
        lost_logits=values[beyond],
        same=not tied and not len(beyond),
    )


def judged(language: Language, place: Place, tokens: Tokens) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The configurations behind tokens and their distances with what is then left; a stop id leads nowhere here."""
    after = language.consume_batch(np.array([place.configuration], np.int32), tokens[None, :])[0]
    return after, language.distances_behind(place.configuration, after, place.tokens_left - 1)


def may_follow(language: Language, place: Place, token: int) -> bool:
    """Whether a token is viable; a stop id is where the text may end."""
    if token in language.vocabulary.stop_ids:
        return language.accepts(place.configuration)
    ranking = np.array([token], np.int32)
    return language.first_viable(place.configuration, ranking, place.tokens_left - 1) is not None


def _end_token(language: Language, place: Place, row: Row) -> list[int]:
    """The likeliest of the model's end tokens where the text may end: one or none."""
    stops = language.vocabulary.stop_ids
    if not stops or not language.accepts(place.configuration):
        return []
    return [stops[int(row.at(np.array(stops, np.int32)).argmax())]]
