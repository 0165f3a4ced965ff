"""Tools of requests, and answers as clients read them: whole, and put together from streams that tell the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anthropic
import jsonschema
import openai

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 8}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}
PARAMETERS = {"weather": WEATHER, "now": {"type": "object", "properties": {}, "additionalProperties": False}}
TOOLS: Any = [{"type": "function", "function": {"name": name, "parameters": p}} for name, p in PARAMETERS.items()]
LARK = 'start: "SELECT " ("a" | "b") (", " ("a" | "b"))*'
SQL: Any = {
    "type": "custom",
    "custom": {"name": "sql", "format": {"type": "grammar", "grammar": {"definition": LARK, "syntax": "lark"}}},
}
CODE: Any = {
    "type": "custom",
    "custom": {"name": "code", "format": {"type": "grammar", "grammar": {"definition": "[A-Z]{3}", "syntax": "regex"}}},
}
TURNS: Any = [{"role": "user", "content": "hi"}]
RESPONSES_TOOLS: Any = [{"type": "function", "name": name, "parameters": schema} for name, schema in PARAMETERS.items()]
ANTHROPIC_TOOLS: Any = [
    {"name": name, "description": "d", "input_schema": schema} for name, schema in PARAMETERS.items()
]


def check_calls(calls: Sequence[Any]) -> None:
    """Calls of functions, as OpenAI's client reads them."""
    assert calls
    assert len({call.id for call in calls}) == len(calls)
    for call in calls:
        jsonschema.validate(json.loads(call.function.arguments), PARAMETERS[call.function.name])


def choice_of(client: openai.OpenAI, **fields: Any) -> Any:
    """A chat's choice, whole; the stream of the same request tells the same."""
    asked: Any = {"model": "scripted", "messages": TURNS, "max_tokens": 150, "seed": 5, "tools": TOOLS, **fields}
    whole = client.chat.completions.create(**asked).choices[0]
    content, calls, end = "", list[dict[str, str]](), None
    for chunk in client.chat.completions.create(**asked, stream=True):
        [choice] = chunk.choices
        content += choice.delta.content or ""
        for delta in choice.delta.tool_calls or []:
            told: Any = delta.to_dict()
            kind = "custom" if "custom" in told else "function"
            if "id" in told:
                assert told["type"] == kind
                assert told[kind]["name"]
                calls.append({"name": told[kind]["name"], "given": ""})
            calls[told["index"]]["given"] += told[kind].get("arguments", "") + told[kind].get("input", "")
        end = choice.finish_reason or end
    made = [call.to_dict()[call.type] for call in whole.message.tool_calls or []]
    assert [{"name": c["name"], "given": c.get("arguments", c.get("input"))} for c in made] == calls
    assert (whole.message.content or "") == content
    assert (whole.message.content is None) is (bool(calls) and not content)
    assert whole.finish_reason == end
    return whole


def response_of(client: openai.OpenAI, tools: Any, **fields: Any) -> Any:
    """An answer, whole; the stream of the same request tells the same, each delta in its item."""
    asked: Any = {"model": "scripted", "input": "hi", "tools": tools, "extra_body": {"seed": 5}, **fields}
    whole = client.responses.create(**asked)
    deltas: dict[str, str] = {}
    done: list[Any] = []
    for event in client.responses.create(**asked, stream=True):
        told: Any = event
        if event.type.endswith(".delta"):
            deltas[told.item_id] = deltas.get(told.item_id, "") + told.delta
        elif event.type in ("response.function_call_arguments.done", "response.custom_tool_call_input.done"):
            given = told.arguments if "function" in event.type else told.input
            assert given == deltas.get(told.item_id, "")
        elif event.type == "response.output_item.done":
            assert told.output_index == len(done)
            done.append(told.item)
    assert [_without_ids(item) for item in done] == [_without_ids(item) for item in whole.output]
    assert told.response.output == done
    return whole


def _without_ids(item: Any) -> Any:
    return {name: value for name, value in item.to_dict().items() if name not in ("id", "call_id")}


def message_of(claude: anthropic.Anthropic, choice: Any, **fields: Any) -> Any:
    """A message, whole; the client's own helper puts the same together from the stream."""
    asked: Any = {
        "model": "scripted",
        "messages": TURNS,
        "max_tokens": 150,
        "tools": ANTHROPIC_TOOLS,
        "tool_choice": choice,
        "extra_body": {"seed": 5},
        **fields,
    }
    whole = claude.messages.create(**asked)
    with claude.messages.stream(**asked) as stream:
        streamed = stream.get_final_message()
    assert [_block(block) for block in streamed.content] == [_block(block) for block in whole.content]
    assert streamed.stop_reason == whole.stop_reason
    return whole


def _block(block: Any) -> Any:
    return (block.name, block.input) if block.type == "tool_use" else block.text
