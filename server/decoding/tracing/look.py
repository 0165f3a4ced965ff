"""Look at one row of a step: what the model thought of, and what became of it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from server.decoding.candidates import Place, judged
from server.decoding.language import Language, going_on
from server.decoding.logits import finite, highest
from server.decoding.logprobs import LEAST
from server.decoding.parameters import UNLIMITED, Parameters
from server.decoding.tracing.steps import Chooser, Fate, TracedCandidate, TracedToken, token_text

CANDIDATES = 8
"""Candidates that a row tells."""

DIGITS = 4
"""Digits of logits and log-probabilities behind the point."""


class Look:
    """Candidates of the text at a place, given the model's logits, [tokens], and those that penalties made of them.

    Raises LimitExceeded where the grammar has no room to look.
    """

    def __init__(
        self,
        language: Language,
        place: Place,
        parameters: Parameters,
        logits: NDArray[np.floating],
        ranked: NDArray[np.floating],
    ) -> None:
        self._language, self._place = language, place
        self._rules = going_on(language, parameters, place.tokens_left) or language
        self._logits, self._ranked = finite(logits), finite(ranked)
        self._best: list[int] = highest(self._ranked, CANDIDATES).tolist()
        self._judged: dict[int, tuple[Fate, int | None]] = {}

    @cached_property
    def _total(self) -> float:
        """Logarithm of the sum of exponentials."""
        values = self._logits.astype(np.float64)
        top = values.max()
        return float(top + np.log(np.exp(values - top).sum()))

    def token(self, token: int) -> TracedToken:
        """The token that the row has."""
        return TracedToken(token, *self._text(token), self._logprob(token))

    def chooser(self, token: int) -> Chooser:
        """Chooser of the token that the row has."""
        favourite = self._best[0]
        if token == favourite:
            return "model"
        self._judge([favourite])
        fate, _ = self._judged[favourite]
        return fate if fate in ("grammar", "budget") else "alternative"

    def candidates(self, token: int | None, kept: Collection[int]) -> tuple[TracedCandidate, ...]:
        """The model's best and the token that the row has; `kept`: those of all rows with this parent."""
        told = self._best if token is None or token in self._best else [*self._best[: CANDIDATES - 1], token]
        self._judge(told)
        return tuple(self._candidate(one, token, kept) for one in told)

    def _candidate(self, token: int, own: int | None, kept: Collection[int]) -> TracedCandidate:
        fate, distance = self._judged[token]
        if token == own:
            fate, distance = "taken", distance or 0  # an end before its time is taken where nothing else is viable
        elif token in kept:
            fate = "kept"
        logit = round(float(self._ranked[token]), DIGITS)
        text, _ = self._text(token)
        return TracedCandidate(token, text, logit, self._logprob(token), distance, fate)

    def _judge(self, tokens: list[int]) -> None:
        """Finds of each token whether it is refused, and what is needed behind it."""
        asked = np.array([token for token in tokens if token not in self._judged], np.int32)
        if not len(asked):
            return
        configuration, left = self._place
        after, distances = judged(self._rules, self._place, asked)
        unsure = (after >= 0) & (distances >= left)
        if unsure.any():
            distances[unsure] = self._rules.distances_behind(configuration, after[unsure], UNLIMITED - 1)
        if self._rules.accepts(configuration):
            distances[np.isin(asked, self._language.vocabulary.stop_ids)] = 0
        for token, distance in zip(asked.tolist(), distances.tolist(), strict=True):
            self._judged[token] = _fate(distance, left)

    def _logprob(self, token: int) -> float:
        return round(min(0.0, max(LEAST, float(self._logits[token]) - self._total)), DIGITS)

    def _text(self, token: int) -> tuple[str, tuple[int, ...] | None]:
        return token_text(self._language.vocabulary.text_of(token, named=True))


def _fate(distance: int, left: int) -> tuple[Fate, int | None]:
    if distance < left:
        return "worse", distance
    return ("budget", distance) if distance < UNLIMITED else ("grammar", None)
