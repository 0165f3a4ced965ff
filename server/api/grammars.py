"""`/v1/grammars`: grammars by name, and those that are kept."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.access import read_body, service_of
from server.api.disconnects import unless_gone
from server.catalogue import listed, registered
from server.protocol.grammars import Deleted
from server.protocol.reading import parse_grammar, parse_json

router = APIRouter()


@router.get("/v1/grammars")
async def list_grammars(request: Request) -> Response:
    """What is kept compiled here, and all names."""
    return _json((await listed(service_of(request))).model_dump_json())


@router.post("/v1/grammars")
async def register_grammar(request: Request) -> Response:
    """Compiles a grammar, and gives it a name that requests may use."""
    service = service_of(request)
    async with service.preparing():
        body = await read_body(request, service.settings.body_bytes)
    asked = parse_grammar(parse_json(body, service.settings.body_nesting))
    with service.admit(1):
        async with service.preparing():
            answer = await unless_gone(request.receive, registered(service, asked))
    return _json(answer.model_dump_json())


@router.delete("/v1/grammars/{name}")
async def delete_grammar(name: str, request: Request) -> Response:
    """Takes a name away; answers that use it go on."""
    await service_of(request).named.forget(name)
    return _json(Deleted(name=name).model_dump_json())


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")
