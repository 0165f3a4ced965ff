"""Every error leaves the server in one shape, whoever raised it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from server.protocol.errors import ApiError, ErrorCode

CLIENT_GONE = 499
"""Status that nginx logs for a client that went away; nobody is left to read it."""

_CODES: Mapping[int, ErrorCode] = {404: ErrorCode.NOT_FOUND, 405: ErrorCode.METHOD_NOT_ALLOWED}

_log = logging.getLogger(__name__)


def install(app: FastAPI) -> None:
    """Makes the application tell its errors this way."""
    app.add_exception_handler(ApiError, _told)
    app.add_exception_handler(HTTPException, _routing)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _failed)


def _response(error: ApiError, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(error.body, error.code.status, {**error.headers, **(headers or {})})


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return _response(error)


async def _routing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, ErrorCode.INTERNAL_ERROR)
    message = f"{request.method} {request.url.path}: {error.detail}"
    return _response(ApiError(code, message), error.headers)


async def _gone(request: Request, error: Exception) -> Response:
    _log.info("the client has gone")
    return Response(status_code=CLIENT_GONE)


async def _failed(request: Request, error: Exception) -> Response:
    # Its text stays in the log: it may quote what belongs to somebody else.
    return _response(ApiError(ErrorCode.INTERNAL_ERROR, "the server failed this request"))
