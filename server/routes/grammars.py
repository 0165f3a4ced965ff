"""`/v1/grammars`: grammars by name, and those that are kept."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.access import service_of
from server.api.answering import as_json, told
from server.api.description import problems, takes
from server.presenters.grammars import listed, registered
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
    return as_json(await listed(service_of(request)))


@router.post(
    "/v1/grammars",
    openapi_extra=takes(GrammarRequest),
    response_model=None,
    responses={**problems(*ErrorCode), 200: {"model": Registered}},
)
async def register_grammar(request: Request) -> Response:
    """Compiles a grammar, and gives it a name that requests may use."""
    report = service_of(request).settings.reports_unknown
    return await told(request, partial(parse_grammar, report_unknown=report), registered)


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
    return as_json(Deleted(name=name))
