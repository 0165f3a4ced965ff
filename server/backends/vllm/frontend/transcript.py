"""Tokens that were chosen elsewhere become a text, checked against its grammar: nothing is taken on trust.

The front end's own copy of the grammar reads every token. A text that leaves the grammar, or isn't complete when the
tokens end, is an error and never an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from grammar_cache.configurations.interner import DEAD
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.backend import Unavailable, Work
from server.backends.budget_ended import ended_by_budget
from server.backends.vllm.wire.end_tokens import end_tokens
from server.decoding.answer import Answer, Interruption
from server.decoding.beam import first_stop, held_back, whole_code_points
from server.decoding.language import ENDINGS
from server.engines.contract import EngineError


class Ended(EngineError):
    """The engine has ended during a request, or has given it up since answers are to end."""

    def __init__(self, reason: Interruption, message: str) -> None:
        super().__init__(message)
        self.reason: Interruption = reason


class Transcript:
    """One answer as its tokens come in; the fields of its `answer` mean what `Decoder`'s do."""

    def __init__(self, work: Work, vocabulary: Vocabulary) -> None:
        self._work = work
        self._grammar = work.grammar
        self._parameters = work.parameters
        self._vocabulary = vocabulary
        self._ends = end_tokens(vocabulary)
        self._configuration = 0 if work.grammar is None else work.grammar.start
        self._tokens: list[int] = []
        self._text = b""
        self._forced: tuple[int, ...] = ()
        self._sent = 0
        self._stopped = False
        self._halted = False
        self._ended = self._nothing_may_follow()

    @property
    def ended(self) -> bool:
        """Whether no token may follow: by an end token, at a stop text, or because nothing can."""
        return self._ended

    def add(self, tokens: Iterable[int]) -> None:
        """Raises EngineError for tokens that the grammar doesn't have there. What follows the end is left out."""
        for token in tokens:
            if self._ended:
                return
            if token in self._ends:
                self._stopped = token in self._vocabulary.stop_ids  # else the model has none, and none is counted
                self._ended = True
                self._check_complete()
            else:
                self._extend(token)

    def note_forced(self, places: Sequence[int]) -> None:
        """Takes in the places of tokens that the budget chose, if there are some; they are all so far."""
        if places:
            self._forced = tuple(places)

    def news(self) -> bytes:
        """Text that wasn't told before, up to a whole code point; before the end, none that may begin a stop text."""
        text = self._text
        if not self._ended:
            text = whole_code_points(text[: len(text) - held_back(text, self._parameters.stops)])
        found = text[self._sent :]
        self._sent += len(found)
        return found

    def answer(self) -> Answer:
        """Answer, once no more tokens come. Raises EngineError if the text isn't complete under its grammar."""
        self._check_complete()
        cut = self._grammar is None and not self._stopped and not self._halted
        used = len(self._tokens) + self._stopped
        forced = tuple(place for place in self._forced if place < used)
        answer = Answer(
            text=self._text,
            tokens=tuple(self._tokens),
            tokens_used=used,
            complete=not cut,
            finish_reason="length" if cut else "stop",
            score=0.0,
            budget_forced_tokens=len(forced),
            forced_at=forced,
            budget_affected=bool(forced) or not self._ends_by_itself(),
        )
        return replace(answer, budget_ended=ended_by_budget(self._work, answer))

    def interrupted(self, ended: Ended) -> Answer:
        """The answer if the engine tells no more: completed by its witness, or cut where there is no grammar.

        Raises EngineError where that isn't wanted (see `Work.completable`).
        """
        if not self._work.completable(ended.reason, begun=bool(self._tokens)):
            raise Unavailable(str(ended)) if ended.reason == "shutdown" else ended
        begun = len(self._tokens)
        if self._grammar is not None:
            self.add(self._grammar.witness(self._configuration))
            self._forced = (*(at for at in self._forced if at < begun), *range(begun, self._parameters.budget))
        self._ended = True
        return replace(self.answer(), interrupted=ended.reason, budget_affected=None, budget_ended=None)

    def _extend(self, token: int) -> None:
        named = self._parameters.special_names
        data = self._vocabulary.text_of(token, named=named) if token < self._vocabulary.size else b""
        if self._grammar is not None:
            self._configuration = self._grammar.take(self._configuration, token)
            if self._configuration == DEAD:
                raise EngineError("the engine chose a token that the grammar doesn't allow there")
        known = len(self._text)
        self._tokens.append(token)
        self._text += data
        halt = first_stop(self._text, known, self._parameters.stops)
        self._text = self._text[:halt]
        self._halted = halt is not None
        self._ended = self._halted or self._nothing_may_follow()

    def _nothing_may_follow(self) -> bool:
        if len(self._tokens) >= self._parameters.budget:
            return True
        return self._grammar is not None and ENDINGS[self._parameters.ending](self._grammar, self._configuration)

    def _ends_by_itself(self) -> bool:
        """Whether the text would have ended without a budget too."""
        over = self._grammar is not None and ENDINGS[self._parameters.ending](self._grammar, self._configuration)
        return self._stopped or self._halted or over

    def _check_complete(self) -> None:
        if self._grammar is not None and not self._grammar.accepts(self._configuration):
            raise EngineError("the engine ended the answer before it was complete")
