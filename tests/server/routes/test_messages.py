"""`/v1/messages` by Anthropic's client: create, stream, parse, count, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import anthropic
import httpx
import pytest
from pydantic import BaseModel

from server.settings import Settings
from tests.server.engines.scripts import follow
from tests.server.examples import belongs
from tests.server.running import SCHEMA, STOP, VOCABULARY, Running, serving

FORMAT: Any = {"format": {"type": "json_schema", "schema": SCHEMA}}
TURNS: Any = [{"role": "user", "content": "hi"}]
TOOL: Any = {"name": "f", "input_schema": {"type": "object"}}
DIRECT = {"type": "direct"}
USE: Any = {"type": "tool_use", "id": "t", "name": "f", "input": {}}


class Person(BaseModel):
    name: str
    kind: Literal["a", "b"]


@pytest.fixture
def client(running: Running) -> Iterator[anthropic.Anthropic]:
    with running.anthropic() as opened:
        yield opened


def test_the_response_has_the_shape_of_anthropic(client: anthropic.Anthropic) -> None:
    answer = client.messages.create(model="scripted", messages=TURNS, max_tokens=60, output_config=FORMAT)
    [block] = answer.content
    assert answer.id.startswith("msg_")
    assert (answer.type, answer.role, answer.model) == ("message", "assistant", "scripted")
    assert (answer.stop_reason, answer.stop_sequence) == ("end_turn", None)
    assert block.type == "text"
    assert belongs("schema", block.text)
    assert answer.usage.input_tokens == 2
    assert answer.usage.output_tokens == answer.swyb["tokens_used"]  # type: ignore[attr-defined]
    assert answer._request_id


def test_parse(client: anthropic.Anthropic) -> None:
    """The client's own helper reads the answer into the model that it asked for."""
    for _ in range(3):
        answer = client.messages.parse(model="scripted", messages=TURNS, max_tokens=40, output_format=Person)
        assert isinstance(answer.parsed_output, Person)


def test_the_older_name_of_the_format(client: anthropic.Anthropic) -> None:
    answer: Any = client.messages.create(
        model="scripted", messages=TURNS, max_tokens=60, extra_body={"output_format": FORMAT["format"]}
    )
    assert belongs("schema", answer.content[0].text)


def test_why_an_answer_ends() -> None:
    """An answer ends by itself, by the limit, or by a stop sequence, which is named and no part of the text."""
    words = [*b"one two END", STOP]
    with serving(follow(VOCABULARY.size, words, STOP)) as server, server.anthropic() as client:

        def ended(**fields: Any) -> tuple[str | None, str | None, str]:
            asked: Any = {"model": "scripted", "messages": TURNS, "extra_body": {"temperature": 0}, **fields}
            answer: Any = client.messages.create(**asked)
            with client.messages.stream(**asked) as stream:
                streamed: Any = stream.get_final_message()
            told = (answer.stop_reason, answer.stop_sequence, answer.content[0].text)
            assert told == (streamed.stop_reason, streamed.stop_sequence, streamed.content[0].text)
            return told

        assert ended(max_tokens=40) == ("end_turn", None, "one two END")
        assert ended(max_tokens=5) == ("max_tokens", None, "one t")
        assert ended(max_tokens=40, stop_sequences=["x", "tw"]) == ("stop_sequence", "tw", "one ")
        assert ended(max_tokens=40, stop_sequences=["END"]) == ("stop_sequence", "END", "one two ")


def test_events_come_in_anthropics_order(client: anthropic.Anthropic) -> None:
    """The last one has the certificate; the helper puts the same message together."""
    asked: Any = {"model": "scripted", "messages": TURNS, "max_tokens": 60, "output_config": FORMAT}
    whole = client.messages.create(**asked, extra_body={"seed": 1})
    events: Any = list(client.messages.create(**asked, stream=True, extra_body={"seed": 1}))
    kinds = [event.type for event in events]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert set(kinds[2:-3]) - {"ping"} == {"content_block_delta"}
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert events[-1].swyb == whole.swyb
    assert events[0].message.usage.input_tokens == whole.usage.input_tokens
    with client.messages.stream(**asked, extra_body={"seed": 1}) as stream:
        text = "".join(stream.text_stream)
        message = stream.get_final_message()
    assert [text] == [block.text for block in message.content] == [block.text for block in whole.content]  # type: ignore[union-attr]
    assert message.usage.output_tokens == whole.usage.output_tokens


def test_a_failure_of_a_stream_is_the_clients_own_error(failing: Running) -> None:
    with failing.anthropic() as client:
        stream = client.messages.create(
            model="scripted",
            messages=TURNS,
            max_tokens=20,
            stream=True,
            extra_body={"response_format": {"type": "regex", "regex": "[ab]{9}"}},
        )
        with pytest.raises(anthropic.APIStatusError) as caught:
            list(stream)
    assert caught.value.body["error"]["code"] == "engine_error"  # type: ignore[index]


