"""Access to `/v1` routes: the key and the service."""

from __future__ import annotations

import hmac
from typing import cast

from fastapi import Request

from server.protocol.errors import ApiError, ErrorCode
from server.service import Service

ANTHROPIC_KEY = "x-api-key"
"""Header in which Anthropic's clients send the key."""


def service_of(request: Request) -> Service:
    """The application's service."""
    return cast("Service", request.app.state.service)


def require_key(request: Request) -> None:
    """Raises ApiError unless the request carries the key, or none is set."""
    key = service_of(request).settings.api_key
    if key is None:
        return
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    keys = [given.strip()] if scheme.lower() == "bearer" else []
    keys += request.headers.getlist(ANTHROPIC_KEY)
    # Headers are bytes, which Starlette reads as Latin-1.
    if not any(hmac.compare_digest(given.encode("latin-1"), key.encode()) for given in keys):
        message = f"a valid key is needed: Authorization: Bearer <key>, or {ANTHROPIC_KEY}: <key>"
        raise ApiError(ErrorCode.INVALID_API_KEY, message)
