"""Steps of all routes with a body: it is read, the request admitted, and answered whole or as a stream."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeAlias, TypeVar

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import Response

from server.api.access import service_of
from server.api.bodies import read_body
from server.api.description import Responses
from server.api.disconnects import unless_gone
from server.api.events import EventStream
from server.job import Job
from server.presenters.presenter import Call, Reader
from server.protocol.errors import named
from server.protocol.verbatim import written
from server.service import Service

T = TypeVar("T")
Answering: TypeAlias = Callable[[Service, T], Coroutine[Any, Any, BaseModel]]


async def answered(request: Request, read: Reader) -> Response:
    """Answers what `read` makes of the body. Raises ApiError."""
    service = service_of(request)
    async with service.preparing():
        call = await read_body(request, partial(read, report_unknown=service.settings.reports_unknown))
    with ExitStack() as held, named(call.names):
        service.caller.record.ask(call.answers, stream=call.stream)
        held.enter_context(service.admit(call.answers))
        async with service.preparing():
            jobs = await unless_gone(request.receive, _prepared(service, call))
        held.enter_context(service.metered(jobs))
        presenter = call.present(service, jobs)
        if call.stream:
            return EventStream(presenter, held.pop_all())
        return as_json(await unless_gone(request.receive, presenter.whole()))


async def told(request: Request, parse: Callable[[object], T], answer: Answering[T]) -> Response:
    """Answers a request that needs no model, but may take a while: `answer` of what `parse` makes of the body.

    Both raise ApiError.
    """
    service = service_of(request)
    async with service.preparing():
        asked = await read_body(request, parse)
    with service.admit(1):
        async with service.preparing():
            return as_json(await unless_gone(request.receive, answer(service, asked)))


async def _prepared(service: Service, call: Call) -> list[Job]:
    # One after the other: they share a grammar, which the first one compiles.
    return [await service.prepare(request, checked=at > 0) for at, request in enumerate(call.requests)]


def as_json(model: BaseModel) -> Response:
    """Answer that a model is."""
    return Response(written(model), media_type="application/json")


def answers(whole: type[BaseModel], events: str) -> Responses:
    """`responses` of a route for what it answers: an answer, or the events that are described."""
    about: dict[str, Any] = {"schema": {"type": "string", "description": f"With stream: true. {events}"}}
    return {200: {"model": whole, "content": {"text/event-stream": about}}}
