"""Errors in Anthropic's shape; our own code and details stand beside its words.

{"type": "error", "error": {"type", "message", "param", "code", ...details}, "request_id"}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from server.protocol.errors import ApiError, ErrorCode

Kind: TypeAlias = Literal[
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "api_error",
    "overloaded_error",
]
_KINDS: Mapping[int, Kind] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
}


class MessageProblem(BaseModel):
    """`param`: the path of the field to blame. What else is there depends on the code: see docs/reference/http.md."""

    model_config = ConfigDict(extra="allow")

    type: Kind
    message: str
    param: str | None
    code: ErrorCode


class MessageProblemBody(BaseModel):
    """The body of every answer of `/v1/messages` that is an error."""

    type: Literal["error"]
    error: MessageProblem
    request_id: str


def told(error: ApiError, request_id: str) -> dict[str, object]:
    """The JSON object of the HTTP answer, or of an event."""
    kind = _KINDS.get(error.code.status, "invalid_request_error")
    shape = {"type": kind, "message": error.message, "param": error.param, "code": error.code.value}
    return {"type": "error", "error": {**shape, **error.details}, "request_id": request_id}
