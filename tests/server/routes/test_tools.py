"""Tools over HTTP: calls, texts beside them, and both, on every interface, whole and as streams."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import anthropic
import jsonschema
import openai
import pytest

from server.settings import Settings
from tests.server.engines.scripts import follow, hostile
from tests.server.routes.tools import (
    CODE,
    PARAMETERS,
    RESPONSES_TOOLS,
    SQL,
    TOOLS,
    TURNS,
    check_calls,
    choice_of,
    message_of,
    response_of,
)
from tests.server.running import STOP, VOCABULARY, Running, error_of, schema_format, serving

NOW = {"type": "function", "function": {"name": "now"}}


@pytest.fixture
def client(running: Running) -> Iterator[openai.OpenAI]:
    with running.openai() as opened:
        yield opened


@pytest.fixture
def claude(running: Running) -> Iterator[anthropic.Anthropic]:
    with running.anthropic() as opened:
        yield opened


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "function", "function": {"name": "weather"}},
        {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NOW]}},
    ],
    ids=str,
)
def test_calls_of_a_chat(client: openai.OpenAI, choice: Any, seed: int) -> None:
    """Arguments satisfy their schemas, whole and as a stream."""
    found = choice_of(client, tool_choice=choice, seed=seed)
    assert found.finish_reason == "tool_calls"
    assert found.message.content is None
    check_calls(found.message.tool_calls)
    if choice != "required":
        expected = "weather" if choice["type"] == "function" else "now"
        assert {call.function.name for call in found.message.tool_calls} == {expected}


def test_text_beside_tools(client: openai.OpenAI) -> None:
    """An answer may be a text, that ends by itself or at the limit: then it is `length`, and nothing is certified."""
    ended = choice_of(client, seed=1)
    assert (ended.finish_reason, ended.message.tool_calls) == ("stop", None)
    answer = client.chat.completions.create(model="scripted", messages=TURNS, max_tokens=2, seed=1, tools=TOOLS)
    assert answer.choices[0].finish_reason == "length"
    assert answer.swyb["complete"] is None  # type: ignore[attr-defined]
    asked: Any = {"model": "scripted", "messages": TURNS, "tools": TOOLS, "tool_choice": "none"}
    none = client.chat.completions.create(**asked, max_tokens=2)
    assert none.swyb["min_tokens"] is None


CALLING = b'<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
AGAIN = CALLING + b'\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'


def test_text_and_then_calls() -> None:
    """A model that says a text and then calls two tools is told so, by each interface."""
    with serving(follow(VOCABULARY.size, [*b"One moment.\n", *AGAIN], STOP)) as server:
        with server.openai() as client:
            found = choice_of(client, temperature=0, max_tokens=400)
            assert (found.message.content, found.finish_reason) == ("One moment.", "tool_calls")
            assert [call.function.arguments for call in found.message.tool_calls] == ['{"city": "Rome"}', "{}"]
            items: Any = response_of(
                client, RESPONSES_TOOLS, max_output_tokens=400, extra_body={"temperature": 0}
            ).output
            assert [item.type for item in items] == ["message", "function_call", "function_call"]
            single = choice_of(client, temperature=0, max_tokens=400, parallel_tool_calls=False)
            assert [call.function.name for call in single.message.tool_calls] == ["weather"]
        with server.anthropic() as claude:
            message = message_of(claude, {"type": "auto"}, max_tokens=400, extra_body={"temperature": 0})
            assert [block.type for block in message.content] == ["text", "tool_use", "tool_use"]
            assert message.content[1].input == {"city": "Rome"}


def test_calls_that_have_begun_are_finished() -> None:
    """Whatever the budget, a call that a model wants is complete, or isn't begun."""
    least = None
    with serving(follow(VOCABULARY.size, [*b"So: ", *AGAIN], STOP)) as server, server.openai() as client:
        for budget in range(1, 140, 3):
            answer = client.chat.completions.create(
                model="scripted", messages=TURNS, max_tokens=budget, temperature=0, tools=TOOLS
            )
            calls = answer.choices[0].message.tool_calls
            assert answer.choices[0].finish_reason == ("tool_calls" if calls else "length")
            assert (least is None) or calls
            if calls:
                least = least or budget
                check_calls(calls)
                assert answer.swyb["complete"] is True  # type: ignore[attr-defined]
    assert least is not None


