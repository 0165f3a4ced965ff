"""Requests for tools as frameworks send them by default, and loops of two turns by official clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.responses import CustomToolParam
from pydantic import BaseModel, Field

from tests.server.engines.scripts import seeded
from tests.server.routes.tools import (
    ANTHROPIC_TOOLS,
    RESPONSES_TOOLS,
    TOOLS,
    TURNS,
)
from tests.server.running import VOCABULARY, Running, serving


@pytest.fixture
def client(running: Running) -> Iterator[openai.OpenAI]:
    with running.openai() as opened:
        yield opened


class City(BaseModel):
    """City, as frameworks ask for one."""

    name: str = Field(max_length=8)
    population: int = Field(ge=0, le=99_999)


FRAMEWORKS: dict[str, dict[str, Any]] = {
    "openai pydantic_function_tool": {
        "tools": [openai.pydantic_function_tool(City)],
        "tool_choice": "required",
    },
    "instructor TOOLS": {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "City",
                    "description": "Correctly extracted `City` with all the required parameters with correct types",
                    "parameters": {
                        "properties": City.model_json_schema()["properties"],
                        "required": ["name", "population"],
                        "type": "object",
                    },
                },
            }
        ],
        "tool_choice": {"type": "function", "function": {"name": "City"}},
    },
    "pydantic-ai ToolOutput": {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "final_result",
                    "description": "The final response which ends this conversation",
                    "parameters": {**City.model_json_schema(), "additionalProperties": False},
                    "strict": True,
                },
            }
        ],
        "tool_choice": "required",
        "parallel_tool_calls": True,
        "stream": False,
        "n": 1,
    },
    "LangChain function_calling": {
        "tools": [{"type": "function", "function": {"name": "City", "parameters": City.model_json_schema()}}],
        "tool_choice": {"type": "function", "function": {"name": "City"}},
        "parallel_tool_calls": False,
    },
    "LangChain bind_tools": {
        "tools": [{"type": "function", "function": {"name": "City", "parameters": City.model_json_schema()}}],
        "tool_choice": "required",
    },
    "llama-index as_structured_llm": {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "City",
                    "description": "City, as frameworks ask for one.",
                    "parameters": City.model_json_schema(),
                },
            }
        ],
        "tool_choice": "required",
        "parallel_tool_calls": False,
    },
    "AI SDK tools": {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "City",
                    "parameters": {
                        "$schema": "http://json-schema.org/draft-07/schema#",
                        **{name: part for name, part in City.model_json_schema().items() if name != "title"},
                        "additionalProperties": False,
                    },
                },
            }
        ],
        "tool_choice": "required",
    },
}
"""Requests as frameworks send them by default."""


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_frameworks_by_their_defaults(running: Running, name: str) -> None:
    """Each request is answered by one call or more, whose arguments are a city."""
    for seed in range(3):
        answer = running.chat(**FRAMEWORKS[name], max_tokens=160, seed=seed)
        assert answer.status_code == 200, answer.text
        choice = answer.json()["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        for call in choice["message"]["tool_calls"]:
            City.model_validate_json(call["function"]["arguments"])


def test_parse_of_openais_client(client: openai.OpenAI) -> None:
    """The client's own helper reads arguments into the model that the tool was made of."""
    tool = openai.pydantic_function_tool(City)
    asked: Any = {"model": "scripted", "messages": TURNS, "tools": [tool], "tool_choice": "required"}
    answer = client.chat.completions.parse(**asked, max_tokens=160)
    assert all(isinstance(call.function.parsed_arguments, City) for call in answer.choices[0].message.tool_calls or [])
    ids = [call.id for call in answer.choices[0].message.tool_calls or []]
    asked["messages"] = [
        *TURNS,
        answer.choices[0].message,
        *({"role": "tool", "tool_call_id": i, "content": ""} for i in ids),
    ]
    with client.chat.completions.stream(**asked, max_tokens=160) as stream:
        final = stream.get_final_completion().choices[0].message
    assert all(isinstance(call.function.parsed_arguments, City) for call in final.tool_calls or [])


