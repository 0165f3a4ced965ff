"""What every `/v1` route has in common: the key, the service, the body."""

from __future__ import annotations

import hmac
from typing import cast

from fastapi import Request

from server.protocol.errors import ApiError, ErrorCode
from server.service import Service


def service_of(request: Request) -> Service:
    """The application's service."""
    return cast("Service", request.app.state.service)


def require_key(request: Request) -> None:
    """Raises ApiError unless the request carries the key, or none is set."""
    key = service_of(request).settings.api_key
    if key is None:
        return
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    # Headers are bytes, which Starlette reads as Latin-1.
    same = hmac.compare_digest(given.strip().encode("latin-1"), key.encode())
    if scheme.lower() != "bearer" or not same:
        raise ApiError(ErrorCode.INVALID_API_KEY, "a valid key is needed: Authorization: Bearer <key>")


async def read_body(request: Request, limit: int) -> bytes:
    """The whole body. Raises ApiError as soon as it is known to be too long."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > limit:
        raise _too_large(limit)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise _too_large(limit)
    return bytes(body)


def _too_large(limit: int) -> ApiError:
    message = f"a request body has at most {limit} bytes"
    return ApiError(ErrorCode.REQUEST_TOO_LARGE, message, details={"limit": "body_bytes"})
