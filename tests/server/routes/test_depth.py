"""Depth of what answers repeat and tell: as deep as a body may be, and numbers as they were written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from server.protocol.tools.turns import NESTING
from server.settings import Settings
from tests.server.engines.scripts import follow
from tests.server.routes.tools import TURNS
from tests.server.running import JSON, STOP, VOCABULARY, Running, serving

LEVELS = 480
TREE: Any = {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"type": "number"}}}


def nested(levels: int) -> Any:
    """Objects in each other."""
    value: Any = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def events(text: str) -> list[Any]:
    """Data of a stream's events."""
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: {")]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"metadata": nested(LEVELS)}, "metadata"),
        (
            {
                "tools": [{"type": "function", "name": "f", "parameters": {"default": nested(LEVELS)}}],
                "tool_choice": "none",
            },
            "tools",
        ),
        ({"text": {"format": {"type": "json_schema", "schema": {"default": nested(200)}}}}, "text"),
    ],
    ids=["metadata", "tools", "text"],
)
def test_what_is_told_again_may_be_as_deep_as_a_body(running: Running, fields: dict[str, Any], told: str) -> None:
    """A response repeats it whole, and so does each event that holds the response."""
    asked = {"input": "hi", "max_output_tokens": 60, **fields}
    whole = running.client.post("/v1/responses", json=asked)
    assert whole.status_code == 200
    assert whole.json()[told] == fields[told]
    streamed = events(running.client.post("/v1/responses", json={**asked, "stream": True}).text)
    responses = [event["response"] for event in streamed if "response" in event]
    assert len(responses) == 3
    assert all(response[told] == fields[told] for response in responses)


@pytest.mark.parametrize(
    ("member", "param"),
    [
        ('"metadata":{"a":[1e999]}', "metadata"),
        ('"tools":[{"type":"function","name":"f","parameters":{"default":-1e999}}],"tool_choice":"none"', "tools.0"),
    ],
)
@pytest.mark.parametrize("stream", ["false", "true"])
def test_numbers_that_json_can_not_have_are_refused(running: Running, member: str, param: str, stream: str) -> None:
    """1e999 would be told as infinity, or as null."""
    body = f'{{"input":"hi","stream":{stream},{member}}}'
    refused = running.client.post("/v1/responses", content=body, headers=JSON)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["param"]) == (400, "invalid_value", param)


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
def test_such_a_number_in_a_call_is_named_as_it_was_sent(running: Running, path: str) -> None:
    """A call that is given back is blamed by its place in the client's own words."""
    content = '[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"f","input":{"a":1e999}}]'
    most = '"max_tokens":9,' if path == "/v1/messages" else ""
    turns = (
        f'[{{"role":"user","content":"a"}},{{"role":"assistant","content":{content}}},{{"role":"user","content":"b"}}]'
    )
    refused = running.client.post(path, content=f'{{{most}"model":"scripted","messages":{turns}}}', headers=JSON)
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["param"]) == (400, "invalid_value", "messages.1.content.1.input")


@pytest.fixture(scope="module")
def caller() -> Iterator[tuple[Running, str]]:
    """A server whose model calls a tool with deep arguments, and the text of these."""
    given = '{"a":' * (LEVELS - 1) + '{"b": 1E40, "c": 12345678901234567890}' + "}" * (LEVELS - 1)
    text = f'<tool_call>\n{{"name": "f", "arguments": {given}}}\n</tool_call>'
    with serving(follow(VOCABULARY.size, [*text.encode(), STOP], STOP), context_window=16_384) as server:
        yield server, given


def test_a_call_is_told_however_deep(caller: tuple[Running, str]) -> None:
    """A whole message has the input of the stream's, to the letter; the turn can be given back."""
    server, given = caller
    tools = [{"name": "f", "input_schema": TREE}]
    asked: Any = {"messages": TURNS, "tools": tools, "max_tokens": 8_000, "temperature": 0}
    whole = server.client.post("/v1/messages", json=asked)
    assert whole.status_code == 200, whole.text
    assert f'"input":{given}' in whole.text
    streamed = events(server.client.post("/v1/messages", json={**asked, "stream": True}).text)
    deltas = [event["delta"] for event in streamed if event["type"] == "content_block_delta"]
    assert "".join(delta["partial_json"] for delta in deltas) == given
    call = {"type": "tool_use", "id": "t", "name": "f", "input": nested(LEVELS)}
    turns = [
        *TURNS,
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
    ]
    assert server.client.post("/v1/messages", json={**asked, "messages": turns, "max_tokens": 1}).status_code == 200


def test_a_call_is_given_back_as_deep_as_a_body(running: Running) -> None:
    """One level more is refused, with the number."""
    assert Settings().body_nesting == NESTING

    def status(levels: int) -> tuple[int, str]:
        text = '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1)
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
        answer = running.chat(messages=[{"role": "assistant", "tool_calls": [call]}, *TURNS], max_tokens=1)
        return answer.status_code, answer.text

    assert status(NESTING)[0] == 200
    refused, message = status(NESTING + 1)
    assert refused == 400
    assert f"the text is nested more than {NESTING} levels deep" in message
