"""A request of `/v1/responses` becomes a chat request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from server.protocol.chat import ChatRequest
from server.protocol.errors import ApiError, ErrorCode
from server.protocol.members import LONGEST_TOLD
from server.protocol.reading import parse_constrained
from server.protocol.responses.request import (
    FOREIGN,
    ITEMS,
    CustomCallItem,
    FunctionCallItem,
    InputMessage,
    Item,
    ResponsesRequest,
    ThoughtItem,
)
from server.protocol.responses.tools import choice_in_chats, names_in_chats, tools_in_chats
from server.protocol.tools.turns import arguments_of
from server.protocol.translation.chats import Message, Renamed, chat_of

_KNOWN = (
    *("message", "reasoning", "function_call", "function_call_output"),
    *("custom_tool_call", "custom_tool_call_output"),
)
_THOUGHT = {"role", "content", "reasoning_content"}
"""Members of a turn that is a thought so far."""


def parse_responses(value: object, *, report_unknown: bool = False) -> ResponsesRequest:
    """The request that a JSON value describes. `report_unknown`: see `Reading`. Raises ApiError."""
    items = value.get("input") if isinstance(value, dict) else None
    for at, item in enumerate(items if isinstance(items, list) else ()):
        kind = item.get("type") if isinstance(item, dict) else None
        if isinstance(kind, str) and kind not in _KNOWN:
            param = f"input.{at}"
            instead = ITEMS.get(kind, "send messages, calls and their outputs")
            message = f"{param}: items of type {kind[:LONGEST_TOLD]} are not supported: {instead}"
            raise ApiError(ErrorCode.UNSUPPORTED_PARAMETER, message, param=param)
    return parse_constrained(ResponsesRequest, value, FOREIGN, report_unknown=report_unknown)


def chat_of_responses(request: ResponsesRequest) -> tuple[ChatRequest, dict[str, str]]:
    """The chat request, and the names that the client has for its fields. Raises ApiError."""
    messages = _turns(request.input)
    if request.instructions is not None:
        messages.insert(0, {"role": "system", "content": request.instructions})
    renamed = [
        Renamed("max_output_tokens", "max_tokens", request.max_output_tokens),
        Renamed("text.format", "response_format", request.text.format if request.text else None),
        Renamed("tools", "tools", tools_in_chats(request.tools)),
        Renamed("tool_choice", "tool_choice", choice_in_chats(request.tool_choice)),
        Renamed("parallel_tool_calls", "parallel_tool_calls", request.parallel_tool_calls),
    ]
    chat, names = chat_of(request, messages, renamed)
    return chat, {"messages": "input", **names, **dict(names_in_chats(request.tools))}


def _turns(items: Sequence[Item]) -> list[Message]:
    """Turns of a chat. Calls belong to the assistant's message that they follow, if they follow one, as both do to the
    thought before them.
    """
    turns: list[dict[str, Any]] = []
    for at, item in enumerate(items):
        if isinstance(item, ThoughtItem):
            if text := "".join(part.text for part in item.content or item.summary or ()):
                turns.append({"role": "assistant", "content": "", "reasoning_content": text})
        elif isinstance(item, InputMessage):
            if item.role == "assistant" and turns and turns[-1].keys() == _THOUGHT:
                turns[-1]["content"] = item.content
            else:
                turns.append({"role": item.role, "content": item.content})
        elif isinstance(item, FunctionCallItem | CustomCallItem):
            if not turns or turns[-1]["role"] != "assistant":
                turns.append({"role": "assistant", "content": ""})
            turns[-1].setdefault("tool_calls", []).append(_call(item, f"input.{at}"))
        else:
            turns.append({"role": "tool", "tool_call_id": item.call_id, "content": item.output})
    return list(turns)


def _call(item: FunctionCallItem | CustomCallItem, path: str) -> dict[str, Any]:
    if isinstance(item, FunctionCallItem):
        function = {"name": item.name, "arguments": arguments_of(item.arguments, f"{path}.arguments")}
        return {"id": item.call_id, "type": "function", "function": function}
    return {"id": item.call_id, "type": "custom", "custom": {"name": item.name, "input": item.input}}