def test_turns_and_the_system() -> None:
    """Texts and blocks, with marks for caches, which change nothing."""
    seen: list[Any] = []
    with serving() as server, server.anthropic() as client:
        encode = server.engine.encode
        server.engine.encode = lambda messages, *rest: seen.extend(messages) or encode(messages, *rest)  # type: ignore
        block: Any = {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}
        turns: Any = [
            {"role": "user", "content": [block, block]},
            {"role": "assistant", "content": "c"},
            {"role": "user", "content": "d"},
        ]
        asked: Any = {"model": "scripted", "messages": turns, "system": [block]}
        client.messages.create(**asked, max_tokens=2, metadata={"user_id": "u"}, thinking={"type": "disabled"})
        counted = client.messages.count_tokens(**asked)
    told = [("system", "b"), ("user", "bb"), ("assistant", "c"), ("user", "d")]
    assert [(message["role"], message["content"]) for message in seen] == told * 2
    assert counted.input_tokens == len("b\nbb\nc\nd")


def test_an_answer_continues_the_assistants_turn() -> None:
    """If that is the last one: the template leaves it open, for a count too."""
    seen: list[Any] = []
    turns: Any = [*TURNS, {"role": "assistant", "content": "{"}]
    with serving() as server, server.anthropic() as client:
        encode = server.engine.encode
        server.engine.encode = lambda *given: seen.append(given[2]) or encode(*given)  # type: ignore
        for messages in (turns, TURNS):
            client.messages.create(model="scripted", messages=messages, max_tokens=2)
            client.messages.count_tokens(model="scripted", messages=messages)
    told = [(rendering.continue_final, rendering.generation_prompt) for rendering in seen]
    assert told == [(True, False)] * 2 + [(False, True)] * 2


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/messages/count_tokens", {}),
        (
            "/v1/messages",
            {"max_tokens": 8, "tool_choice": {"type": "none"}, "fallbacks": []}
            | {"stop_sequences": [f"stop{number}" for number in range(64)]},
        ),
    ],
)
def test_what_changes_no_answer_is_accepted(running: Running, path: str, fields: dict[str, Any]) -> None:
    """Clients send these by default, and give back what answers of Anthropic's had."""
    hints = {"eager_input_streaming": True, "defer_loading": False, "allowed_callers": ["direct"]}
    turns = [
        *TURNS,
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}, {**USE, "caller": DIRECT}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
    ]
    body = {"messages": turns, "tools": [{**TOOL, **hints}], "context_management": {"edits": []}, **fields}
    assert running.client.post(path, json=body).status_code == 200


