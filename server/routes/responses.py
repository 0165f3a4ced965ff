"""`POST /v1/responses`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.answering import answered, answers
from server.api.description import problems, takes
from server.presenters.responses import responses_call
from server.protocol.errors import ErrorCode
from server.protocol.responses.request import ResponsesRequest
from server.protocol.responses.response import ResponseObject

router = APIRouter()


@router.post(
    "/v1/responses",
    openapi_extra=takes(ResponsesRequest),
    response_model=None,
    responses={
        **problems(*ErrorCode),
        **answers(ResponseObject, "Each event's data is a ResponseEvent; a failure is the event response.failed."),
    },
)
async def create_response(request: Request) -> Response:
    """Answers a chat by OpenAI's newer interface, under a constraint if it has one. Nothing is stored."""
    return await answered(request, responses_call)
