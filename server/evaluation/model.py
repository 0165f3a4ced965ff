"""The language model that all methods of a run share: in this process, decoded as the server does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from server.backends.backend import Backend, State, Work
from server.decoding.answer import Answer
from server.decoding.language import Language
from server.decoding.parameters import Parameters
from server.engines.contract import EngineError, Rendering
from server.evaluation.feasible import Split
from server.evaluation.reply import Reply
from server.evaluation.task import Task
from server.thinking.plan import ThinkingPlan
from server.thinking.thoughts import thought_and_answer

POLL_SECONDS = 0.02


@runtime_checkable
class Scores(Protocol):
    """An engine that tells how likely a given answer is."""

    def log_probabilities(self, prompt: Sequence[int], tokens: Sequence[int]) -> NDArray[np.float64]:
        """float64[len(tokens)]: of each token after the prompt and those before it."""
        ...


class Model(Protocol):
    """Model for methods that need no grammar, wherever it runs."""

    name: str
    split: Split | None

    async def free(self, task: Task, budget: int, *, temperature: float = 0.0, seed: int | None = None) -> Reply:
        """An answer without any constraint, of at most `budget` tokens; greedy unless there is a temperature."""
        ...


class LocalModel(AbstractAsyncContextManager["LocalModel"]):
    """A model in this process and what decodes its answers; a context, which ends with both."""

    def __init__(self, backend: Backend, split: Split, folder: Path | None = None) -> None:
        """`split`: the model's tokenizer, without marks of begin and end; `folder`: where that lies, for peers."""
        self.engine = backend.model
        self.name = backend.model.name
        self.split: Split | None = split
        self.folder = folder
        self._backend = backend

    async def __aenter__(self) -> Self:
        """Returns when the engine is warm: no answer is timed with it. Raises EngineError if it fails."""
        self._backend.start()
        while self._backend.state is not State.READY:
            if self._backend.state is State.FAILED:
                raise EngineError("the model failed to start; the log says why")
            await asyncio.sleep(POLL_SECONDS)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._backend.stop)

    def prompt(self, task: Task) -> tuple[int, ...]:
        """The chat's tokens. Raises ValueError for a chat that the model's template refuses."""
        return tuple(self.engine.encode(task.messages, rendering=Rendering(tools=task.tools)))

    async def free(self, task: Task, budget: int, *, temperature: float = 0.0, seed: int | None = None) -> Reply:
        return await self.decode(task, None, Parameters(budget=budget, temperature=temperature, seed=seed))

    async def decode(self, task: Task, language: Language | None, parameters: Parameters) -> Reply:
        """One answer in this language, or any text. An engine's error is a failed reply.

        The prompt is computed beforehand: the engine keeps it, and the first method to ask would else pay for all.
        """
        # Marks of calls may be special tokens.
        parameters = replace(parameters, special_names=bool(task.tools))
        return await self._reply(Work(self.prompt(task), language, parameters), None)

    async def think(self, work: Work, plan: ThinkingPlan) -> Reply:
        """One answer behind a thought, by a work with the budget of both. An engine's error is a failed reply."""
        return await self._reply(work, plan)

    async def _reply(self, work: Work, plan: ThinkingPlan | None) -> Reply:
        try:
            await self._answer(Work(work.prompt, None, Parameters(budget=1)), None)
            begun = perf_counter()
            answer = await self._answer(work, plan)
        except EngineError as error:
            return Reply("failed", reason=str(error))
        return Reply(
            "answered",
            text=answer.text.decode(errors="replace"),
            # Tokens behind a thought have no perplexity given the prompt alone.
            token_ids=None if plan else answer.tokens,
            tokens=answer.tokens_spent,
            complete=answer.complete,
            settled=work.grammar is None and plan is None and answer.complete,
            seconds=round(perf_counter() - begun, 4),
            forced_tokens=answer.budget_forced_tokens,
        )

    async def _answer(self, work: Work, plan: ThinkingPlan | None) -> Answer:
        run = self._backend.run
        events = run(work) if plan is None else thought_and_answer(work, plan, self.engine.vocabulary, run)
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Answer):
                    return event
        raise AssertionError("an answer is the last event")
