"""One row of a single text: from its tokens and its logits to the token that it goes on with.

Whatever fails, the row gets one that may be emitted: the next one of the witness, which completes the text within
its budget; or, where the text can't be completed, an end token, and a report that the answer has failed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from grammar_cache.errors import LimitExceeded
from server.backends.vllm.wire.requests import RowRequest
from server.backends.vllm.worker.history import History
from server.backends.vllm.worker.registry import Registry
from server.decoding.candidates import Place
from server.decoding.language import ENDINGS, Language
from server.decoding.logits import Row, Tokens
from server.decoding.sampling import FIRST_LOOK
from server.decoding.step import drawn

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """Values that a step will mostly ask of its row: the highest `count`, those of some tokens, the mass at a
    temperature.
    """

    count: int
    tokens: Tokens
    temperature: float


class GuidedRow:
    """A request of ours in the batch. `history`: what was known of its text before an interruption, or a new one."""

    def __init__(self, request: RowRequest, registry: Registry, history: History) -> None:
        self.request = request
        self.parameters = request.parameters
        self.history = history
        self._registry = registry
        self._over = ENDINGS[request.parameters.ending]
        self._length = 0

    @property
    def language(self) -> Language:
        """Raises UnknownGrammar."""
        return self._registry.language(self.request.grammar)

    @property
    def place(self) -> Place:
        return Place(self.history.configuration, self.parameters.budget - self._length)

    def follow(self, answer: list[int]) -> bool:
        """Takes in the answer so far. Returns whether more text may follow, so that its logits matter.

        Raises UnknownGrammar, or LostTrack for tokens that the language doesn't have there.
        """
        self._registry.renew(self.request.grammar)
        language = self.language
        self.history.follow(language, answer)
        self._length = len(answer)
        if self.history.stopped:
            return False
        if self.place.tokens_left > 0:
            return not self._over(language, self.history.configuration)
        if not language.accepts(self.history.configuration):
            self.fail(ValueError("no token is left, and the text is not complete"))
        return False

    def wish(self) -> Wish:
        beside = np.array(self._registry.vocabulary.stop_ids, np.int32)
        return Wish(max(FIRST_LOOK, self.parameters.candidates), beside, self.parameters.scale)

    def decided(self, logits: Row) -> int:
        """The step: one token; an end token where nothing may follow."""
        choice = drawn(self.language, self.place, logits, self.parameters)
        forced = choice.forced and choice.token is not None
        self._registry.note(self.request.request, self._length, forced=forced)
        return self.end() if choice.token is None else choice.token

    def rescued(self, error: Exception) -> int:
        """Next token of the witness, after a fault behind a text that was followed. Never raises."""
        rescued = self._registry.report(self.request.request).rescued
        if not rescued and isinstance(error, LimitExceeded):
            _log.warning("no room to look further (%s): request %s follows its witness", error, self.request.request)
        elif not rescued:
            _log.error("a step of request %s has failed; it follows its witness", self.request.request, exc_info=error)
        try:
            witness = self._witness()
        except Exception as worse:
            return self.failed(worse)
        rescued.add(self._length)
        self._registry.note(self.request.request, self._length, forced=True)
        return witness[0] if witness else self.end()

    def _witness(self) -> tuple[int, ...]:
        configuration, tokens_left = self.place
        witness = self.language.witness(configuration, tokens_left)
        if len(witness) > tokens_left:
            raise AssertionError("the witness does not fit: distances are inconsistent")
        return witness

    def failed(self, error: Exception) -> int:
        """The text can't be completed: an end token, and a report. Never raises."""
        self.fail(error)
        return self.end()

    def fail(self, error: Exception) -> None:
        """Reports that the answer has failed; the first reason stays."""
        report = self._registry.report(self.request.request)
        if report.failure is None:
            report.failure = f"{type(error).__name__}: {error}"
            _log.error("request %s has failed", self.request.request, exc_info=error)

    def end(self) -> int:
        """An end token."""
        return next(iter(self._registry.ends), 0)
