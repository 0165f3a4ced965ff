"""`POST /v1/completions`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.answering import answered, answers
from server.api.description import problems, takes
from server.presenters.completions import completion_call
from server.protocol.completions.request import CompletionRequest
from server.protocol.completions.response import TextCompletion
from server.protocol.errors import ErrorCode

router = APIRouter()


@router.post(
    "/v1/completions",
    openapi_extra=takes(CompletionRequest),
    response_model=None,
    responses={
        **problems(*ErrorCode),
        **answers(TextCompletion, "Each event's data is a TextChunk, the last one's [DONE], or an error."),
    },
)
async def create_completion(request: Request) -> Response:
    """Goes on behind a text, or behind each of several, under a constraint if it has one."""
    return await answered(request, completion_call)
