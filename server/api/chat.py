"""`POST /v1/chat/completions`."""

from __future__ import annotations

from contextlib import ExitStack

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.access import service_of
from server.api.bodies import read_body
from server.api.description import problems, takes
from server.api.disconnects import unless_gone
from server.api.events import EventStream
from server.protocol.chat import ChatRequest
from server.protocol.completion import ChatCompletion
from server.protocol.errors import ErrorCode
from server.protocol.reading import parse_chat
from server.responses import chunks, completion

router = APIRouter()


_EVENTS = "With stream: true. Each event's data is a ChatChunk, the last one's [DONE], or an error."
_STREAM = {"text/event-stream": {"schema": {"type": "string", "description": _EVENTS}}}


@router.post(
    "/v1/chat/completions",
    openapi_extra=takes(ChatRequest),
    response_model=None,
    responses={**problems(*ErrorCode), 200: {"model": ChatCompletion, "content": _STREAM}},
)
async def create_chat_completion(request: Request) -> Response:
    """Answers a chat, under a constraint if it has one."""
    service = service_of(request)
    async with service.preparing():
        chat = await read_body(request, parse_chat)
    with ExitStack() as held:
        held.enter_context(service.admit(chat.n or 1))
        async with service.preparing():
            job = await unless_gone(request.receive, service.prepare(chat))
        if chat.stream:
            include_usage = bool(chat.stream_options and chat.stream_options.include_usage)
            return EventStream(chunks(service, job, include_usage=include_usage), held.pop_all())
        answer = await unless_gone(request.receive, completion(service, job))
        return Response(answer.model_dump_json(), media_type="application/json")
