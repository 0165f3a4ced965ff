"""Service of requests, whoever brings them: HTTP and the command line call the same two methods.

Knows the backend and the grammars; no HTTP.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from copy import copy
from dataclasses import replace
from hashlib import sha256
from uuid import uuid4

from grammar_cache import GrammarError
from grammar_cache.grammar import ALGORITHM_VERSION
from server.access.caller import Caller
from server.access.fair_queue import FairQueue
from server.access.permissions import check_constraint
from server.admission import Admission, Stage
from server.backends.backend import SHUTTING_DOWN, Backend, Piece, State, Unavailable, Work
from server.decoding.answer import Answer
from server.engines.contract import ChatModel, EngineError
from server.grammars.compiled import Certified
from server.grammars.tenants import Tenants
from server.interrupts import Interrupted, Interrupts
from server.job import Job
from server.merging import merged
from server.planning import (
    budget_for,
    check_parameters,
    language_of,
    least_answer,
    most_of,
    parameters_for,
    refuses_budget,
    spent_on,
    works_of,
)
from server.prompts import Prompt, prompt_of
from server.protocol.chat import ChatRequest
from server.protocol.completions.request import CompletionRequest
from server.protocol.errors import ApiError, ErrorCode
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

_NOT_NOW: Mapping[State, tuple[ErrorCode, str]] = {
    State.STARTING: (ErrorCode.NOT_READY, "the model is not ready"),
    State.RESTARTING: (ErrorCode.ENGINE_RESTARTING, "the engine has failed and is being restarted"),
    State.FAILED: (ErrorCode.ENGINE_FAILED, "the model has failed; the log says why"),
    State.STOPPED: (ErrorCode.SHUTTING_DOWN, SHUTTING_DOWN),
}


class Service:
    """`start` and `stop` it once. It ends with its backend."""

    def __init__(self, settings: Settings, backend: Backend) -> None:
        """Raises ValueError for a store that can't be: see `opened_store`."""
        self.settings = settings
        self.model = backend.model
        self.created = int(time.time())
        self.fingerprint = f"swyb_{_fingerprint(self.model)}"
        self.tenants = Tenants(settings, self.model.vocabulary, self.model.context_window)
        self._act_for(Caller())
        form = settings.tool_form
        self._call_form = FORMS[form] if form is not None else form_of(self.model.chat_template)
        self.backend = backend
        self.admission = Admission(settings.running, settings.waiting)
        self.turns = FairQueue(settings.running)
        self._preparing = Interrupts()

    def serving(self, caller: Caller) -> Service:
        """Returns this service as one caller meets it: with the grammars, the names and the limits of a key."""
        own = copy(self)
        own._act_for(caller)
        return own

    def _act_for(self, caller: Caller) -> None:
        self.caller = caller
        self.tenant = tenant = self.tenants.of(caller.key.tenant)
        self.grammars, self.named, self.database = tenant.grammars, tenant.named, tenant.database

    @property
    def ready(self) -> bool:
        """Whether requests should be sent here: the model is warm and works, and nobody has told the server to end."""
        return self.backend.state is State.READY and self.admission.stage is Stage.OPEN

    @property
    def failed(self) -> bool:
        """Whether the engine can't recover."""
        return self.backend.state is State.FAILED

    @property
    def present(self) -> int:
        """Answers in preparation, waiting or running."""
        return self.admission.taken

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
        self.backend.start()
        self.tenants.start()

    def advance(self, stage: Stage) -> None:
        """Advances, on the way to the end, from one stage to the next."""
        self.admission.stage = stage
        if stage is Stage.FINISHING:
            self._preparing.fire()
            self.backend.finish()
            self.turns.open()  # what waits for its turn ends too

    def stop(self) -> None:
        """Ends what is still running. Blocks; not to be called on the event loop."""
        self.backend.stop()
        self.tenants.close()

    @contextmanager
    def admit(self, answers: int) -> Iterator[None]:
        """Places for so many answers of the caller's, to be held until they are out. Raises ApiError."""
        self._check(below=Stage.CLOSED)
        caller = self.caller
        caller.account.check_request()  # counted below: one that finds no place is none
        with caller.account.places(answers), self.admission.places(answers, caller.key.name, among=caller.among):
            caller.account.take_request()
            yield

    @contextmanager
    def metered(self, jobs: Sequence[Job]) -> Iterator[None]:
        """Charges the caller for the tokens of jobs: while they run, for the most that it may be. Raises ApiError."""
        record = self.caller.record
        prompts = sum(len(job.prompt) for job in jobs)
        most = prompts + sum(job.answers * job.parameters.budget for job in jobs)

        def used() -> int:
            read = prompts if "queued" in record.moments else 0  # what never waited for a turn is free
            return read + sum(record.generated) + record.lost

        with self.caller.account.tokens(most, used):
            yield

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

    async def prepare(self, request: ChatRequest | CompletionRequest, *, checked: bool = False) -> Job:
        """Everything before the model is called; `checked`: another prompt had the same stops. Raises ApiError."""
        self.check_model(request.model)
        if request.stream_options is not None and not request.stream:
            raise ApiError(ErrorCode.INVALID_VALUE, "stream_options needs stream: true", param="stream_options")
        check_tokens(request, self.model.vocabulary)
        calling = self.calling(request)
        asked = await self.asked(request, calling)
        refuses = refuses_budget(request, self.backend)
        # What can't be kept is told before the work.
        check_parameters(parameters_for(request, 1, constrained=asked is not None), 1, self.backend)
        certified = await self.certify(asked) if asked else None
        if certified is not None and not checked and (request.stop or request.stop_token_ids):
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
        check_parameters(parameters, len(prompt.tokens), self.backend)
        grammar, exchange = (certified.grammar, certified.exchange) if certified else (None, None)
        work = Work(
            prompt.tokens,
            language_of(certified, parameters, self.model),
            parameters,
            exchange,
            pieces=bool(request.stream) and not refuses,
            json=asked is not None and asked.constraint.kind == "json_schema",
        )
        answers = request.n or 1
        works, ignored = works_of(work, answers), request.unknown_fields
        thinking = plan_of(request, prompt.closer, self.model.template, least_answer(certified), budget, grammar)
        calling = asked.calling if asked else None
        self.caller.record.plan(len(prompt.tokens), budget, parameters.beam_width)
        return Job(uuid4().hex, int(time.time()), answers, works, certified, refuses, ignored, thinking, calling)

    async def encoded(self, request: ChatRequest | CompletionRequest, *, counted: bool = False) -> Prompt:
        """A request's prompt; `counted`: see `prompt_of`. Raises ApiError."""
        return await asyncio.to_thread(prompt_of, request, self.model, counted=counted)

    def calling(self, request: object) -> Calling | None:
        """Calls of tools that a request allows, in the model's form. Raises ApiError."""
        return calling_of(request, self._call_form) if isinstance(request, ToolFields) else None

    async def asked(self, request: Constrained, calling: Calling | None = None) -> Asked | None:
        """A request's constraint, if it has one; `calling`: calls that it may hold. Raises ApiError."""
        named = named_in(request)
        asked = asked_for(request, await self.named.find(*named) if named else None, calling)
        if asked is not None:
            check_constraint(self.caller.key, asked.constraint.text, asked.field, asked.name)
        return asked

    async def certify(self, asked: Asked) -> Certified:
        """The grammar of a constraint, compiled. Raises ApiError."""
        try:
            with self.caller.record.compiling() as compiled:
                certified = await self.grammars.get(asked.constraint)
                compiled(certified.grammar_id, certified.minimum.tokens, certified.source, certified.compile_ms)
                return certified
        except GrammarError as error:
            raise asked.refusal(error) from error

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
        run, known, caller = self._run, self.model.vocabulary, self.caller
        caller.record.mark("queued")
        async with self.turns.turn(caller.key.name, caller, most_of(work), caller.key.share) as turn:
            caller.record.mark("started")
            found = run(work) if thinking is None else thought_and_answer(work, thinking, known, run)
            async with aclosing(found) as events:  # closing it cancels the request
                async for event in events:
                    if isinstance(event, Answer):
                        turn.cost = spent_on(work, event)
                    yield event

    async def _run(self, work: Work) -> AsyncGenerator[Piece | Answer]:
        async with aclosing(self.backend.run(work)) as events:
            try:
                async for event in events:
                    if isinstance(event, Answer):
                        self.caller.record.take_cost(event)
                    self.caller.record.mark("first_token")
                    yield event
            except Unavailable as error:
                ending = self.admission.stage is Stage.FINISHING and not self.failed
                state = State.STOPPED if ending else self.backend.state
                raise ApiError(*_NOT_NOW.get(state, (ErrorCode.NOT_READY, str(error)))) from error
            except EngineError as error:
                raise ApiError(ErrorCode.ENGINE_ERROR, str(error)) from error

    def _check(self, *, below: Stage) -> None:
        if self.backend.state in _NOT_NOW:
            raise ApiError(*_NOT_NOW[self.backend.state])
        if self.admission.stage >= below:
            raise ApiError(*_NOT_NOW[State.STOPPED])


def _fingerprint(model: ChatModel) -> str:
    parts = f"{model.name}\0{model.vocabulary.fingerprint}\0{ALGORITHM_VERSION}"
    return sha256(parts.encode()).hexdigest()[:12]
