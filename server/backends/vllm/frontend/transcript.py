"""Tokens that were chosen elsewhere become a text, checked against its grammar: nothing is taken on trust.

The front end's own copy of the grammar reads every token. A text that leaves the grammar, or isn't complete when the
tokens end, is an error and never an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest

from grammar_cache.configurations.interner import DEAD
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.backend import Unavailable, Work
from server.backends.budget_ended import ended_by_budget
from server.backends.vllm.wire.end_tokens import end_tokens
from server.decoding.answer import Answer, Interruption
from server.decoding.beam import first_stop, held_back, whole_code_points
from server.decoding.language import ENDINGS
from server.decoding.logprobs import TokenLogprobs
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
        ends = () if work.parameters.ignore_end else end_tokens(vocabulary)
        self._ends = (*ends, *work.parameters.stop_ids)
        self._configuration = 0 if work.grammar is None else work.grammar.start
        self._tokens: list[int] = []
        self._text = b""
        self._tight: tuple[int, ...] = ()
        self._logprobs: list[TokenLogprobs] = []
        self._sent = 0
        self._told = 0
        self._stopped = False
        self._halted = False
        self._ended = self._nothing_may_follow()

    @property
    def ended(self) -> bool:
        """Whether no token may follow: by an end token, at a stop text, or because nothing can."""
        return self._ended

    def add(self, tokens: Iterable[int], logprobs: Iterable[TokenLogprobs] = ()) -> None:
        """Takes in tokens, with their log-probabilities where these were asked for. What follows the end is left out.

        Raises EngineError for tokens that the grammar doesn't have there.
        """
        for token, told in zip_longest(tokens, logprobs):
            if self._ended:
                return
            if token in self._ends:
                # A model without end tokens ends by one that isn't counted.
                self._stopped = token in (*self._vocabulary.stop_ids, *self._parameters.stop_ids)
                self._ended = True
                self._check_complete()
            else:
                self._extend(token)
                self._logprobs += [] if told is None else [told]

    def note_tight(self, places: Sequence[int]) -> None:
        """Takes in the places of tokens before which the mask was tight, if there are some; they are all so far."""
        if places:
            self._tight = tuple(places)

    def news_of_logprobs(self) -> tuple[TokenLogprobs, ...]:
        """Log-probabilities that weren't told before."""
        found = tuple(self._logprobs[self._told :])
        self._told += len(found)
        return found

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
        tight = tuple(place for place in self._tight if place < used)
        answer = Answer(
            text=self._text,
            tokens=tuple(self._tokens),
            tokens_used=used,
            complete=not cut,
            finish_reason="length" if cut else "stop",
            score=0.0,
            budget_forced_tokens=None if self._grammar is not None else 0,
            forced_at=tight,
            tight_steps=None if self._grammar is None else len(tight),
            budget_affected=bool(tight) or not self._ends_by_itself(),
            logprobs=tuple(self._logprobs),
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
            self.add(self._grammar.witness(self._configuration, self._parameters.budget - begun))
            self._tight = tuple(place for place in self._tight if place < begun)
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
