"""Server-sent events. An error comes in place of what can't come any more, and then the interface's end."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.api.disconnects import unless_gone
from server.api.errors import note_error
from server.api.observing import record_of
from server.presenters.presenter import Event, Presenter
from server.protocol.errors import ApiError, ErrorCode

_log = logging.getLogger(__name__)


class EventStream(Response):
    """Sends each event as it comes. However it ends, the events are closed and `held` is let go."""

    media_type = "text/event-stream"

    def __init__(self, presenter: Presenter, held: ExitStack) -> None:
        # Proxies that gather a response before they pass it on would undo the streaming.
        super().__init__(headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._presenter = presenter
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id: str = scope["state"]["request_id"]
        with self._held:
            try:
                await unless_gone(receive, self._send_all(scope, send))
            except (ClientDisconnect, OSError):
                record_of(scope).abandoned = True
                _log.info("request %s: the client of a stream has gone", request_id)

    async def _send_all(self, scope: Scope, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with aclosing(self._events(scope)) as events:
            async for event in events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
                # Events that have gathered come without a wait: sent at one go, they would hold up everybody else, and
                # nobody would see that the client has gone.
                await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _events(self, scope: Scope) -> AsyncGenerator[bytes]:
        request_id: str = scope["state"]["request_id"]
        try:
            async with aclosing(self._presenter.events()) as events:
                async for event in events:
                    yield _frame(event)
        except ApiError as error:
            _log.warning("request %s: its stream ends in %s: %s", request_id, error.code, error.message)
            note_error(record_of(scope), error)
            yield self._failure(error, request_id)
        except Exception:  # the status line is out: the stream is the only place left to say it
            _log.exception("request %s: its stream has failed", request_id)
            failure = ApiError(ErrorCode.INTERNAL_ERROR, "the server failed this request")
            note_error(record_of(scope), failure)
            yield self._failure(failure, request_id)
        if self._presenter.end is not None:
            yield _frame(self._presenter.end)

    def _failure(self, error: ApiError, request_id: str) -> bytes:
        """Event of a failure; where the interface's own fails too, the error by itself, which all clients know."""
        try:
            return _frame(self._presenter.failure(error, request_id))
        except Exception:
            _log.exception("request %s: the event of its failure has failed", request_id)
            return _frame(Event(json.dumps(error.told(request_id)), "error"))


def _frame(event: Event) -> bytes:
    name = f"event: {event.name}\n" if event.name is not None else ""
    return f"{name}data: {event.data}\n\n".encode()
