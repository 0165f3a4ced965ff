"""`/v1/responses` by the official client: create, stream, parse, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import openai
import pytest
from pydantic import BaseModel

from tests.server.examples import belongs
from tests.server.running import SCHEMA, Running, error_of, serving

FORMAT: Any = {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}}


class Person(BaseModel):
    name: str
    kind: Literal["a", "b"]


@pytest.fixture
def client(running: Running) -> Iterator[openai.OpenAI]:
    with running.openai() as opened:
        yield opened


def test_the_response_has_the_shape_of_openai(client: openai.OpenAI) -> None:
    """The response has its text, usage, state, and what was asked for; store is left out, as the client does by
    default.
    """
    answer = client.responses.create(
        model="scripted", input="hi", instructions="be brief", max_output_tokens=60, text=FORMAT, metadata={"a": "b"}
    )
    assert answer.id.startswith("resp_")
    assert (answer.object, answer.status, answer.model) == ("response", "completed", "scripted")
    assert belongs("schema", answer.output_text)
    assert (answer.instructions, answer.metadata, answer.max_output_tokens) == ("be brief", {"a": "b"}, 60)
    assert (answer.error, answer.incomplete_details, answer.tools) == (None, None, [])
    assert answer.text is not None
    assert answer.text.to_dict() == {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}}
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens
    assert answer.swyb["complete"] is True  # type: ignore[attr-defined]


def test_parse(client: openai.OpenAI) -> None:
    """The client's own helper reads the answer into the model that it asked for."""
    for _ in range(3):
        answer = client.responses.parse(model="scripted", input="hi", text_format=Person, max_output_tokens=40)
        assert isinstance(answer.output_parsed, Person)


def test_the_limit_makes_it_incomplete(client: openai.OpenAI) -> None:
    answer = client.responses.create(model="scripted", input="hi", max_output_tokens=4, extra_body={"seed": 1})
    assert answer.status == "incomplete"
    assert answer.incomplete_details is not None
    assert answer.incomplete_details.reason == "max_output_tokens"
    assert answer.output[0].status == "incomplete"  # type: ignore[union-attr]


ORDER = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
]


@pytest.mark.parametrize(("text", "end"), [(FORMAT, "response.completed"), ({}, "response.incomplete")])
def test_events_come_in_openais_order(client: openai.OpenAI, text: Any, end: str) -> None:
    """Numbered from 0; what they repeat is the same each time."""
    events: Any = list(
        client.responses.create(
            model="scripted", input="hi", text=text, max_output_tokens=30, stream=True, extra_body={"seed": 1}
        )
    )
    kinds = [event.type for event in events]
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind] == [*ORDER, end]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    created, (done, part, item, last) = events[0], events[-4:]
    assert (created.response.status, created.response.output) == ("in_progress", [])
    assert "".join(deltas) == done.text == part.part.text == item.item.content[0].text == last.response.output_text
    assert {event.item_id for event in events if hasattr(event, "item_id")} == {item.item.id}
    assert created.response.id == last.response.id
    assert last.response.usage.output_tokens == last.response.swyb["tokens_used"]


def test_the_stream_helper(client: openai.OpenAI) -> None:
    """The client's helper for streams parses what it was asked for."""
    with client.responses.stream(model="scripted", input="hi", text_format=Person, max_output_tokens=40) as stream:
        for _ in stream:
            pass
        assert isinstance(stream.get_final_response().output_parsed, Person)


def test_a_failure_is_an_event_of_its_own(failing: Running) -> None:
    """The client sees a response that failed, and why."""
    with failing.openai() as client:
        events: Any = list(
            client.responses.create(
                model="scripted",
                input="hi",
                stream=True,
                extra_body={"response_format": {"type": "regex", "regex": "[ab]{9}"}},
            )
        )
    assert (events[-1].type, events[-1].response.status) == ("response.failed", "failed")
    assert events[-1].response.error.code == "server_error"
    assert events[-1].response.error.type == "engine_error"


