"""Turns of a chat as chat templates take them, calls and their arguments among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from server.protocol.errors import ApiError, ErrorCode
from server.protocol.messages import CalledFunction, ChatMessage, CustomToolCall, ToolCall
from server.protocol.reading import parse_json
from server.protocol.tools.template import INPUT

NESTING = 512
"""Levels of a call's arguments, as many as a body may have; templates that can't print them refuse them."""


def for_template(messages: Iterable[ChatMessage]) -> list[dict[str, object]]:
    """Messages as chat templates take them. Raises ApiError for arguments of calls that are no JSON object."""
    made: list[dict[str, object]] = []
    called: dict[str, str] = {}
    for at, message in enumerate(messages):
        calls = list(_calls(message, f"messages.{at}"))
        called |= {str(call["id"]): str(call["function"]["name"]) for call in calls if "id" in call}
        name = message.name or called.get(message.tool_call_id or "")
        details = "".join(part.text or part.summary or "" for part in message.reasoning_details or ())
        thought = message.reasoning_content or message.reasoning or details
        members = {
            "role": {"developer": "system", "function": "tool"}.get(message.role, message.role),
            "content": (message.content or "") + (message.refusal or ""),
            "name": name,
            "tool_calls": calls,
            "tool_call_id": message.tool_call_id,
            # Templates know it by either name.
            "reasoning_content": thought,
            "reasoning": message.reasoning or thought,
        }
        made.append({name: value for name, value in members.items() if value or name == "content"})
    return made


def _calls(message: ChatMessage, path: str) -> Iterator[dict[str, Any]]:
    for number, call in enumerate(message.tool_calls or ()):
        function = _called(call, f"{path}.tool_calls.{number}.function.arguments")
        named = {} if call.id is None else {"id": call.id}
        yield {**named, "type": "function", "function": function}
    if message.function_call is not None:
        yield {"type": "function", "function": _function(message.function_call, f"{path}.function_call.arguments")}


def _called(call: ToolCall | CustomToolCall, path: str) -> dict[str, object]:
    """Function of a call; a custom tool is to templates one with the parameter `input`."""
    if isinstance(call, CustomToolCall):
        return {"name": call.custom.name, "arguments": {INPUT: call.custom.input}}
    return _function(call.function, path)


def _function(called: CalledFunction, path: str) -> dict[str, object]:
    """Function with its arguments as an object, as templates print them."""
    given = called.arguments
    return {"name": called.name, "arguments": arguments_of(given, path) if isinstance(given, str) else given or {}}


def arguments_of(text: str, path: str) -> dict[str, object]:
    """Arguments of a call by their JSON text, none by an empty one. Raises ApiError. `path`: that of the text."""
    if not text:
        return {}
    try:
        value = parse_json(text.encode(), NESTING)
        why = "the text is no object"
    except ApiError as error:
        value, why = None, error.message.replace("the body", "the text", 1)
    if isinstance(value, dict):
        return value
    message = f"{path}: {why}; arguments of a call that is given back are the text of a JSON object, {{}} for none"
    raise ApiError(ErrorCode.INVALID_VALUE, message, param=path)
