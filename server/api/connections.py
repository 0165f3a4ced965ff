"""Connections of uvicorn's that are bounded: how many there are, how long the headers of a request may take to come,
and how long a client may take nothing of an answer.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from server.api.request_ids import ANTHROPIC_HEADER, HEADER, new_id
from server.protocol.errors import ApiError, ErrorCode
from server.settings import Intake

UNREAD_SECONDS = 60.0
"""Seconds in which a client has to take a part of what waits for it."""

_Protocol: Any = AutoHTTPProtocol
"""Either of uvicorn's two; `cycle` is the request whose headers have come."""


class _WriteTimeout(_Protocol):  # type: ignore[misc]
    """Connection that is cut where the client reads nothing; uvicorn would wait for ever."""

    unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(high=0)  # else the last part of an answer may wait without notice
        super().connection_made(transport)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect()

    def resume_writing(self) -> None:
        self._forget()
        super().resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._forget()
        super().connection_lost(error)

    def _expect(self) -> None:
        waits = self.transport.get_write_buffer_size()
        self.unread = self.loop.call_later(UNREAD_SECONDS, self._look, waits)

    def _forget(self) -> None:
        if self.unread is not None:
            self.unread.cancel()
            self.unread = None

    def _look(self, waited: int) -> None:
        """Cuts the connection, unless some has been read: closing it would wait for the rest to be."""
        if self.transport.get_write_buffer_size() == waited:
            self.transport.abort()
        else:
            self._expect()


def bounded(intake: Intake) -> type[asyncio.Protocol]:
    """The protocol to give to `uvicorn.Config(http=...)`."""

    class Bounded(_WriteTimeout):
        """uvicorn waits for headers for ever, but for those behind an answer: and not where a byte of them came."""

        deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            if len(self.connections) > intake.connections:
                message = f"there are {intake.connections} connections"
                self._end(ApiError(ErrorCode.OVERLOADED, message, details={"limit": "connections"}))
            else:
                self._watch()

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            super().data_received(data)
            self._watch()

        def connection_lost(self, error: Exception | None) -> None:
            self._relax()
            super().connection_lost(error)

        def _watch(self) -> None:
            """A deadline if headers have to come, and none while a request is answered."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._relax()
            elif self.deadline is None:
                self.deadline = self.loop.call_later(intake.header_seconds, self._late)

        def _relax(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()
                self.deadline = None

        def _late(self) -> None:
            self.deadline = None
            if self.cycle is None or self.cycle.response_complete:
                message = f"the headers did not come within {intake.header_seconds} seconds"
                self._end(ApiError(ErrorCode.REQUEST_TIMEOUT, message, details={"limit": "header_seconds"}))

        def _end(self, error: ApiError) -> None:
            if not self.transport.is_closing():
                self.transport.write(_answer(error))
                self.transport.close()

    return Bounded


def _answer(error: ApiError) -> bytes:
    """HTTP answer to a connection of which no request was read: in OpenAI's shape, whatever its path may have been."""
    request_id = new_id()
    status, body = HTTPStatus(error.code.status), json.dumps(error.told(request_id))
    headers = {**error.headers, "Content-Type": "application/json", "Content-Length": len(body), "Connection": "close"}
    headers |= {HEADER: request_id, ANTHROPIC_HEADER: request_id}
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", body]).encode()
