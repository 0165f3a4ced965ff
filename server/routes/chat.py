"""`POST /v1/chat/completions`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from server.api.answering import answered, answers
from server.api.description import problems, takes
from server.presenters.chat import chat_call
from server.protocol.chat import ChatRequest
from server.protocol.completion import ChatCompletion
from server.protocol.errors import ErrorCode

router = APIRouter()


@router.post(
    "/v1/chat/completions",
    openapi_extra=takes(ChatRequest),
    response_model=None,
    responses={
        **problems(*ErrorCode),
        **answers(ChatCompletion, "Each event's data is a ChatChunk, the last one's [DONE], or an error."),
    },
)
async def create_chat_completion(request: Request) -> Response:
    """Answers a chat, under a constraint if it has one."""
    return await answered(request, chat_call)
