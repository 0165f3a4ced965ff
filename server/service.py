"""Service of requests, whoever brings them: HTTP and the command line call the same two methods.

Knows the backend and the grammars; no HTTP.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from uuid import uuid4

from grammar_cache import GrammarError
from grammar_cache.grammar import ALGORITHM_VERSION
from grammar_cache.store.sharing import SharedGrammars
from server.admission import Admission, Stage
from server.backends.backend import Backend, DoesNotFit, Piece, State, Unavailable, UnsupportedWork, Work
from server.decoding.answer import Answer
from server.decoding.forced_text import ForcedText
from server.decoding.language import Language
from server.decoding.parameters import Parameters
from server.engines.contract import ChatModel, EngineError
from server.grammars.compiled import Certified, Grammars
from server.grammars.named import NamedGrammars
from server.grammars.opening import opened_store
from server.interrupts import Interrupted, Interrupts
from server.job import Job
from server.merging import merged
from server.planning import budget_for, least_answer, parameters_for, works_of
from server.prompts import Prompt, prompt_of
from server.protocol.chat import AnswerRequest, ChatRequest, SwybOptions
from server.protocol.completions.request import CompletionRequest
from server.protocol.errors import ApiError, ErrorCode, of_grammar
from server.protocol.tools.fields import ToolFields
from server.request_constraint import Asked, Constrained, asked_for, named_in
from server.settings import Settings
from server.stopping import check_stops, check_tokens
from server.thinking.plan import ThinkingPlan, plan_of
from server.thinking.thoughts import ThoughtPiece, thought_and_answer
from server.tools.calling import Calling, calling_of
from server.tools.forms import FORMS, form_of

WARM_UP_SECONDS = 3600
"""Large models take long to load, and backends give up by themselves before."""

READY_POLL_SECONDS = 0.02

NAME_SECONDS = 0.25
"""Seconds for the store to answer what only people ask, and what a name means."""

STORE_SECONDS = 2.0
"""Seconds for what is left to be written to the store when the server stops."""

_NOT_NOW: Mapping[State, tuple[ErrorCode, str]] = {
    State.STARTING: (ErrorCode.NOT_READY, "the model is not ready"),
    State.RESTARTING: (ErrorCode.ENGINE_RESTARTING, "the engine has failed and is being restarted"),
    State.FAILED: (ErrorCode.ENGINE_FAILED, "the model has failed; the log says why"),
    State.STOPPED: (ErrorCode.SHUTTING_DOWN, "the server is shutting down"),
}


class Service:
    """`start` and `stop` it once. It ends with its backend."""

    def __init__(self, settings: Settings, backend: Backend) -> None:
        """Raises ValueError for a store that can't be: see `opened_store`."""
        self.settings = settings
        self.model = backend.model
        self.created = int(time.time())
        self.fingerprint = f"swyb_{_fingerprint(self.model)}"
        self.database = opened_store(settings)
        self.grammars = Grammars(
            self.model.vocabulary,
            longest_answer=self.model.context_window,
            limits=settings.limits,
            count=settings.cached_grammars,
            room=settings.cached_bytes,
            threads=settings.compile_threads,
            shared=SharedGrammars(self.database, self.model.vocabulary, settings.limits) if self.database else None,
        )
        self.catalogue = self.database.catalogue(NAME_SECONDS) if self.database else None
        self.named = NamedGrammars(self.catalogue)
        form = settings.tool_form
        self._call_form = FORMS[form] if form is not None else form_of(self.model.chat_template)
        self._backend = backend
        self._admission = Admission(settings.running + settings.waiting)
        self._running = asyncio.Semaphore(settings.running)
        self._stage = Stage.OPEN
        self._preparing = Interrupts()

    @property
    def ready(self) -> bool:
        """Whether requests should be sent here: the model is warm and works, and nobody has told the server to end."""
        return self._backend.state is State.READY and self._stage is Stage.OPEN

    @property
    def failed(self) -> bool:
        """Whether the engine can't recover."""
        return self._backend.state is State.FAILED

    @property
    def present(self) -> int:
        """Answers in preparation, waiting or running."""
        return self._admission.taken

    async def until_ready(self) -> None:
        """Returns once `ready`. Raises ApiError if the model fails, or takes implausibly long."""
        try:
            async with asyncio.timeout(WARM_UP_SECONDS):
                while not self.ready:
                    if self.failed:
                        raise ApiError(ErrorCode.ENGINE_FAILED, "the model failed to start; the log says why")
                    await asyncio.sleep(READY_POLL_SECONDS)
        except TimeoutError as error:
            raise ApiError(ErrorCode.NOT_READY, "the model did not get ready") from error

    def start(self) -> None:
        self._backend.start()
        if self.database is not None:
            self.database.greet()

    def advance(self, stage: Stage) -> None:
        """Advances, on the way to the end, from one stage to the next."""
        self._stage = stage
        if stage is Stage.FINISHING:
            self._preparing.fire()
            self._backend.finish()
            for _ in range(self.present):  # what waits for its turn ends too
                self._running.release()

    def stop(self) -> None:
        """Ends what is still running. Blocks; not to be called on the event loop."""
        self.grammars.close()
        self._backend.stop()
        if self.database is not None:
            self.database.close(STORE_SECONDS)

    def admit(self, answers: int) -> AbstractContextManager[None]:
        """Places for so many answers, to be held until they are out. Raises ApiError."""
        self._check(below=Stage.CLOSED)
        return self._admission.places(answers)

    def check_ready(self) -> None:
        """Raises ApiError if no request should be sent here now."""
        self._check(below=Stage.DRAINING)

    def check_model(self, name: str | None) -> None:
        """Raises ApiError for another model's name."""
        if name is not None and name != self.model.name:
            raise ApiError(ErrorCode.MODEL_NOT_FOUND, f"the model here is {self.model.name!r}", param="model")

    def check_alive(self) -> None:
        """Raises ApiError if only a new process helps."""
        if self.failed:
            raise ApiError(*_NOT_NOW[State.FAILED])

    @asynccontextmanager
    async def preparing(self) -> AsyncIterator[None]:
        """Scope of what comes before an answer: raises ApiError as soon as it is too late for it."""
        try:
            async with self._preparing.scope():
                yield
        except Interrupted as error:
            raise ApiError(*_NOT_NOW[State.STOPPED]) from error

    async def prepare(self, request: ChatRequest | CompletionRequest) -> Job:
        """Everything before the first call of the model. Raises ApiError for whatever can't be kept."""
        self.check_model(request.model)
        if request.stream_options is not None and not request.stream:
            raise ApiError(ErrorCode.INVALID_VALUE, "stream_options needs stream: true", param="stream_options")
        check_tokens(request, self.model.vocabulary)
        calling = self.calling(request)
        asked = await self.asked(request, calling)
        refuses = self._refuses(request)
        # What can't be kept is told before the work.
        self._check_parameters(parameters_for(request, 1, constrained=asked is not None), 1)
        certified = await self.certify(asked) if asked else None
        if certified is not None and (request.stop or request.stop_token_ids):
            await asyncio.to_thread(check_stops, request, certified.grammar)
        prompt = await self.encoded(request)
        budget = budget_for(
            request,
            len(prompt.tokens),
            self.model.context_window,
            self.settings.default_max_tokens,
            certified,
            prompt.closer,
        )
        parameters = parameters_for(request, budget, constrained=certified is not None)
        parameters = replace(parameters, special_names=calling is not None)
        self._check_parameters(parameters, len(prompt.tokens))
        exchange = certified.exchange if certified else None
        work = Work(
            prompt.tokens,
            self._language(certified, parameters),
            parameters,
            exchange,
            pieces=bool(request.stream) and not refuses,
            json=asked is not None and asked.constraint.kind == "json_schema",
        )
        answers = request.n or 1
        works, ignored = works_of(work, answers), request.unknown_fields
        thinking = plan_of(request, prompt.closer, self.model.template, least_answer(certified), budget)
        calling = asked.calling if asked else None
        return Job(uuid4().hex, int(time.time()), answers, works, certified, refuses, ignored, thinking, calling)

    async def encoded(self, request: ChatRequest | CompletionRequest) -> Prompt:
        """A request's prompt. Raises ApiError."""
        return await asyncio.to_thread(prompt_of, request, self.model)

    def calling(self, request: object) -> Calling | None:
        """Calls of tools that a request allows, in the model's form. Raises ApiError."""
        return calling_of(request, self._call_form) if isinstance(request, ToolFields) else None

    async def asked(self, request: Constrained, calling: Calling | None = None) -> Asked | None:
        """A request's constraint, if it has one; `calling`: calls that it may hold. Raises ApiError."""
        named = named_in(request)
        return asked_for(request, await self.named.find(*named) if named else None, calling)

    async def certify(self, asked: Asked) -> Certified:
        """The grammar of a constraint, compiled. Raises ApiError."""
        try:
            return await self.grammars.get(asked.constraint)
        except GrammarError as error:
            raise asked.refusal(error) from error

    async def precompute(self, asked: Asked, height: int, most: int) -> Certified:
        """Certifies as `certify` does, with a table of distances, which all who share the store use from now on. Raises
        ApiError.
        """
        if self.database is None:
            message = "a table is computed for all who share a store, and this server has none"
            raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, message, param="precompute")
        try:
            return await self.grammars.precompute(asked.constraint, height, most)
        except GrammarError as error:
            raise of_grammar(error, asked.field) from error

    async def answers(self, job: Job) -> AsyncGenerator[tuple[int, ThoughtPiece | Piece | Answer]]:
        """Pieces of text and then the answer, for each answer by its number. Raises ApiError. Close it to cancel."""
        several = 0
        async with aclosing(merged([self._decoded(work, job.thinking) for work in job.works])) as events:
            async for number, event in events:
                yield number + several, event
                # One work tells its answers one after the other.
                several += isinstance(event, Answer) and len(job.works) == 1

    async def _decoded(
        self, work: Work, thinking: ThinkingPlan | None
    ) -> AsyncGenerator[ThoughtPiece | Piece | Answer]:
        run, known = self._run, self.model.vocabulary
        async with self._running:
            found = run(work) if thinking is None else thought_and_answer(work, thinking, known, run)
            async with aclosing(found) as events:  # closing it cancels the request
                async for event in events:
                    yield event

    async def _run(self, work: Work) -> AsyncGenerator[Piece | Answer]:
        async with aclosing(self._backend.run(work)) as events:
            try:
                async for event in events:
                    yield event
            except Unavailable as error:
                ending = self._stage is Stage.FINISHING and not self.failed
                state = State.STOPPED if ending else self._backend.state
                raise ApiError(*_NOT_NOW.get(state, (ErrorCode.NOT_READY, str(error)))) from error
            except EngineError as error:
                raise ApiError(ErrorCode.ENGINE_ERROR, str(error)) from error

    def _check(self, *, below: Stage) -> None:
        if self._backend.state in _NOT_NOW:
            raise ApiError(*_NOT_NOW[self._backend.state])
        if self._stage >= below:
            raise ApiError(*_NOT_NOW[State.STOPPED])

    def _check_parameters(self, parameters: Parameters, prompt_tokens: int) -> None:
        try:
            self._backend.check(parameters, prompt_tokens)
        except DoesNotFit as error:
            raise ApiError(ErrorCode.MEMORY_EXCEEDED, str(error), param="swyb.beam_width") from error
        except UnsupportedWork as error:
            raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, str(error), param=error.param) from error

    def _refuses(self, request: AnswerRequest) -> bool:
        options = request.swyb or SwybOptions()
        refuses = options.on_budget == "refuse"
        if refuses and options.beam_width > 1 and not self._backend.judges_beams:
            message = "swyb.on_budget: what the budget changed isn't known of beams where vLLM has them: leave it out"
            raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, message, param="swyb.on_budget")
        return refuses

    def _language(self, certified: Certified | None, parameters: Parameters) -> Language | None:
        if certified is None or parameters.jump_forward != "text":
            return certified.grammar if certified else None
        return ForcedText(certified.grammar, self.model.split)


def _fingerprint(model: ChatModel) -> str:
    parts = f"{model.name}\0{model.vocabulary.fingerprint}\0{ALGORITHM_VERSION}"
    return sha256(parts.encode()).hexdigest()[:12]
