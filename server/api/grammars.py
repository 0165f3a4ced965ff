"""`/v1/grammars`: grammars by name, and those that are kept."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.access import service_of
from server.api.bodies import read_body
from server.api.description import problems, takes
from server.api.disconnects import unless_gone
from server.grammar_responses import listed, registered
from server.protocol.errors import ErrorCode
from server.protocol.grammars import Deleted, GrammarList, GrammarRequest, Registered
from server.protocol.reading import parse_grammar

router = APIRouter()


@router.get(
    "/v1/grammars",
    response_model=None,
    responses={**problems(ErrorCode.INVALID_API_KEY), 200: {"model": GrammarList}},
)
async def list_grammars(request: Request) -> Response:
    """List of the grammars compiled here, and of all names."""
    return _json((await listed(service_of(request))).model_dump_json())


@router.post(
    "/v1/grammars",
    openapi_extra=takes(GrammarRequest),
    response_model=None,
    responses={**problems(*ErrorCode), 200: {"model": Registered}},
)
async def register_grammar(request: Request) -> Response:
    """Compiles a grammar, and gives it a name that requests may use."""
    service = service_of(request)
    async with service.preparing():
        asked = await read_body(request, parse_grammar)
    with service.admit(1):
        async with service.preparing():
            answer = await unless_gone(request.receive, registered(service, asked))
    return _json(answer.model_dump_json())


@router.delete(
    "/v1/grammars/{name}",
    response_model=None,
    responses={
        **problems(
            ErrorCode.INVALID_VALUE,
            ErrorCode.INVALID_API_KEY,
            ErrorCode.GRAMMAR_NOT_FOUND,
            ErrorCode.STORE_UNAVAILABLE,
        ),
        200: {"model": Deleted},
    },
)
async def delete_grammar(name: str, request: Request) -> Response:
    """Takes a name away; answers that use it go on."""
    await service_of(request).named.forget(name)
    return _json(Deleted(name=name).model_dump_json())


def _json(text: str) -> Response:
    return Response(text, media_type="application/json")
