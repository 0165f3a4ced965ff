"""`POST /v1/messages` and `POST /v1/messages/count_tokens`, Anthropic's interface."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.answering import answered, answers, told
from server.api.description import problems, takes
from server.presenters.messages import messages_call, token_count
from server.protocol.anthropic.errors import MessageProblemBody
from server.protocol.anthropic.request import COUNT_FOREIGN, CountRequest, MessagesRequest
from server.protocol.anthropic.response import MessageObject, TokenCount
from server.protocol.errors import ErrorCode
from server.protocol.reading import parse_as

router = APIRouter()


@router.post(
    "/v1/messages",
    openapi_extra=takes(MessagesRequest),
    response_model=None,
    responses={
        **problems(*ErrorCode, body=MessageProblemBody),
        **answers(MessageObject, "Each event's data is a MessageEvent; a failure is the event error."),
    },
)
async def create_message(request: Request) -> Response:
    """Answers a chat by Anthropic's interface, under a constraint if it has one."""
    return await answered(request, messages_call)


@router.post(
    "/v1/messages/count_tokens",
    openapi_extra=takes(CountRequest),
    response_model=None,
    responses={**problems(*ErrorCode, body=MessageProblemBody), 200: {"model": TokenCount}},
)
async def count_tokens(request: Request) -> Response:
    """Counts the tokens of a chat's prompt; no model is asked."""
    return await told(request, lambda value: parse_as(CountRequest, value, COUNT_FOREIGN), token_count)
