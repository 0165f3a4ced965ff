"""Every error leaves the server in the shape of the interface that was asked, whoever raised it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from server.api.observing import CLIENT_GONE
from server.protocol.anthropic import errors as anthropic
from server.protocol.errors import ApiError, ErrorCode
from server.telemetry.record import Record

ANTHROPIC = "/v1/messages"
"""Beginning of the paths whose errors have Anthropic's shape; all others have OpenAI's."""

_CODES: Mapping[int, ErrorCode] = {404: ErrorCode.NOT_FOUND, 405: ErrorCode.METHOD_NOT_ALLOWED}

_log = logging.getLogger(__name__)


def install(app: FastAPI) -> None:
    """Makes the application tell its errors this way. `server.api.request_ids` does so for unforeseen ones."""
    app.add_exception_handler(ApiError, _told)
    app.add_exception_handler(HTTPException, _routing)
    app.add_exception_handler(ClientDisconnect, _gone)


def error_response(scope: Scope, error: ApiError, headers: Mapping[str, str] | None = None) -> Response:
    """Answer to a request that failed."""
    request_id: str = scope["state"]["request_id"]
    note_error(scope["state"].get("record"), error)
    shape = anthropic.told(error, request_id) if is_anthropic(scope["path"]) else error.told(request_id)
    return JSONResponse(shape, error.code.status, {**error.headers, **(headers or {})})


def note_error(record: Record | None, error: ApiError) -> None:
    """Notes in a request's record which error it is told; a request that was never observed has none."""
    if record is not None:
        record.error = error.code.value
        record.limited = str(error.details["limit"]) if error.code.status == 429 and "limit" in error.details else None


def is_anthropic(path: str) -> bool:
    """Whether a path belongs to Anthropic's interface."""
    return path == ANTHROPIC or path.startswith(f"{ANTHROPIC}/")


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    if error.code.status == 500:
        _log.warning("request %s: %s: %s", request.state.request_id, error.code, error.message)
    return error_response(request.scope, error)


async def _routing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, ErrorCode.INTERNAL_ERROR)
    message = f"{request.method} {request.url.path}: {error.detail}"
    return error_response(request.scope, ApiError(code, message), error.headers)


async def _gone(request: Request, error: Exception) -> Response:
    _log.info("request %s: the client has gone", request.state.request_id)
    return Response(status_code=CLIENT_GONE)
