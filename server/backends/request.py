"""A piece of work under way: its decoder, step by step, and what its caller is told."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from grammar_cache.distances.effort import NO_EFFORT, Effort
from grammar_cache.grammar import CompiledGrammar
from server.backends.backend import Piece, Work
from server.backends.budget_ended import ended_by_budget
from server.decoding.answer import Answer, Cost, Interruption
from server.decoding.decoder import Decoder
from server.decoding.forced_text import ForcedText
from server.decoding.language import AnyText, Language
from server.decoding.logprobs import TokenLogprobs, token_logprobs
from server.decoding.penalties import penalised
from server.decoding.step import Successors, steps
from server.decoding.tracing.tracer import Tracer
from server.decoding.unlimited import UnlimitedSearch
from server.engines.contract import Forward, SequenceId


class Decoding:
    """Decoding of one piece of work. `fed`: the model has been asked about it. `beams`: texts of the last step, and
    `kv_tokens`: tokens of them and their prompts. Raises LimitExceeded as its parts do.
    """

    def __init__(self, work: Work, any_text: AnyText) -> None:
        """`any_text`: the language of works without a grammar."""
        self.work = work
        self.fed = False
        self.cost = Cost()
        self.beams = 0
        self.kv_tokens = 0
        language, _ = _language(work, any_text).moved(())
        self.decoder = Decoder(language, work.parameters)
        self._free: UnlimitedSearch | None = None
        if work.grammar is not None and work.parameters.beam_width > 1:
            self._free = UnlimitedSearch(self.decoder)
        self._tracer = Tracer(self.decoder) if work.parameters.trace_bytes else None
        self._logprobs: list[TokenLogprobs] = []
        self._sent = 0
        self._told = 0
        self._traced = 0

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers once they are there, with all that is known of them."""
        answers = self.decoder.answers
        if self._free is not None and answers:
            answers = self._free.judged(answers)
        return tuple(self._described(answer, first=not place) for place, answer in enumerate(answers))

    def forward(self, sequence: SequenceId) -> Forward:
        """Forward pass that the engine is asked for next."""
        wanted = self.decoder.wanted
        if self.fed:
            return Forward(sequence, wanted.parents, wanted.tokens)
        return Forward(sequence, (0,), ((),))

    def step(self, logits: NDArray[np.float32]) -> None:
        """One step, given the logits that were asked for; it may be taken again after LimitExceeded."""
        before = _effort(self.decoder.language)
        self._take_step(logits)
        self.cost.add_step(len(logits), _effort(self.decoder.language).since(before), monotonic())

    def _take_step(self, logits: NDArray[np.float32]) -> None:
        self.fed = True
        decoder, parameters = self.decoder, self.decoder.parameters
        decoder.renew()
        prefixes = decoder.prefixes
        self.beams = len(prefixes)
        self.kv_tokens = self.beams * len(self.work.prompt) + sum(map(len, prefixes))
        changed = penalised(logits, self.work.prompt, prefixes, parameters.penalties)
        found = steps(decoder.language, decoder.wanted.places, changed, parameters)
        told = [] if parameters.logprobs is None else self._told_of(found[0], logits[0], parameters.logprobs)
        if self._tracer is not None:
            self._tracer.before()
        decoder.advance(found)
        if self._tracer is not None:
            self._tracer.after(found, logits, changed)
        self._logprobs += told
        if self._free is not None:
            self._free.advance(prefixes, changed)

    def finish_by_witness(self, reason: Interruption) -> None:
        """Ends the search: see `Decoder.finish_by_witness`."""
        if self._tracer is not None:
            self._tracer.before()
        self.decoder.finish_by_witness(reason)
        if self._tracer is not None:
            self._tracer.completed()

    def piece(self) -> Piece | None:
        """Newly agreed text and steps, if there are some, for who reads the text as it comes."""
        if not self.work.pieces:
            return None
        text = self.decoder.agreed if self.decoder.parameters.answers == 1 else b""
        trace = () if self._tracer is None else tuple(self._tracer.steps[self._traced :])
        if len(text) <= self._sent and not trace:
            return None
        found = Piece(text[self._sent :], tuple(self._logprobs[self._told :]), trace)
        self._sent, self._told = max(self._sent, len(text)), len(self._logprobs)
        self._traced += len(trace)
        return found

    def _told_of(self, found: Successors, row: NDArray[np.float32], count: int) -> list[TokenLogprobs]:
        """Log-probabilities of the token that a single text goes on with; none where it ends there."""
        language = self.decoder.language
        ends = (*language.vocabulary.stop_ids, *self.decoder.parameters.stop_ids)
        [place] = self.decoder.wanted.places
        return [
            token_logprobs(language, place, row, way.token, count, forced=found.forced)
            for way in found.ranked
            if way.token not in ends
        ]

    def _described(self, answer: Answer, *, first: bool) -> Answer:
        trace = tuple(self._tracer.steps) if self._tracer is not None and first else None
        self.cost.jumped = self.decoder.jumped
        ended = ended_by_budget(self.work, answer)
        return replace(answer, logprobs=tuple(self._logprobs), budget_ended=ended, trace=trace, cost=self.cost)


class Request:
    """A piece of work and its caller. Its fields belong to the decoding thread; `cancelled` is set from outside."""

    def __init__(self, work: Work, loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.cancelled = threading.Event()
        self.events: asyncio.Queue[Piece | Answer | Exception | None] = asyncio.Queue()
        self.sequence: SequenceId | None = None
        self._decoding: Decoding | None = None
        self._loop = loop

    @property
    def opened(self) -> bool:
        """Whether decoding has begun."""
        return self._decoding is not None

    @property
    def decoding(self) -> Decoding:
        """Decoding of what was opened."""
        assert self._decoding is not None, "only an opened request is decoded"
        return self._decoding

    def open(self, any_text: AnyText) -> None:
        """Begins decoding."""
        self._decoding = Decoding(self.work, any_text)

    def tell(self, *events: Piece | Answer | Exception | None) -> None:
        """Hands events over, None after the last; a caller whose event loop is gone no longer wants them."""
        if not self._loop.is_closed():
            for event in events:
                self._loop.call_soon_threadsafe(self.events.put_nowait, event)


def _effort(language: Language) -> Effort:
    """Effort of a grammar's searches so far; a language without one has none."""
    grammar = language.grammar if isinstance(language, ForcedText) else language
    return grammar.effort if isinstance(grammar, CompiledGrammar) else NO_EFFORT


def _language(work: Work, any_text: AnyText) -> Language:
    if work.grammar is not None:
        return work.grammar
    stop_ids = work.parameters.stop_ids
    return AnyText(any_text.vocabulary, stop_ids) if stop_ids else any_text
