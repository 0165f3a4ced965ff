"""The thread that decodes: it alone touches the engine and the tables of grammars.

Each round takes one step of every request under way, so that requests share the engine fairly, whatever their
length. Results go back to the caller's event loop; a caller that goes away cancels its request. An engine's error
ends the request it struck; a fault in decoding itself is mended by the witness, the completion known without a model.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator
from queue import Empty, SimpleQueue

import numpy as np
from numpy.typing import NDArray

from grammar_cache.errors import LimitExceeded
from server.backend import Backend, Piece, State, Unavailable, Work, first_work
from server.decoding.answer import Answer
from server.decoding.decoder import Decoder
from server.decoding.language import AnyText, Language
from server.decoding.parameters import Parameters
from server.decoding.step import steps
from server.engines.contract import Engine, EngineError, Forward, SequenceId

_log = logging.getLogger(__name__)


class _Request:
    """A piece of work under way. Its fields belong to the decoding thread; `cancelled` is set from outside."""

    def __init__(self, work: Work, loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.cancelled = threading.Event()
        self.events: asyncio.Queue[Piece | Answer | Exception | None] = asyncio.Queue()
        self.decoder: Decoder | None = None
        self.sequence: SequenceId | None = None
        self.sent = 0
        self.fed = False
        self._loop = loop

    def tell(self, *events: Piece | Answer | Exception | None) -> None:
        """Hands events over, None after the last; a caller whose event loop is gone no longer wants them."""
        if not self._loop.is_closed():
            for event in events:
                self._loop.call_soon_threadsafe(self.events.put_nowait, event)


class EngineLoop(Backend):
    """See `Backend`: decodes over an engine that yields logits."""

    def __init__(self, engine: Engine) -> None:
        self.model = engine
        self._engine = engine
        self._any_text = AnyText(engine.vocabulary)
        self._arriving: SimpleQueue[_Request | None] = SimpleQueue()
        self._requests: list[_Request] = []
        self._ready = threading.Event()
        self._failed = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="swyb-decoding", daemon=True)

    @property
    def state(self) -> State:
        if self._failed:
            return State.FAILED
        if self._stopping.is_set():
            return State.STOPPED
        return State.READY if self._ready.is_set() else State.STARTING

    @property
    def active(self) -> int:
        return len(self._requests) + self._arriving.qsize()

    def check(self, parameters: Parameters, prompt_tokens: int) -> None:
        """Decodes whatever parameters say."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the step at hand, and shuts the engine down."""
        self._stopping.set()
        self._arriving.put(None)
        if self._thread.is_alive():
            self._thread.join()

    async def run(self, work: Work) -> AsyncGenerator[Piece | Answer]:
        request = _Request(work, asyncio.get_running_loop())
        self._arriving.put(request)
        if self._stopping.is_set():  # asked after the put: a thread that ends later finds the request itself
            raise Unavailable("the server is shutting down")
        try:
            while (event := await request.events.get()) is not None:
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            request.cancelled.set()

    def _run(self) -> None:
        try:
            self._warm_up()
            self._ready.set()
            while not self._stopping.is_set():
                self._admit()
                self._round()
        except Exception as error:
            _log.exception("the decoding thread has failed")
            self._failed = True
            self._fail_all(error)
            raise
        finally:
            self._stopping.set()
            self._fail_all(EngineError("the server is shutting down"))
            self._engine.shutdown()

    def _warm_up(self) -> None:
        work = first_work(self.model.vocabulary)
        assert work.grammar is not None, "a constraint is what has to be warmed up"
        decoder = Decoder(work.grammar, work.parameters)
        sequence = self._engine.open(work.prompt)
        try:
            while decoder.answer is None:
                wanted = decoder.wanted
                [logits] = self._engine.step([Forward(sequence, wanted.parents, wanted.tokens)])
                if isinstance(logits, EngineError):
                    raise logits
                _step(decoder, logits)
        finally:
            self._engine.close(sequence)

    def _admit(self) -> None:
        """Takes in what has arrived; sleeps while there is nothing to do."""
        block = not self._requests
        while True:
            try:
                request = self._arriving.get(block=block)
            except Empty:
                return
            if request is None:
                return
            block = False
            if request.cancelled.is_set():
                continue
            try:
                self._open(request)
            except Exception as error:
                _log.exception("a request could not be started")
                self._end(request, _as_engine_error(error))

    def _open(self, request: _Request) -> None:
        work = request.work
        if work.exchange is not None:
            work.exchange.take()
        language: Language = work.grammar if work.grammar is not None else self._any_text
        request.decoder = Decoder(language, work.parameters)
        self._requests.append(request)
        if not self._report(request, request.decoder):
            # Tokens that had no alternative from the start are part of the prompt for the model.
            [jumped] = request.decoder.wanted.tokens
            request.sequence = self._engine.open((*work.prompt, *jumped))

    def _round(self) -> None:
        """One step of every request."""
        for request in [r for r in self._requests if r.cancelled.is_set()]:
            self._end(request)
        stepping = list(self._requests)
        if not stepping:
            return
        results = self._engine.step([_forward(r) for r in stepping])
        for request, result in zip(stepping, results, strict=True):
            if isinstance(result, EngineError):
                self._end(request, result)
            else:
                self._advance(request, result)

    def _advance(self, request: _Request, logits: NDArray[np.float32]) -> None:
        decoder = request.decoder
        assert decoder is not None, "a request is opened before it is stepped"
        try:
            try:
                _step(decoder, logits)
            except LimitExceeded as error:
                _log.warning("no room to look further (%s): the answer is completed by its witness", error)
                decoder.finish_by_witness()
            except Exception:
                _log.exception("a decoding step has failed; the answer is completed by its witness")
                decoder.finish_by_witness()
            self._report(request, decoder)
        except Exception as error:
            _log.exception("an answer could not be completed")
            self._end(request, _as_engine_error(error))

    def _report(self, request: _Request, decoder: Decoder) -> bool:
        """Sends what is new; returns whether the request has ended."""
        answers = decoder.answers
        if answers:
            self._end(request, *answers, None)
        elif request.work.pieces and decoder.parameters.answers == 1 and len(text := decoder.agreed) > request.sent:
            request.tell(Piece(text[request.sent :]))
            request.sent = len(text)
        return bool(answers)

    def _end(self, request: _Request, *events: Answer | Exception | None) -> None:
        if request in self._requests:
            self._requests.remove(request)
        if request.sequence is not None:
            self._engine.close(request.sequence)
        request.tell(*events)
        if request.work.exchange is not None and request.decoder is not None:
            try:
                request.work.exchange.give()
            except Exception:  # the answer is out: others only do without what it has found
                _log.exception("what a request has found is not told")

    def _fail_all(self, error: Exception) -> None:
        for request in list(self._requests):
            self._end(request, _as_engine_error(error))
        while True:
            try:
                request_or_end = self._arriving.get(block=False)
            except Empty:
                return
            if request_or_end is not None:
                request_or_end.tell(_as_engine_error(error))


def _forward(request: _Request) -> Forward:
    assert request.decoder is not None, "only opened requests are stepped"
    assert request.sequence is not None, "only opened requests are stepped"
    wanted = request.decoder.wanted
    if request.fed:
        return Forward(request.sequence, wanted.parents, wanted.tokens)
    request.fed = True
    return Forward(request.sequence, (0,), ((),))


def _step(decoder: Decoder, logits: NDArray[np.float32]) -> None:
    decoder.advance(steps(decoder.language, decoder.wanted.places, logits, decoder.parameters))


def _as_engine_error(error: Exception) -> EngineError:
    if isinstance(error, EngineError):
        return error
    made = EngineError("the request failed inside the server")
    made.__cause__ = error
    return made
