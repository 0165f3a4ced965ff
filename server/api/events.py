"""Server-sent events: a stream ends with `[DONE]`; before it comes an error, in place of what can't come any more."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from server.api.disconnects import unless_gone
from server.protocol.completion import ChatChunk
from server.protocol.errors import ApiError, ErrorCode

_log = logging.getLogger(__name__)


class EventStream(Response):
    """Sends each chunk as it comes. However it ends, the chunks are closed and `held` is let go."""

    media_type = "text/event-stream"

    def __init__(self, chunks: AsyncGenerator[ChatChunk], held: ExitStack) -> None:
        # Proxies that gather a response before they pass it on would undo the streaming.
        super().__init__(headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._chunks = chunks
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held:
            try:
                await unless_gone(receive, self._send_all(send))
            except (ClientDisconnect, OSError):
                _log.info("the client of a stream has gone")

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with aclosing(self._events()) as events:
            async for event in events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _events(self) -> AsyncGenerator[bytes]:
        try:
            async with aclosing(self._chunks) as chunks:
                async for chunk in chunks:
                    yield _event(chunk.model_dump_json(exclude_unset=True))
        except ApiError as error:
            yield _event(json.dumps(error.body))
        except Exception:  # the status line is out: the stream is the only place left to say it
            _log.exception("a stream has failed")
            failure = ApiError(ErrorCode.INTERNAL_ERROR, "the server failed this request")
            yield _event(json.dumps(failure.body))
        yield _event("[DONE]")


def _event(data: str) -> bytes:
    return f"data: {data}\n\n".encode()
