"""Observation of requests: a record of each, from its head to its last byte, which telemetry is told of."""

from __future__ import annotations

from http import HTTPMethod
from typing import cast

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.protocol.errors import ErrorCode
from server.telemetry.record import OTHER, Record
from server.telemetry.telemetry import Telemetry

CLIENT_GONE = 499
"""Status that nginx logs for a client that went away; nobody is left to read it."""


class Observing:
    """Middleware below `RequestIds`. `record_of` a scope below it."""

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = Record(
            id=scope["state"]["request_id"],
            parent=Headers(scope=scope).get("traceparent"),
            method=scope["method"] if scope["method"] in HTTPMethod.__members__ else OTHER,
        )
        scope["state"]["record"] = record

        async def send_noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except Exception:
            record.status = record.status or 500
            record.error = record.error or ErrorCode.INTERNAL_ERROR.value  # `RequestIds`, above, tells it
            raise
        finally:
            record.route = getattr(scope.get("route"), "path", OTHER)
            record.abandoned = record.abandoned or record.status in (0, CLIENT_GONE)
            self._telemetry.tell(record)


def record_of(scope: Scope) -> Record:
    """Record of a request."""
    return cast("Record", scope["state"]["record"])
