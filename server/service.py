"""What answers a chat request, whoever brings it: HTTP and the command line call the same two methods.

Knows the engine, the decoding loop and the grammars; no HTTP.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass
from hashlib import sha256
from uuid import uuid4

from grammar_cache import GrammarError
from grammar_cache.grammar import ALGORITHM_VERSION
from server.admission import Admission
from server.constraint import Asked, asked_for
from server.decoding.answer import Answer
from server.engines.contract import Engine, EngineError
from server.grammars import Certified, Grammars
from server.loop import EngineLoop, Piece, Work
from server.planning import budget_for, parameters_for
from server.protocol.chat import ChatRequest
from server.protocol.errors import ApiError, ErrorCode, of_grammar
from server.settings import Settings

WARM_UP_SECONDS = 300
READY_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Job:
    """A request that will be answered: everything that could be refused has been looked at."""

    id: str
    created: int
    work: Work
    certified: Certified | None


class Service:
    """`start` and `stop` it once. It ends with its engine."""

    def __init__(self, settings: Settings, engine: Engine) -> None:
        self.settings = settings
        self.engine = engine
        self.created = int(time.time())
        self.fingerprint = f"swyb_{_fingerprint(engine)}"
        self.grammars = Grammars(
            engine.vocabulary,
            longest_answer=engine.context_window,
            limits=settings.limits,
            count=settings.cached_grammars,
            states=settings.cached_states,
            threads=settings.compile_threads,
        )
        self._loop = EngineLoop(engine)
        self._admission = Admission(settings.running + settings.waiting)
        self._running = asyncio.Semaphore(settings.running)

    @property
    def ready(self) -> bool:
        """Whether requests are answered: the engine is warm and works."""
        return self._loop.ready

    @property
    def present(self) -> int:
        """Requests in preparation, waiting or running."""
        return self._admission.taken

    async def until_ready(self) -> None:
        """Returns once `ready`. Raises ApiError if the model fails, or takes implausibly long."""
        try:
            async with asyncio.timeout(WARM_UP_SECONDS):
                while not self.ready:
                    if self._loop.failed:
                        raise ApiError(ErrorCode.NOT_READY, "the model failed to start; the log says why")
                    await asyncio.sleep(READY_POLL_SECONDS)
        except TimeoutError as error:
            raise ApiError(ErrorCode.NOT_READY, "the model did not get ready") from error

    def start(self) -> None:
        self._loop.start()

    def stop(self) -> None:
        """Fails what is still running. Blocks for at most a step of the engine."""
        self.grammars.close()
        self._loop.stop()

    def admit(self) -> AbstractContextManager[None]:
        """A place among the requests, to be held until the answer is out. Raises ApiError."""
        if not self.ready:
            raise ApiError(ErrorCode.NOT_READY, "the model is not ready")
        return self._admission.place()

    async def prepare(self, request: ChatRequest) -> Job:
        """Everything before the first call of the model. Raises ApiError for whatever can't be kept."""
        if request.model is not None and request.model != self.engine.name:
            raise ApiError(ErrorCode.MODEL_NOT_FOUND, f"the model here is {self.engine.name!r}", param="model")
        if request.stream_options is not None and not request.stream:
            raise ApiError(ErrorCode.INVALID_VALUE, "stream_options needs stream: true", param="stream_options")
        asked = asked_for(request)
        if asked is not None and request.stop:
            raise ApiError(
                ErrorCode.UNSUPPORTED_PARAMETER,
                "stop would cut the answer short of its grammar: it is for plain text",
                param="stop",
            )
        parameters_for(request, 1)  # a contradiction is told before the work
        certified = await self._certify(asked) if asked else None
        prompt = await asyncio.to_thread(self._encode, request)
        budget = budget_for(
            request,
            len(prompt),
            self.engine.context_window,
            self.settings.default_max_tokens,
            certified,
        )
        parameters = parameters_for(request, budget)
        work = Work(prompt, certified.grammar if certified else None, parameters)
        return Job(f"chatcmpl-{uuid4().hex}", int(time.time()), work, certified)

    async def answer(self, job: Job) -> AsyncGenerator[Piece | Answer]:
        """Pieces of text, then the answer. Raises ApiError. Close it to cancel."""
        async with self._running, aclosing(self._loop.run(job.work)) as events:  # closing it cancels the request
            try:
                async for event in events:
                    yield event
            except EngineError as error:
                raise ApiError(ErrorCode.ENGINE_ERROR, str(error)) from error

    async def _certify(self, asked: Asked) -> Certified:
        try:
            return await self.grammars.get(asked.constraint)
        except GrammarError as error:
            raise of_grammar(error, asked.field) from error

    def _encode(self, request: ChatRequest) -> tuple[int, ...]:
        roles = {"developer": "system"}
        messages = [{"role": roles.get(m.role, m.role), "content": m.content} for m in request.messages]
        try:
            return tuple(self.engine.encode(messages))
        except ValueError as error:
            raise ApiError(ErrorCode.INVALID_VALUE, f"messages: {error}", param="messages") from error


def _fingerprint(engine: Engine) -> str:
    parts = f"{engine.name}\0{engine.vocabulary.fingerprint}\0{ALGORITHM_VERSION}"
    return sha256(parts.encode()).hexdigest()[:12]
