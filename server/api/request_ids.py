"""Ids of requests: a client's own or one that is made, in every answer and every line of the log about a request.

What fails without anybody having foreseen it ends here too: its text stays in the log, beside the id.
"""

from __future__ import annotations

import logging
import re
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.api.errors import error_response
from server.protocol.errors import ApiError, ErrorCode

HEADER = "x-request-id"
ANTHROPIC_HEADER = "request-id"
"""Name by which Anthropic's clients know it."""

_SANE = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
"""Ids that may stand in a log and in JSON as they are."""

_log = logging.getLogger(__name__)


class RequestIds:
    """Middleware. Below it the id is `request_id` in the state of a scope."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        request_id = given if _SANE.fullmatch(given) else new_id()
        scope.setdefault("state", {})["request_id"] = request_id
        begun = False

        async def send_with_id(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                headers[HEADER] = headers[ANTHROPIC_HEADER] = request_id
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except Exception:
            _log.exception("request %s has failed", request_id)
            if begun:  # nothing more can be told
                raise
            failure = ApiError(ErrorCode.INTERNAL_ERROR, "the server failed this request")
            await error_response(scope, failure)(scope, receive, send_with_id)


def new_id() -> str:
    """Id of a request that brought none."""
    return f"req_{uuid4().hex}"
