"""Objects of requests about tools, with all of their fields, and how each is read as a part of a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from server.protocol import messages as m
from server.protocol.anthropic import blocks as ab
from server.protocol.anthropic import request as an
from server.protocol.anthropic import tools as at
from server.protocol.reading import parse_as, parse_chat
from server.protocol.responses import request as r
from server.protocol.responses import tools as rt
from server.protocol.strict import StrictModel
from server.protocol.tools import choices as tc
from server.protocol.tools import definitions as t
from server.protocol.translation.responses import parse_responses
from tests.server.running import request

Object = dict[str, Any]

CACHED: Object = {"cache_control": {"type": "ephemeral"}}
FUNCTION: Object = {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True}
GRAMMAR: Object = {"definition": "a", "syntax": "regex"}
CUSTOM: Object = {"name": "g", "description": "d", "format": {"type": "grammar", "grammar": GRAMMAR}}
NAMED: Object = {"type": "function", "function": {"name": "f"}}
ALLOWED: Object = {"mode": "auto", "tools": [NAMED]}
CALLING: Object = {
    "tools": [],
    "tool_choice": "none",
    "parallel_tool_calls": False,
    "functions": [],
    "function_call": "none",
}
USE: Object = {"type": "tool_use", "id": "t", "name": "f", "input": {}, **CACHED}
RESULT: Object = {"type": "tool_result", "tool_use_id": "t", "content": "x", "is_error": True, **CACHED}
CALL_ITEM: Object = {"call_id": "c", "name": "f", "id": "i", "status": "completed"}
OUTPUT_ITEM: Object = {"call_id": "c", "output": "x", "id": "i", "status": "completed"}


def _tool(value: object) -> object:
    return parse_chat(request(tools=[value], tool_choice="none"))


def _function(value: object) -> object:
    return parse_chat(request(functions=[value], function_call="none"))


def _custom(value: object) -> object:
    return _tool({"type": "custom", "custom": value})


def _format(value: object) -> object:
    return _custom({"name": "g", "format": value})


def _choice(value: object) -> object:
    return parse_chat(request(tool_choice=value))


def _call(value: object) -> object:
    return parse_chat({"messages": [{"role": "assistant", "tool_calls": [value]}]})


def _responses(**fields: object) -> object:
    return parse_responses({"input": "x", **fields})


def _item(value: object) -> object:
    return _responses(input=[value])


def _messages(**fields: object) -> object:
    body = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 3, **fields}
    return parse_as(an.MessagesRequest, body, an.FOREIGN)


TOOL_OBJECTS: dict[type[StrictModel], tuple[Object, Callable[[object], object]]] = {
    t.FunctionDefinition: (FUNCTION, _function),
    t.GrammarDefinition: (GRAMMAR, lambda value: _format({"type": "grammar", "grammar": value})),
    t.AnyTextFormat: ({"type": "text"}, _format),
    t.GrammarTextFormat: ({"type": "grammar", "grammar": GRAMMAR}, _format),
    t.CustomDefinition: (CUSTOM, _custom),
    t.FunctionTool: ({"type": "function", "function": FUNCTION, **CACHED}, _tool),
    t.CustomTool: ({"type": "custom", "custom": CUSTOM, **CACHED}, _tool),
    tc.NamedTool: ({"name": "f"}, lambda value: _choice({"type": "function", "function": value})),
    tc.NamedFunction: (NAMED, _choice),
    tc.NamedCustom: ({"type": "custom", "custom": {"name": "g"}}, _choice),
    tc.ToolList: (ALLOWED, lambda value: _choice({"type": "allowed_tools", "allowed_tools": value})),
    tc.AllowedTools: ({"type": "allowed_tools", "allowed_tools": ALLOWED}, _choice),
    m.CalledCustom: ({"name": "g", "input": "x"}, lambda value: _call({"type": "custom", "custom": value})),
    m.CustomToolCall: ({"id": "c", "type": "custom", "custom": {"name": "g", "input": "x"}, "index": 0}, _call),
    rt.SyntaxFormat: (
        {"type": "grammar", "syntax": "lark", "definition": "x"},
        lambda value: _responses(tools=[{"type": "custom", "name": "g", "format": value}]),
    ),
    rt.ResponsesFunction: ({"type": "function", **FUNCTION}, lambda value: _responses(tools=[value])),
    rt.ResponsesCustom: (
        {"type": "custom", "name": "g", "description": "d", "format": {"type": "text"}},
        lambda value: _responses(tools=[value]),
    ),
    rt.ResponsesNamed: ({"type": "custom", "name": "g"}, lambda value: _responses(tool_choice=value)),
    rt.ResponsesAllowed: (
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]},
        lambda value: _responses(tool_choice=value),
    ),
    r.FunctionCallItem: ({"type": "function_call", **CALL_ITEM, "arguments": "{}"}, _item),
    r.FunctionOutputItem: ({"type": "function_call_output", **OUTPUT_ITEM}, _item),
    r.CustomCallItem: ({"type": "custom_tool_call", **CALL_ITEM, "input": "x"}, _item),
    r.CustomOutputItem: ({"type": "custom_tool_call_output", **OUTPUT_ITEM}, _item),
    at.AnthropicTool: (
        {
            **{"type": "custom", "name": "f", "description": "d", "input_schema": {}, "strict": True, **CACHED},
            "input_examples": [{"x": 1}],
        },
        lambda value: _messages(tools=[value]),
    ),
    at.ModeChoice: ({"type": "any", "disable_parallel_tool_use": True}, lambda value: _messages(tool_choice=value)),
    at.OneChoice: (
        {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
        lambda value: _messages(tool_choice=value),
    ),
    at.NoChoice: ({"type": "none"}, lambda value: _messages(tool_choice=value)),
    ab.TextBlock: (
        {"type": "text", "text": "x", **CACHED, "citations": []},
        lambda value: _messages(messages=[{"role": "user", "content": [value]}]),
    ),
    ab.ToolUseBlock: (USE, lambda value: _messages(messages=[{"role": "assistant", "content": [value]}])),
    ab.ToolResultBlock: (RESULT, lambda value: _messages(messages=[{"role": "user", "content": [value]}])),
}