def test_a_loop_of_chats() -> None:
    """Two turns: the model calls, reads the result, calls again, and is told of all of it by the template."""
    seen: list[Any] = []
    with serving(seeded(VOCABULARY.size, 4)) as server, server.openai() as client:
        encode = server.engine.encode
        server.engine.encode = lambda messages, *rest: seen.append((messages, rest)) or encode(messages, *rest)  # type: ignore
        messages = list(TURNS)
        for turn in range(2):
            choice = client.chat.completions.create(
                model="scripted", messages=messages, tools=TOOLS, tool_choice="required", max_tokens=150, seed=turn
            ).choices[0]
            messages.append(choice.message.to_dict())
            ids = [call.id for call in choice.message.tool_calls or []]
            messages += [{"role": "tool", "tool_call_id": call_id, "content": f"result {turn}"} for call_id in ids]
        client.chat.completions.create(model="scripted", messages=messages, tools=TOOLS, max_tokens=20)
    told, (_, rendering) = seen[-1]
    assert [turn["role"] for turn in told if turn["role"] != "tool"] == ["user", "assistant", "assistant"]
    results = [turn for turn in told if turn["role"] == "tool"]
    calls = [call for turn in told for call in turn.get("tool_calls", ())]
    assert [result["tool_call_id"] for result in results] == [call["id"] for call in calls]
    assert [result["name"] for result in results] == [call["function"]["name"] for call in calls]
    assert all(isinstance(call["function"]["arguments"], dict) for call in calls)
    assert [tool["function"]["name"] for tool in rendering.tools] == ["weather", "now"]


def test_a_loop_of_messages() -> None:
    """Two turns by Anthropic's client, results in blocks of the user's."""
    seen: list[Any] = []
    with serving(seeded(VOCABULARY.size, 4)) as server, server.anthropic() as claude:
        encode = server.engine.encode
        server.engine.encode = lambda messages, *rest: seen.append((messages, rest)) or encode(messages, *rest)  # type: ignore
        messages: Any = list(TURNS)
        asked: Any = {"model": "scripted", "max_tokens": 150, "tools": ANTHROPIC_TOOLS}
        for turn in range(2):
            message = claude.messages.create(
                **asked, messages=messages, tool_choice={"type": "any"}, extra_body={"seed": turn}
            )
            messages.append({"role": "assistant", "content": [block.to_dict() for block in message.content]})
            uses: list[Any] = [block for block in message.content if block.type == "tool_use"]
            text = [{"type": "text", "text": f"result {turn}"}]
            results = [{"type": "tool_result", "tool_use_id": use.id, "content": text} for use in uses]
            messages.append({"role": "user", "content": [*results, {"type": "text", "text": "go on"}]})
        counted = claude.messages.count_tokens(model="scripted", messages=messages, tools=ANTHROPIC_TOOLS)
        claude.messages.create(**asked, messages=messages)
    (first, rest), (second, others) = seen[-2:]
    assert (first, rest[-1].tools) == (second, others[-1].tools)
    assert counted.input_tokens > 0
    results = [turn for turn in first if turn["role"] == "tool"]
    calls = [call for turn in first for call in turn.get("tool_calls", ())]
    assert [result["tool_call_id"] for result in results] == [call["id"] for call in calls]
    assert [turn["content"] for turn in first if turn["role"] == "user"] == ["hi", "go on", "go on"]


def test_a_loop_of_responses(client: openai.OpenAI) -> None:
    """Items of an answer are given back with their outputs, of custom tools too."""
    flat: CustomToolParam = {"type": "custom", "name": "say"}
    items: Any = [{"role": "user", "content": "hi"}]
    for choice in ("required", {"type": "custom", "name": "say"}):
        asked: Any = {"tools": [*RESPONSES_TOOLS, flat], "tool_choice": choice, "max_output_tokens": 100}
        answer = client.responses.create(model="scripted", input=items, **asked)
        for item in answer.output:
            items.append(item.to_dict())
            kind = item.type.replace("call", "call_output")
            items.append({"type": kind, "call_id": item.call_id, "output": "done"})
    assert client.responses.create(
        model="scripted", input=items, tools=[*RESPONSES_TOOLS, flat], max_output_tokens=5
    ).output


def test_an_error_of_a_tool_is_told(running: Running) -> None:
    """The model reads that a tool has failed."""
    seen: list[Any] = []
    with serving() as server, server.anthropic() as claude:
        encode = server.engine.encode
        server.engine.encode = lambda messages, *rest: seen.extend(messages) or encode(messages, *rest)  # type: ignore
        use: Any = {"type": "tool_use", "id": "t", "name": "now", "input": {}}
        result: Any = {"type": "tool_result", "tool_use_id": "t", "content": "no clock", "is_error": True}
        turns: Any = [*TURNS, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
        claude.messages.create(model="scripted", messages=turns, tools=ANTHROPIC_TOOLS, max_tokens=2)
    assert seen[-1]["content"] == "Error: no clock"
