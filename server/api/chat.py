"""`POST /v1/chat/completions`."""

from __future__ import annotations

from contextlib import ExitStack

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.access import read_body, service_of
from server.api.disconnects import unless_gone
from server.api.events import EventStream
from server.completions import chunks, completion
from server.protocol.reading import parse_chat, parse_json

router = APIRouter()


@router.post("/v1/chat/completions")
async def create_chat_completion(request: Request) -> Response:
    """Answers a chat, under a constraint if it has one."""
    service = service_of(request)
    async with service.preparing():
        body = await read_body(request, service.settings.body_bytes)
    chat = parse_chat(parse_json(body, service.settings.body_nesting))
    with ExitStack() as held:
        held.enter_context(service.admit(chat.n or 1))
        async with service.preparing():
            job = await unless_gone(request.receive, service.prepare(chat))
        if chat.stream:
            include_usage = bool(chat.stream_options and chat.stream_options.include_usage)
            return EventStream(chunks(service, job, include_usage=include_usage), held.pop_all())
        answer = await unless_gone(request.receive, completion(service, job))
        return Response(answer.model_dump_json(), media_type="application/json")
