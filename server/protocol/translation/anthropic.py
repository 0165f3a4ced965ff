"""A request of `/v1/messages` becomes a chat request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from server.protocol.anthropic.blocks import TextBlock, ThoughtBlock, ToolResultBlock, ToolUseBlock
from server.protocol.anthropic.request import CountRequest, MessagesRequest, Turn
from server.protocol.anthropic.tools import choice_in_chats, is_single, names_in_chats, tools_in_chats
from server.protocol.chat import ChatRequest
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.thinking.fields import Effort
from server.protocol.translation.chats import Message, Renamed, chat_of


def chat_of_messages(request: MessagesRequest) -> tuple[ChatRequest, dict[str, str]]:
    """The chat request, and the names that the client has for its fields. Raises ApiError."""
    config, choice = request.output_config, request.tool_choice
    renamed = [
        Renamed("output_config.format", "response_format", config.format if config else None),
        Renamed("output_format", "response_format", request.output_format),
        Renamed("output_config.effort", "reasoning_effort", _effort(request)),
        Renamed("stop_sequences", "stop", request.stop_sequences),
        Renamed("tools", "tools", tools_in_chats(request.tools)),
        Renamed("tool_choice", "tool_choice", choice_in_chats(choice)),
        Renamed("tool_choice.disable_parallel_tool_use", "parallel_tool_calls", False if is_single(choice) else None),
    ]
    if _is_open(request.messages):
        request = request.model_copy(update={"continue_final_message": True})
    chat, names = chat_of(request, _turns(request.messages, request.system), renamed)
    return chat, names | dict(names_in_chats(request.tools))


def chat_of_count(request: CountRequest) -> ChatRequest:
    """The chat whose prompt is to be counted. Raises ApiError."""
    turns, goes_on = _turns(request.messages, request.system), _is_open(request.messages)
    fields: dict[str, object] = {
        "messages": turns,
        "tools": tools_in_chats(request.tools),
        "continue_final_message": goes_on,
    }
    fields |= {"thinking": request.thinking, "reasoning_effort": _effort(request)}
    return ChatRequest.model_validate({"model": request.model, **fields})


def _effort(request: MessagesRequest | CountRequest) -> Effort | None:
    """Effort of a thought that was asked for: clients send one of their own accord, whether there is to be a thought or
    not.
    """
    asked = request.thinking is not None and request.thinking.type != "disabled"
    return request.output_config.effort if asked and request.output_config is not None else None


def _is_open(messages: Sequence[Turn]) -> bool:
    """Whether the answer continues the last turn, which then is the assistant's."""
    return messages[-1].role == "assistant"


def _turns(messages: Sequence[Turn], system: str | None) -> list[Message]:
    turns = [made for at, turn in enumerate(messages) for made in _turns_of(turn, f"messages.{at}.content")]
    return turns if system is None else [{"role": "system", "content": system}, *turns]


def _turns_of(turn: Turn, path: str) -> Iterator[Message]:
    """Turns of a chat: results of tools have one each. `path`: that of the content."""
    if isinstance(turn.content, str):
        yield {"role": turn.role, "content": turn.content}
    elif turn.role == "assistant":
        text = "".join(block.text for block in turn.content if isinstance(block, TextBlock))
        numbered = enumerate(turn.content)
        calls = [_call(block, f"{path}.{at}.input") for at, block in numbered if isinstance(block, ToolUseBlock)]
        thought = "".join(block.thinking for block in turn.content if isinstance(block, ThoughtBlock))
        yield {"role": "assistant", "content": text, "tool_calls": calls, "reasoning_content": thought}
    else:
        for told, blocks in groupby(turn.content, lambda block: isinstance(block, ToolResultBlock)):
            if told:
                yield from (_result(block) for block in blocks if isinstance(block, ToolResultBlock))
            else:
                text = "".join(block.text for block in blocks if isinstance(block, TextBlock))
                yield {"role": "user", "content": text}


def _call(block: ToolUseBlock, path: str) -> dict[str, Any]:
    """Call of a chat. Raises ApiError for a number that JSON can't have."""
    try:
        text = json.dumps(block.input, ensure_ascii=False, allow_nan=False)
    except ValueError as error:  # a number such as 1e999
        raise ApiError(ErrorCode.INVALID_VALUE, f"{path}: a number is too large", param=path) from error
    function = {"name": block.name, "arguments": text}
    return {"id": block.id, "type": "function", "function": function}


def _result(block: ToolResultBlock) -> dict[str, Any]:
    error = "Error: " if block.is_error else ""
    return {"role": "tool", "tool_call_id": block.tool_use_id, "content": error + (block.content or "")}