def test_items_of_a_conversation() -> None:
    """Turns of all shapes, an answer given back among them; instructions stand before them."""
    seen: list[Any] = []
    with serving() as server, server.openai() as client:
        encode = server.engine.encode
        server.engine.encode = lambda messages, *rest: seen.extend(messages) or encode(messages, *rest)  # type: ignore
        first = client.responses.create(model="scripted", input="a", max_output_tokens=3, extra_body={"seed": 1})
        seen.clear()
        items: Any = [
            {"role": "developer", "content": "b"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "c"}] * 2},
            *first.to_dict()["output"],  # type: ignore[misc]
            {"role": "user", "content": "d"},
        ]
        client.responses.create(model="scripted", input=items, instructions="i", max_output_tokens=3)
    assert [(message["role"], message["content"]) for message in seen] == [
        ("system", "i"),
        ("system", "b"),
        ("user", "cc"),
        ("assistant", first.output_text),
        ("user", "d"),
    ]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"store": True}, "store"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "c"}, "conversation"),
        ({"background": True}, "background"),
        ({"truncation": "auto"}, "truncation"),
        ({"tools": [{"type": "web_search"}]}, "tools.0"),
        ({"include": ["message.output_text.logprobs"]}, "include"),
        ({"input": [{"type": "item_reference", "id": "i"}]}, "input.0"),
        ({"extra_body": {"n": 2, "temperature": 1.0}}, "n"),
    ],
    ids=str,
)
def test_what_is_not_done_is_refused(client: openai.OpenAI, fields: dict[str, Any], param: str) -> None:
    """A field that asks for what is not done is refused by name; the error is the client's own type."""
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**{"model": "scripted", "input": "hi", **fields})
    assert (caught.value.code, caught.value.param) == ("unsupported_parameter", param)


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"max_output_tokens": 1, "text": FORMAT}, "max_output_tokens", "budget_too_small"),
        ({"max_output_tokens": 5, "max_tokens": 5}, "max_output_tokens", "conflicting_parameters"),
        ({"text": FORMAT, "response_format": {"type": "json_object"}}, "text.format", "conflicting_parameters"),
        ({"text": FORMAT, "grammar": 'root ::= "a"'}, "grammar", "conflicting_parameters"),
        (
            {"text": {"format": {"type": "json_schema", "schema": {"type": "no"}}}},
            "text.format.schema",
            "invalid_grammar",
        ),
        (
            {"text": {"format": {"type": "json_schema", "schema": {}, "name": 1}}},
            "text.format.name",
            "invalid_value",
        ),
        ({"text": {"format": {"type": "grammar"}}}, "text.format.grammar", "missing_parameter"),
        ({"text": {"format": {"type": "json_schema", "name": "n"}}}, "text.format.schema", "missing_parameter"),
        ({"text": {"verbosity": "low"}}, "text.verbosity", "invalid_value"),
        ({"input": []}, "input", "invalid_value"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
            "input.0.content",
            "unsupported_parameter",
        ),
        ({"input": [{"role": "nobody", "content": "x"}]}, "input.0.role", "invalid_value"),
        ({"input": None}, "input", "missing_parameter"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_errors_name_the_fields_that_were_sent(
    running: Running, fields: dict[str, Any], param: str, code: str | None
) -> None:
    """Errors have this interface's names, in the message too."""
    refused = running.client.post("/v1/responses", json={"input": "hi", **fields})
    error = error_of(refused)
    assert (refused.status_code, error["param"]) == (400, param)
    assert code in (None, error["code"])
    assert "response_format.json_schema" not in json.dumps(error)


def test_arguments_of_calls_are_named_as_they_were_sent(client: openai.OpenAI) -> None:
    """The path is that of the item, not of the turn that it becomes part of."""
    items: Any = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "x"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "nope"},
    ]
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model="scripted", input=items)
    assert (caught.value.code, caught.value.param) == ("invalid_value", "input.2.arguments")
    assert "the text is not a JSON text: Expecting value" in caught.value.message


def test_reasoning_is_asked_for_and_given_back_as_with_openai() -> None:
    """Thoughts are neither encrypted nor summed up here: what asks for that is taken, and what has it is read."""
    seen: list[Any] = []
    with serving() as server, server.openai() as client:
        encode = server.engine.encode
        server.engine.encode = lambda messages, *rest: seen.extend(messages) or encode(messages, *rest)  # type: ignore
        items: Any = [
            {"role": "user", "content": "a"},
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "e"},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"},
            {"type": "reasoning", "id": "s", "summary": [{"type": "summary_text", "text": "d"}] * 2},
            {"role": "assistant", "content": "f"},
            {"role": "user", "content": "g"},
        ]
        for summary in ("concise", "detailed"):
            asked: Any = {"include": ["reasoning.encrypted_content"], "reasoning": {"summary": summary}}
            answer = client.responses.create(model="scripted", input=items, max_output_tokens=3, **asked)
            assert [item.type for item in answer.output] == ["message"]
    told = [(message["role"], message["content"], message.get("reasoning_content")) for message in seen]
    turns = [("user", "a", None), ("assistant", "b", None), ("user", "c", None), ("assistant", "f", "dd")]
    assert told == [*turns, ("user", "g", None)] * 2