def test_examples_of_inputs_are_shown() -> None:
    """The template shows them in the schema, where they bind nothing."""
    seen: list[Any] = []
    with serving() as server:
        encode = server.engine.encode
        server.engine.encode = lambda *given: seen.extend(given[2].tools) or encode(*given)  # type: ignore
        body = {"messages": TURNS, "tools": [{**TOOL, "input_examples": [{"a": 1}]}], "max_tokens": 40}
        server.client.post("/v1/messages", json=body)
        server.client.post("/v1/messages/count_tokens", json={**body, "max_tokens": None})
    assert [tool["function"]["parameters"] for tool in seen] == [{"type": "object", "examples": [{"a": 1}]}] * 2


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"max_tokens": None}, "max_tokens", "missing_parameter"),
        ({"max_tokens": 1, "output_config": FORMAT}, "max_tokens", "budget_too_small"),
        ({"output_config": FORMAT, "output_format": FORMAT["format"]}, "output_format", "conflicting_parameters"),
        ({"output_config": FORMAT, "grammar": 'root ::= "a"'}, "grammar", "conflicting_parameters"),
        (
            {"output_config": {"format": {"type": "json_schema", "schema": {"type": 1}}}},
            "output_config.format.schema",
            "invalid_grammar",
        ),
        ({"output_config": {"effort": "none"}}, "output_config.effort", "invalid_value"),
        (
            {"output_config": {"effort": "low"}, "thinking": {"type": "adaptive"}, "reasoning_effort": "high"},
            *("output_config.effort", "conflicting_parameters"),
        ),
        ({"output_config": {"task_budget": {}}}, "output_config.task_budget", "unsupported_parameter"),
        ({"stop_sequences": ["a"] * 65}, "stop_sequences", "items_exceeded"),
        ({"stop_sequences": ["a" * 1_000] * 5}, "stop_sequences", "invalid_value"),
        ({"thread": {"type": "create"}}, "thread", "unsupported_parameter"),
        ({"context_management": {"edits": [{}]}}, "context_management", "unsupported_parameter"),
        ({"fallbacks": [{"model": "x"}]}, "fallbacks", "unsupported_parameter"),
        ({"tools": [{**TOOL, "defer_loading": True}]}, "tools.0.defer_loading", "unsupported_parameter"),
        ({"tools": [{**TOOL, "allowed_callers": ["x"]}]}, "tools.0.allowed_callers", "unsupported_parameter"),
        ({"tools": [{**TOOL, "x": 1}]}, "tools.0.x", "unknown_parameter"),
        ({"thinking": {"type": "enabled", "display": "updates"}}, "thinking.display", "invalid_value"),
        (
            {"messages": [{"role": "assistant", "content": [{**USE, "caller": {"type": "x"}}]}, *TURNS]},
            *("messages.0.content.0.caller", "unsupported_parameter"),
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "redacted_thinking", "data": "x"}]}]},
            *("messages.0.content", "invalid_value"),
        ),
        ({"stop_sequences": ["a"], "stop": "b"}, "stop_sequences", "conflicting_parameters"),
        ({"stop_sequences": ["a"], "output_config": FORMAT}, "stop_sequences", "conflicting_parameters"),
        ({"tools": [{"name": "bash", "type": "bash_20250124"}]}, "tools.0.type", "unsupported_parameter"),
        ({"thinking": {"type": "enabled", "budget_tokens": 0}}, "thinking.budget_tokens", "invalid_value"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image"}]}]},
            "messages.0.content",
            "unsupported_parameter",
        ),
        ({"messages": []}, "messages", "invalid_value"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_wrong_is_refused_in_anthropics_shape(
    client: anthropic.Anthropic, fields: dict[str, Any], param: str, code: str
) -> None:
    """Errors are the client's own type, by the names that were sent."""
    with pytest.raises(anthropic.BadRequestError) as caught:
        client.post("/v1/messages", body={"messages": TURNS, "max_tokens": 50, **fields}, cast_to=object)
    body: Any = caught.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "invalid_request_error")
    assert (body["error"]["param"], body["error"]["code"]) == (param, code)
    assert body["request_id"] == caught.value.request_id
    assert "response_format." not in body["error"]["message"]


def test_errors_are_the_clients_own_types(client: anthropic.Anthropic, running: Running) -> None:
    with pytest.raises(anthropic.NotFoundError):
        client.messages.create(model="claude", messages=TURNS, max_tokens=2)
    with pytest.raises(anthropic.NotFoundError):
        client.messages.count_tokens(model="claude", messages=TURNS)
    wrong = running.client.get("/v1/messages")
    assert (wrong.status_code, wrong.json()["type"]) == (405, "error")
    assert running.client.post("/v1/messages/batches", json={}).json()["error"]["type"] == "not_found_error"
    assert set(running.client.post("/v1/messagesx", json={}).json()) == {"error"}


def test_the_key_in_anthropics_header() -> None:
    """`x-api-key` opens as `Authorization` does, on every route; a wrong one is Anthropic's error here."""
    with serving(settings=Settings(api_key="k-1")) as server:
        with anthropic.Anthropic(base_url=server.base, api_key="k-1", max_retries=0) as client:
            client.messages.create(model="scripted", messages=TURNS, max_tokens=2)
        with (
            anthropic.Anthropic(base_url=server.base, api_key="k-2", max_retries=0) as client,
            pytest.raises(anthropic.AuthenticationError),
        ):
            client.messages.create(model="scripted", messages=TURNS, max_tokens=2)
        for headers, status in (
            ({"x-api-key": "k-1"}, 200),
            ({"x-api-key": "k-1", "authorization": "Bearer wrong"}, 200),
            ({"x-api-key": ""}, 401),
            ({}, 401),
        ):
            with httpx.Client(base_url=server.base, headers=headers) as other:
                assert other.get("/v1/models").status_code == status


def test_the_clients_runner_of_tools() -> None:
    """The runner calls what the model asks for, and gives back what came of it, without a conversation kept here."""
    given: list[int] = []

    @anthropic.beta_tool
    def add(a: int) -> str:
        """Adds one."""
        given.append(a)
        return str(a + 1)

    words = [*b'<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>', STOP]
    asked: Any = {"model": "scripted", "messages": TURNS, "max_tokens": 100, "tools": [add], "max_iterations": 2}
    with serving(follow(VOCABULARY.size, words, STOP)) as server, server.anthropic() as client:
        with pytest.raises(anthropic.BadRequestError, match="thread is not supported"):
            client.beta.messages.tool_runner(**asked).until_done()
        client.beta.messages.tool_runner(**asked, thread=False).until_done()
    assert given == [1, 1]