@pytest.mark.parametrize("interface", ["chat", "responses"])
@pytest.mark.parametrize(("tool", "pattern"), [(SQL, r"SELECT [ab](, [ab])*"), (CODE, "[A-Z]{3}")])
def test_custom_tools(client: openai.OpenAI, interface: str, tool: Any, pattern: str) -> None:
    """A custom tool gets a text of its grammar."""
    name = tool["custom"]["name"]
    for seed in range(3):
        if interface == "chat":
            choice = {"type": "custom", "custom": {"name": name}}
            found = choice_of(client, tools=[*TOOLS, tool], tool_choice=choice, seed=seed, max_tokens=60)
            [call] = found.message.tool_calls
            given, told = call.custom.input, call.custom.name
        else:
            grammar = tool["custom"]["format"]["grammar"]
            flat = {"type": "custom", "name": name, "format": {"type": "grammar", **grammar}}
            asked = [*RESPONSES_TOOLS, flat]
            fields: Any = {"extra_body": {"seed": seed}, "tool_choice": {"type": "custom", "name": name}}
            [item] = response_of(client, asked, max_output_tokens=60, **fields).output
            given, told = item.input, item.name
        assert told == name
        assert re.fullmatch(pattern, given)


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "weather"}], ids=str)
def test_calls_of_responses(client: openai.OpenAI, choice: Any) -> None:
    """Each call is an item of its own, and the answer says what it was asked."""
    for seed in range(3):
        fields: Any = {"tool_choice": choice, "max_output_tokens": 150, "extra_body": {"seed": seed}}
        answer = response_of(client, RESPONSES_TOOLS, **fields)
        assert (answer.status, len(answer.tools)) == ("completed", 2)
        for item in answer.output:
            assert item.type == "function_call"
            jsonschema.validate(json.loads(item.arguments), PARAMETERS[item.name])


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "weather"}], ids=str)
def test_calls_of_messages(claude: anthropic.Anthropic, choice: Any) -> None:
    """Each call is a block of its own, whose input satisfies its schema."""
    for seed in range(3):
        message = message_of(claude, choice, extra_body={"seed": seed})
        assert message.stop_reason == "tool_use"
        for block in message.content:
            jsonschema.validate(block.input, PARAMETERS[block.name])
        single = {**choice, "disable_parallel_tool_use": True}
        assert len(message_of(claude, single, extra_body={"seed": seed}).content) == 1


def test_a_text_beside_tools_of_messages(claude: anthropic.Anthropic) -> None:
    """A text that the limit cuts is `max_tokens`, one without tools called is a block of text."""
    assert message_of(claude, {"type": "auto"}, max_tokens=2).stop_reason == "max_tokens"
    assert message_of(claude, {"type": "none"}, max_tokens=2).content[0].type == "text"


def test_functions_of_old(client: openai.OpenAI) -> None:
    """`functions` are called in `function_call`, whole and as a stream."""
    functions: Any = [tool["function"] for tool in TOOLS]
    for choice, names in (({"name": "weather"}, {"weather"}), ("auto", {"weather", "now"})):
        asked: Any = {"model": "scripted", "messages": TURNS, "functions": functions, "function_call": choice}
        answer = client.chat.completions.create(**asked, max_tokens=150, seed=5).choices[0]
        if choice == "auto" and answer.message.function_call is None:
            assert answer.finish_reason == "stop"
            continue
        assert answer.finish_reason == "function_call"
        called: Any = answer.message.function_call
        assert called.name in names
        jsonschema.validate(json.loads(called.arguments), PARAMETERS[called.name])
        chunks = list(client.chat.completions.create(**asked, max_tokens=150, seed=5, stream=True))
        deltas = [chunk.choices[0].delta.function_call for chunk in chunks if chunk.choices[0].delta.function_call]
        assert "".join(delta.arguments or "" for delta in deltas) == called.arguments
        assert deltas[0].name == called.name
        assert chunks[-1].choices[0].finish_reason == "function_call"


def test_json_or_calls(client: openai.OpenAI) -> None:
    """`response_format` is about the text beside calls: an answer satisfies the schema, or is calls."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    ends = set()
    for seed in range(6):
        found = choice_of(client, response_format=schema_format(schema), seed=seed, logit_bias={str(ord("<")): 3})
        ends.add(found.finish_reason)
        if found.message.tool_calls:
            check_calls(found.message.tool_calls)
        else:
            jsonschema.validate(json.loads(found.message.content), schema)
    assert ends == {"stop", "tool_calls"}


@pytest.mark.parametrize("budget", [64, 128])
def test_hostile_models_over_http(budget: int) -> None:
    """A model that never closes anything writes valid calls within the budget, by beams too."""
    with serving(hostile(VOCABULARY.size, [*b'"{[<'])) as server, server.openai() as client:
        for width in (1, 2):
            answer = client.chat.completions.create(
                **{"model": "scripted", "messages": TURNS, "tools": TOOLS, "tool_choice": "required"},
                max_tokens=budget,
                extra_body={"swyb": {"beam_width": width}},
            )
            assert answer.usage is not None
            assert answer.usage.completion_tokens <= budget
            check_calls(answer.choices[0].message.tool_calls or [])


def test_the_operators_form() -> None:
    """The operator's form is the one in which calls are written."""
    with serving(settings=Settings(tool_form="mistral_args")) as server:
        refused = error_of(server.chat(tools=TOOLS[1:], tool_choice="required", max_tokens=3))
        assert refused["example"] == "[TOOL_CALLS]now[ARGS]{}"
