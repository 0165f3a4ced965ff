"""What answers a chat request, whoever brings it: HTTP and the command line call the same two methods.

Knows the backend and the grammars; no HTTP.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass
from hashlib import sha256
from uuid import uuid4

from grammar_cache import GrammarError
from grammar_cache.grammar import ALGORITHM_VERSION
from server.admission import Admission
from server.backend import Backend, DoesNotFit, Piece, State, Unavailable, UnsupportedWork, Work
from server.constraint import Asked, asked_for
from server.decoding.answer import Answer
from server.decoding.forced_text import ForcedText
from server.decoding.language import Language
from server.decoding.parameters import Parameters
from server.engines.contract import ChatModel, EngineError
from server.grammars import Certified, Grammars
from server.planning import budget_for, parameters_for
from server.protocol.chat import ChatRequest
from server.protocol.errors import ApiError, ErrorCode, of_grammar
from server.settings import Settings

WARM_UP_SECONDS = 3600
"""Large models take long to load, and backends give up by themselves before."""

READY_POLL_SECONDS = 0.02

_NOT_NOW: Mapping[State, tuple[ErrorCode, str]] = {
    State.STARTING: (ErrorCode.NOT_READY, "the model is not ready"),
    State.RESTARTING: (ErrorCode.ENGINE_RESTARTING, "the engine has failed and is being restarted"),
    State.FAILED: (ErrorCode.NOT_READY, "the model has failed; the log says why"),
    State.STOPPED: (ErrorCode.NOT_READY, "the server is shutting down"),
}


@dataclass(frozen=True, slots=True)
class Job:
    """A request that will be answered: everything that could be refused has been looked at."""

    id: str
    created: int
    work: Work
    certified: Certified | None


class Service:
    """`start` and `stop` it once. It ends with its backend."""

    def __init__(self, settings: Settings, backend: Backend) -> None:
        self.settings = settings
        self.model = backend.model
        self.created = int(time.time())
        self.fingerprint = f"swyb_{_fingerprint(self.model)}"
        self.grammars = Grammars(
            self.model.vocabulary,
            longest_answer=self.model.context_window,
            limits=settings.limits,
            count=settings.cached_grammars,
            states=settings.cached_states,
            threads=settings.compile_threads,
        )
        self._backend = backend
        self._admission = Admission(settings.running + settings.waiting)
        self._running = asyncio.Semaphore(settings.running)

    @property
    def ready(self) -> bool:
        """Whether requests are answered: the model is warm and works."""
        return self._backend.state is State.READY

    @property
    def present(self) -> int:
        """Requests in preparation, waiting or running."""
        return self._admission.taken

    async def until_ready(self) -> None:
        """Returns once `ready`. Raises ApiError if the model fails, or takes implausibly long."""
        try:
            async with asyncio.timeout(WARM_UP_SECONDS):
                while not self.ready:
                    if self._backend.state is State.FAILED:
                        raise ApiError(ErrorCode.NOT_READY, "the model failed to start; the log says why")
                    await asyncio.sleep(READY_POLL_SECONDS)
        except TimeoutError as error:
            raise ApiError(ErrorCode.NOT_READY, "the model did not get ready") from error

    def start(self) -> None:
        self._backend.start()

    def stop(self) -> None:
        """Fails what is still running. Blocks; not to be called on the event loop."""
        self.grammars.close()
        self._backend.stop()

    def admit(self) -> AbstractContextManager[None]:
        """A place among the requests, to be held until the answer is out. Raises ApiError."""
        self.check_ready()
        return self._admission.place()

    def check_ready(self) -> None:
        """Raises ApiError if no request is answered now."""
        if self._backend.state in _NOT_NOW:
            raise ApiError(*_NOT_NOW[self._backend.state])

    async def prepare(self, request: ChatRequest) -> Job:
        """Everything before the first call of the model. Raises ApiError for whatever can't be kept."""
        if request.model is not None and request.model != self.model.name:
            raise ApiError(ErrorCode.MODEL_NOT_FOUND, f"the model here is {self.model.name!r}", param="model")
        if request.stream_options is not None and not request.stream:
            raise ApiError(ErrorCode.INVALID_VALUE, "stream_options needs stream: true", param="stream_options")
        asked = asked_for(request)
        if asked is not None and request.stop:
            raise ApiError(
                ErrorCode.UNSUPPORTED_PARAMETER,
                "stop would cut the answer short of its grammar: it is for plain text",
                param="stop",
            )
        self._check(parameters_for(request, 1), 1)  # what can't be kept is told before the work
        certified = await self._certify(asked) if asked else None
        prompt = await asyncio.to_thread(self._encode, request)
        budget = budget_for(
            request,
            len(prompt),
            self.model.context_window,
            self.settings.default_max_tokens,
            certified,
        )
        parameters = parameters_for(request, budget)
        self._check(parameters, len(prompt))
        work = Work(prompt, self._language(certified, parameters), parameters)
        return Job(f"chatcmpl-{uuid4().hex}", int(time.time()), work, certified)

    async def answer(self, job: Job) -> AsyncGenerator[Piece | Answer]:
        """Pieces of text, then the answer. Raises ApiError. Close it to cancel."""
        async with self._running, aclosing(self._backend.run(job.work)) as events:  # closing it cancels the request
            try:
                async for event in events:
                    yield event
            except Unavailable as error:
                raise ApiError(*_NOT_NOW.get(self._backend.state, (ErrorCode.NOT_READY, str(error)))) from error
            except EngineError as error:
                raise ApiError(ErrorCode.ENGINE_ERROR, str(error)) from error

    def _check(self, parameters: Parameters, prompt_tokens: int) -> None:
        try:
            self._backend.check(parameters, prompt_tokens)
        except DoesNotFit as error:
            raise ApiError(ErrorCode.MEMORY_EXCEEDED, str(error), param="swyb.beam_width") from error
        except UnsupportedWork as error:
            raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, str(error), param=error.param) from error

    def _language(self, certified: Certified | None, parameters: Parameters) -> Language | None:
        if certified is None or parameters.jump_forward != "text":
            return certified.grammar if certified else None
        return ForcedText(certified.grammar, self.model.split)

    async def _certify(self, asked: Asked) -> Certified:
        try:
            return await self.grammars.get(asked.constraint)
        except GrammarError as error:
            raise of_grammar(error, asked.field) from error

    def _encode(self, request: ChatRequest) -> tuple[int, ...]:
        roles = {"developer": "system"}
        messages = [{"role": roles.get(m.role, m.role), "content": m.content} for m in request.messages]
        try:
            return tuple(self.model.encode(messages))
        except ValueError as error:
            raise ApiError(ErrorCode.INVALID_VALUE, f"messages: {error}", param="messages") from error


def _fingerprint(model: ChatModel) -> str:
    parts = f"{model.name}\0{model.vocabulary.fingerprint}\0{ALGORITHM_VERSION}"
    return sha256(parts.encode()).hexdigest()[:12]
