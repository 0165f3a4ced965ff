"""Contract of an interface's presenter with those who send its answers."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, TypeAlias

from server.backends.backend import Piece
from server.decoding.answer import Answer
from server.job import Job
from server.merging import merged
from server.planning import told_of
from server.presenters.certificate import check_budget
from server.presenters.parts import judged
from server.protocol.chat import ChatRequest
from server.protocol.completion import AnswerModel
from server.protocol.completions.request import CompletionRequest
from server.protocol.errors import ApiError
from server.service import Service
from server.thinking.thoughts import ThoughtPiece

Internal: TypeAlias = ChatRequest | CompletionRequest
"""Requests that the service understands; those of other interfaces become one of them."""

Told: TypeAlias = tuple[int, tuple[int, ThoughtPiece | Piece | Answer]]
"""Piece of a thought or of an answer, or an answer, with the number of its job and of the answer."""


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event."""

    data: str
    name: str | None = None


class Presenter(ABC):
    """Answers of one request: `whole`, or as `events`. Either is asked for once."""

    def __init__(self, service: Service, jobs: Sequence[Job]) -> None:
        """`jobs`: at least one."""
        self.service = service
        self.jobs = jobs

    @property
    def job(self) -> Job:
        """The only job, or the first."""
        return self.jobs[0]

    @abstractmethod
    async def whole(self) -> AnswerModel:
        """Raises ApiError."""

    @abstractmethod
    def events(self) -> AsyncGenerator[Event]:
        """Raises ApiError for what can't come any more."""

    def failure(self, error: ApiError, request_id: str) -> Event:
        """Event in place of those that don't come; nothing but `end` follows."""
        return Event(json.dumps(error.told(request_id)))

    end: Event | None = None
    """Event after all others, failure or not."""

    def choice_of(self, at: int, number: int) -> int:
        """The number, among all choices, of a job's answer by its number."""
        return at * self.jobs[at].answers + number

    async def settled(self) -> AsyncGenerator[Told]:
        """Pieces and answers of all jobs. Where the budget must not have changed one, all are waited for.

        Raises ApiError for the first answer that it may have changed: nothing was told of any before.
        """
        events = self._noted(merged([judged(job, self.service.answers(job)) for job in self.jobs]))
        if not any(job.refuses for job in self.jobs):
            return events
        async with aclosing(events):
            held = [event async for event in events]
        for at, (number, event) in held:
            if isinstance(event, Answer):
                check_budget(self.jobs[at], self.choice_of(at, number), event)
        return _again(held)

    async def _noted(self, events: AsyncGenerator[Told]) -> AsyncGenerator[Told]:
        """Notes in the request's record what the answers came to, and what was told of those that don't come."""
        record, told = self.service.caller.record, Counter[tuple[int, int]]()
        try:
            async with aclosing(events) as found:
                async for at, (number, event) in found:
                    if isinstance(event, Answer):
                        record.take_answer(event, self.jobs[at].parameters.budget)
                        del told[at, number]
                    else:
                        told[at, number] += len(event.text)
                    yield at, (number, event)
        finally:  # else who goes away before the end would have read for nothing
            record.lost += sum(told_of(self.jobs[at].parameters.budget, size) for (at, _), size in told.items())

    async def answers(self) -> list[list[Answer]]:
        """All answers of each job, in their order. Raises ApiError."""
        found: list[dict[int, Answer]] = [{} for _ in self.jobs]
        async with aclosing(await self.settled()) as events:
            async for at, (number, event) in events:
                if isinstance(event, Answer):
                    found[at][number] = event
        if not all(found):
            raise AssertionError("a request ended without an answer or an error")
        return [[answers[number] for number in sorted(answers)] for answers in found]


async def _again(held: Sequence[Told]) -> AsyncGenerator[Told]:
    for event in held:
        yield event


class Reader(Protocol):
    """Reader of an interface's requests."""

    def __call__(self, value: object, *, report_unknown: bool) -> Call:
        """The call that a JSON value describes. `report_unknown`: see `Reading`. Raises ApiError."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request of any interface: what the service is to do, and how its answers are told.

    `names`: names that the interface has for fields of `requests`, by ours.
    """

    requests: tuple[Internal, ...]
    present: Callable[[Service, Sequence[Job]], Presenter]
    names: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def answers(self) -> int:
        """Number of answers that are wanted."""
        return sum(request.n or 1 for request in self.requests)

    @property
    def stream(self) -> bool:
        return bool(self.requests[0].stream)


def includes_usage(request: Internal) -> bool:
    """Whether a stream is to tell the usage."""
    return bool(request.stream_options and request.stream_options.include_usage)
