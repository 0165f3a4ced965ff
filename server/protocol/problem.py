"""Errors as the description of the interface has them; `server.protocol.errors` makes them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from server.protocol.errors import ErrorCode


class Problem(BaseModel):
    """`param`: the path of the field to blame. What else is there depends on the code: see docs/reference/http.md."""

    model_config = ConfigDict(extra="allow")

    message: str
    type: Literal["authentication_error", "rate_limit_error", "server_error", "invalid_request_error"]
    param: str | None
    code: ErrorCode


class ProblemBody(BaseModel):
    """The body of every answer that is an error."""

    error: Problem
