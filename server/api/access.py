"""Access to `/v1` routes: the key, and the service as its owner meets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from fastapi import Request

from server.access.caller import Accounts, Caller
from server.access.keyring import Keyring
from server.access.keys import ANYBODY
from server.api.observing import record_of
from server.protocol.errors import ApiError, ErrorCode
from server.service import Service

ANTHROPIC_KEY = "x-api-key"
"""Header in which Anthropic's clients send the key."""


@dataclass(frozen=True, slots=True)
class Door:
    """Door of an application: its service, its keys, and what these have used."""

    service: Service
    keys: Keyring
    accounts: Accounts


def service_of(request: Request) -> Service:
    """The application's service: for who has shown a key, as its owner meets it."""
    state = request.scope["state"]
    found = state.get("service")
    return cast("Service", found if found is not None else _door(request).service)


async def require_key(request: Request) -> None:
    """Raises ApiError unless the request carries a key, or none is asked for. On the event loop, as keys and accounts
    belong to it.
    """
    door = _door(request)
    key = ANYBODY if door.keys.open else door.keys.find(*_shown(request))
    if key is None:
        message = f"a valid key is needed: Authorization: Bearer <key>, or {ANTHROPIC_KEY}: <key>"
        raise ApiError(ErrorCode.INVALID_API_KEY, message)
    record = record_of(request.scope)
    record.key = key.name
    caller = Caller(door.accounts.of(key), record, among=door.keys.several)
    request.scope["state"]["service"] = door.service.serving(caller)


def _door(request: Request) -> Door:
    return cast("Door", request.app.state.door)


def _shown(request: Request) -> list[str]:
    """Values that may be a key. Headers are bytes, which Starlette reads as Latin-1."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    values = [given.strip()] if scheme.lower() == "bearer" else []
    values += request.headers.getlist(ANTHROPIC_KEY)
    return [value.encode("latin-1").decode(errors="replace") for value in values]
