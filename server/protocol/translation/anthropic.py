"""A request of `/v1/messages` becomes a chat request."""

from __future__ import annotations

from collections.abc import Sequence

from server.protocol.anthropic.request import CountRequest, MessagesRequest, Turn
from server.protocol.chat import ChatRequest
from server.protocol.translation.chats import Renamed, chat_of


def chat_of_messages(request: MessagesRequest) -> tuple[ChatRequest, dict[str, str]]:
    """The chat request, and the names that the client has for its fields. Raises ApiError."""
    config = request.output_config
    renamed = [
        Renamed("output_config.format", "response_format", config.format if config else None),
        Renamed("output_format", "response_format", request.output_format),
        Renamed("stop_sequences", "stop", request.stop_sequences),
    ]
    if _is_open(request.messages):
        request = request.model_copy(update={"continue_final_message": True})
    return chat_of(request, _turns(request.messages, request.system), renamed)


def chat_of_count(request: CountRequest) -> ChatRequest:
    """The chat whose prompt is to be counted. Raises ApiError."""
    turns = _turns(request.messages, request.system)
    goes_on = _is_open(request.messages)
    fields = {"model": request.model, "messages": turns, "continue_final_message": goes_on}
    return ChatRequest.model_validate({**fields, "thinking": request.thinking})


def _is_open(messages: Sequence[Turn]) -> bool:
    """Whether the answer continues the last turn, which then is the assistant's."""
    return messages[-1].role == "assistant"


def _turns(messages: Sequence[Turn], system: str | None) -> list[dict[str, str]]:
    turns: list[dict[str, str]] = [{"role": turn.role, "content": turn.content} for turn in messages]
    return turns if system is None else [{"role": "system", "content": system}, *turns]
