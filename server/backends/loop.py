"""The thread that decodes: it alone touches the engine and the tables of grammars.

Each round takes one step of every request under way, so that requests share the engine fairly, whatever their
length. Results go back to the caller's event loop; a caller that goes away cancels its request. An engine's error
ends the request it struck; a fault in decoding itself is mended by the witness, the completion known without a model.
So are answers whose time is up, and those of an engine that has failed for good.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Sequence
from queue import Empty, SimpleQueue
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from grammar_cache.errors import LimitExceeded
from server.backends.backend import SHUTTING_DOWN, Backend, Piece, State, Unavailable, Work, first_work
from server.backends.load import Load
from server.backends.request import Decoding, Request
from server.backends.step_times import StepTimes
from server.decoding.answer import Answer, Interruption
from server.decoding.language import AnyText
from server.decoding.parameters import Parameters
from server.engines.contract import Engine, EngineError, Forward, SequenceId

FINISH_SECONDS = 5.0
"""Seconds for the step at hand and the witnesses, once answers are to end; who waits longer gets an error."""

_log = logging.getLogger(__name__)


class EngineLoop(Backend):
    """See `Backend`: decodes over an engine that yields logits."""

    def __init__(self, engine: Engine) -> None:
        self.model = engine
        self._engine = engine
        self._any_text = AnyText(engine.vocabulary)
        self._arriving: SimpleQueue[Request | None] = SimpleQueue()
        self._requests: list[Request] = []
        self._times = StepTimes()
        self._asked: set[Request] = set()
        self._ready = threading.Event()
        self._failed = False
        self._finishing = threading.Event()
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
    def load(self) -> Load:
        under_way = [request.decoding for request in tuple(self._requests)]
        beams, tokens = sum(one.beams for one in under_way), sum(one.kv_tokens for one in under_way)
        return Load(beams, tokens, step_times=self._times)

    def check(self, parameters: Parameters, prompt_tokens: int) -> None:
        """Decodes whatever parameters say."""

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        self._finishing.set()
        self._arriving.put(None)
        asyncio.get_running_loop().call_later(FINISH_SECONDS, self._abandon)

    def stop(self) -> None:
        """Ends the thread after the step at hand, and shuts the engine down. A step without an end isn't waited for."""
        self._stopping.set()
        self._arriving.put(None)
        if self._thread.is_alive():
            self._thread.join(FINISH_SECONDS)
        if self._thread.is_alive():
            _log.error("the decoding thread doesn't end: the engine doesn't come back from a step")

    async def run(self, work: Work) -> AsyncGenerator[Piece | Answer]:
        request = Request(work, asyncio.get_running_loop())
        if not self._stopping.is_set():
            self._arriving.put(request)
        if self._stopping.is_set():  # asked after the put: a thread that ends later finds the request itself
            raise Unavailable(SHUTTING_DOWN)
        self._asked.add(request)
        try:
            while (event := await request.events.get()) is not None:
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            self._asked.discard(request)
            request.cancelled.set()

    def _abandon(self) -> None:
        """Abandons the thread, on the event loop: nobody waits any longer for a thread that may be stuck."""
        for request in self._asked:
            request.events.put_nowait(Unavailable(SHUTTING_DOWN))

    def _run(self) -> None:
        try:
            self._warm_up()
            self._ready.set()
            while not self._stopping.is_set():
                self._admit()
                self._round()
        except BaseException as error:
            _log.exception("the decoding thread has failed")
            self._failed = True
            self._finish_all("failure", _as_engine_error(error))
            self._refuse_all(_as_engine_error(error))
        finally:
            self._stopping.set()
            self._finish_all("shutdown", Unavailable(SHUTTING_DOWN))
            self._refuse_all(Unavailable(SHUTTING_DOWN))
            self._engine.shutdown()

    def _warm_up(self) -> None:
        work = first_work(self.model.vocabulary)
        assert work.grammar is not None, "a constraint is what has to be warmed up"
        decoding = Decoding(work, self._any_text)
        sequence = self._engine.open(work.prompt)
        try:
            while not decoding.answers:
                [logits] = self._engine.step([decoding.forward(sequence)])
                if isinstance(logits, EngineError):
                    raise logits
                decoding.step(logits)
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

    def _open(self, request: Request) -> None:
        work = request.work
        if work.exchange is not None:
            work.exchange.take()
        request.open(self._any_text)
        self._requests.append(request)
        if not self._report(request) and not self._finishing.is_set():
            # Tokens that had no alternative from the start are part of the prompt for the model.
            [jumped] = request.decoding.decoder.wanted.tokens
            request.sequence = self._engine.open((*work.prompt, *jumped))

    def _round(self) -> None:
        """One step of every request."""
        for request in [r for r in self._requests if r.cancelled.is_set()]:
            self._end(request)
        if self._finishing.is_set():
            self._finish_all("shutdown", Unavailable(SHUTTING_DOWN))
        stepping = list(self._requests)
        if not stepping:
            return
        begun, searched = perf_counter(), _searched(stepping)
        results = self._engine.step([_forward(request) for request in stepping])
        model = perf_counter() - begun
        for request, result in zip(stepping, results, strict=True):
            if isinstance(result, EngineError):
                self._end(request, result)
            else:
                self._advance(request, result)
        search = _searched(stepping) - searched
        self._times.add(model, perf_counter() - begun - model - search, search)
        if all(isinstance(result, EngineError) for result in results):
            self._warm_up()  # which was answered before: an engine that doesn't now has failed for good

    def _advance(self, request: Request, logits: NDArray[np.float32]) -> None:
        decoding = request.decoding
        try:
            try:
                try:
                    decoding.step(logits)
                except LimitExceeded:  # there is room for it in a grammar that is begun anew
                    decoding.step(logits)
            except LimitExceeded as error:
                _log.warning("no room to look further (%s): the answer is completed by its witness", error)
                decoding.finish_by_witness("configurations")
            except Exception:
                _log.exception("a decoding step has failed; the answer is completed by its witness")
                decoding.finish_by_witness("failure")
            self._report(request)
        except Exception as error:
            _log.exception("an answer could not be completed")
            self._end(request, _as_engine_error(error))

    def _report(self, request: Request) -> bool:
        """Sends what is new; returns whether the request has ended."""
        answers = request.decoding.answers
        if answers:
            self._end(request, *answers, None)
        elif (piece := request.decoding.piece()) is not None:
            request.tell(piece)
        return bool(answers)

    def _end(self, request: Request, *events: Answer | Exception | None) -> None:
        if request in self._requests:
            self._requests.remove(request)
        request.tell(*events)
        if request.sequence is not None:
            self._close(request.sequence)
        if request.work.exchange is not None and request.opened:
            try:
                request.work.exchange.give()
            except Exception:  # the answer is out: others only do without what it has found
                _log.exception("what a request has found is not told")

    def _close(self, sequence: SequenceId) -> None:
        try:
            self._engine.close(sequence)
        except Exception:  # an engine that has failed may not be able to; others are to be told all the same
            _log.exception("a sequence can't be closed")

    def _finish_all(self, reason: Interruption, error: EngineError) -> None:
        """Ends all requests under way: completed, or with the error."""
        for request in list(self._requests):
            decoding = request.decoding
            if not request.work.completable(reason, begun=decoding.fed):
                self._end(request, error)
                continue
            try:
                decoding.finish_by_witness(reason)
                self._report(request)
            except Exception as failure:
                _log.exception("an answer could not be completed")
                self._end(request, _as_engine_error(failure))

    def _refuse_all(self, error: EngineError) -> None:
        """Refuses what has arrived, and wasn't begun."""
        while True:
            try:
                request_or_end = self._arriving.get(block=False)
            except Empty:
                return
            if request_or_end is not None:
                request_or_end.tell(error)


def _searched(requests: Sequence[Request]) -> float:
    """Seconds that searches have taken for these requests."""
    return sum(request.decoding.cost.effort.seconds for request in requests)


def _forward(request: Request) -> Forward:
    assert request.sequence is not None, "only opened requests are stepped"
    return request.decoding.forward(request.sequence)


def _as_engine_error(error: BaseException) -> EngineError:
    if isinstance(error, EngineError):
        return error
    made = EngineError("the request failed inside the server")
    made.__cause__ = error
    return made
