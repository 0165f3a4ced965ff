"""Thoughts in the shapes of each interface, whole and streamed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from server.protocol.tools.turns import for_template
from server.protocol.translation.responses import chat_of_responses, parse_responses
from tests.server.engines.scripts import follow
from tests.server.examples import CONSTRAINTS, belongs
from tests.server.running import Running, error_of, request
from tests.server.thinking.engines import END, VOCABULARY, ThinkingEngine, message_of, thinking_server

SENTENCE = "2 and 2 are 4."
SENTENCES_END = re.compile(r"4\.(?!\d)")
"""Last token of the sentence, but no figure such as 14.2 milliseconds."""
REASONING = {
    "type": "reasoning",
    "content": [{"type": "reasoning_text", "text": "a"}, {"type": "reasoning_text", "text": "b"}],
    "summary": [],
}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
CALLED = {"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}}
TOKENS = len(SENTENCE) + len("T\n\n")


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    """A model that thinks one sentence, and closes its thought."""
    with thinking_server(follow(VOCABULARY.size, [*SENTENCE.encode()], END)) as (server, _):
        yield server


@pytest.mark.parametrize("stream", [False, True])
def test_openais_client_reads_thoughts(running: Running, stream: bool) -> None:
    """The client keeps the fields that it doesn't know."""
    with running.openai() as client:
        asked: Any = {"model": "scripted", "messages": request()["messages"], "max_tokens": 100, "stream": stream}
        asked["extra_body"] = {**CONSTRAINTS["choice"], "temperature": 0}
        answer: Any = client.chat.completions.create(**asked)
        if not stream:
            assert answer.choices[0].message.reasoning_content == SENTENCE
            assert answer.usage.completion_tokens_details.reasoning_tokens == TOKENS
            return
        deltas = [chunk.choices[0].delta for chunk in answer]
        assert "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == SENTENCE
        assert belongs("choice", "".join(delta.content or "" for delta in deltas))


def test_responses_have_an_item_for_the_thought(running: Running) -> None:
    """The typed client reads the item, its events and the usage."""
    with running.openai() as client:
        asked: Any = {"model": "scripted", "input": "hi", "max_output_tokens": 100, "temperature": 0}
        asked |= {"reasoning": {"effort": "max", "summary": "auto"}, "extra_body": CONSTRAINTS["choice"]}
        answer = client.responses.create(**asked)
        thought, message = answer.output
        assert thought.type == "reasoning" and thought.content is not None and thought.summary == []
        assert [part.text for part in thought.content] == [SENTENCE]
        assert message.type == "message" and belongs("choice", answer.output_text)
        assert answer.usage is not None
        assert answer.usage.output_tokens_details.reasoning_tokens == TOKENS
        assert answer.usage.output_tokens == answer.swyb["tokens_used"]
        events: list[Any] = list(client.responses.create(**asked, stream=True))
        with client.responses.stream(**asked) as stream:
            assert stream.get_final_response().output_text == answer.output_text
    added = [(event.output_index, event.item.type) for event in events if event.type == "response.output_item.added"]
    assert added == [(0, "reasoning"), (1, "message")]
    deltas = [event for event in events if event.type == "response.reasoning_text.delta"]
    assert "".join(event.delta for event in deltas) == SENTENCE
    assert {event.output_index for event in events if event.type.startswith("response.output_text")} == {1}
    assert [item.type for item in events[-1].response.output] == ["reasoning", "message"]
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_messages_have_a_block_for_the_thought(running: Running) -> None:
    """Anthropic's client puts the same message together from the events."""
    with running.anthropic() as client:
        asked: Any = {"model": "scripted", "messages": request()["messages"], "max_tokens": 100}
        asked |= {"thinking": {"type": "enabled", "budget_tokens": 80}}
        asked["extra_body"] = {**CONSTRAINTS["choice"], "temperature": 0}
        answer = client.messages.create(**asked)
        thought, text = answer.content
        assert thought.type == "thinking" and thought.thinking == SENTENCE
        assert text.type == "text" and belongs("choice", text.text)
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_message()
        assert [block.to_dict() for block in streamed.content] == [block.to_dict() for block in answer.content]
        assert streamed.usage.output_tokens == answer.usage.output_tokens > TOKENS
        counted = client.messages.count_tokens(
            model="scripted", messages=asked["messages"], thinking={"type": "enabled", "budget_tokens": 1024}
        )
        assert counted.input_tokens == answer.usage.input_tokens


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/v1/responses", {"input": "hi", "max_output_tokens": 100}),
        ("/v1/messages", {"messages": request()["messages"], "max_tokens": 100}),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "asked",
    [
        {"include_reasoning": False},
        {"reasoning_effort": "none"},
        {"thinking": {"type": "adaptive", "display": "omitted"}},
    ],
    ids=str,
)
def test_what_is_not_told_has_no_place(
    running: Running, path: str, fields: dict[str, Any], stream: bool, asked: dict[str, Any]
) -> None:
    """An answer without a thought, or one that is left out, begins with its text."""
    body = {"model": "scripted", **CONSTRAINTS["choice"], **fields, **asked, "stream": stream, "temperature": 0}
    answer = running.client.post(path, json=body)
    assert answer.status_code == 200 and not SENTENCES_END.search(answer.text)
    if stream:
        data = [json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: ")]
        assert {event.get("output_index", event.get("index", 0)) for event in data} == {0}


@pytest.mark.parametrize("effort", ["low", "medium", "high", "max"])
def test_anthropics_efforts_are_those_of_chats(running: Running, effort: str) -> None:
    """An effort bounds a thought that was asked for, is counted, and says nothing where none was."""
    asked = {"messages": request()["messages"], "max_tokens": 100, "temperature": 0, **CONSTRAINTS["choice"]}
    config = {"output_config": {"effort": effort}}

    def told(**fields: Any) -> dict[str, Any]:
        answer = running.client.post("/v1/messages", json={**asked, **fields})
        assert answer.status_code == 200
        found: dict[str, Any] = answer.json()
        return {name: found[name] for name in ("content", "usage")}

    adaptive = {"thinking": {"type": "adaptive", "display": "summarized"}}
    found = told(**config, **adaptive)
    assert found == told(reasoning_effort=effort)
    assert found["content"][0]["type"] == "thinking"
    count = {"messages": asked["messages"], **config, **adaptive}
    counted = running.client.post("/v1/messages/count_tokens", json=count).json()["input_tokens"]
    assert counted == found["usage"]["input_tokens"]
    for unasked in ({}, {"thinking": {"type": "disabled"}}):
        assert told(**config, **unasked) == told(**unasked)


def test_completions_have_no_thoughts(running: Running) -> None:
    """A prompt has no turn to think in, so what asks for a thought is refused."""
    asked: dict[str, Any] = {"model": "scripted", "prompt": "hi", "max_tokens": 9}
    assert running.client.post("/v1/completions", json=asked).json()["swyb"]["thinking"] is None
    for name, value in {
        "thinking": {"type": "enabled"},
        "reasoning": {"effort": "low"},
        "thinking_budget": 5,
        "thinking_token_budget": 5,
        "think": True,
        "swyb": {"thinking": {"reserve": 3}},
    }.items():
        refused = running.client.post("/v1/completions", json={**asked, name: value})
        assert refused.status_code == 400
        assert refused.json()["error"]["param"].startswith(name)
        assert refused.json()["error"]["code"] == "unsupported_parameter"


def test_a_prompt_is_told_with_its_opening(running: Running) -> None:
    """`/tokenize` tells the prompt that the model would get, opened thought and all."""
    engine = running.engine
    assert isinstance(engine, ThinkingEngine)
    for effort, opening in (("max", "<think>\n"), ("none", "<think>\n\n</think>\n\n")):
        body = {"messages": request()["messages"], "reasoning_effort": effort}
        found = running.client.post("/tokenize", json=body).json()["tokens"]
        assert found == engine.split(f"hi\n{opening}")
        told = running.chat(max_tokens=30, reasoning_effort=effort).json()
        assert told["usage"]["prompt_tokens"] == len(found)
        assert ("reasoning" in message_of(told)) is (effort == "max")


def test_answers_are_given_back(running: Running) -> None:
    """Items and blocks of an answer may stand in the next request, thoughts too: the template decides what is seen."""
    with running.openai() as client:
        asked: Any = {"model": "scripted", "max_output_tokens": 100, "temperature": 0}
        first = client.responses.create(**asked, input="hi", extra_body=CONSTRAINTS["choice"])
        turns: Any = [{"role": "user", "content": "hi"}, *first.output, {"role": "user", "content": "more"}]
        again = client.responses.create(**asked, input=turns, extra_body=CONSTRAINTS["choice"])
        assert again.usage is not None and first.usage is not None
        assert again.usage.input_tokens > first.usage.input_tokens
    with running.anthropic() as anthropic:
        wanted: Any = {"model": "scripted", "max_tokens": 100, "extra_body": CONSTRAINTS["choice"]}
        answer = anthropic.messages.create(**wanted, messages=[{"role": "user", "content": "hi"}])
        given: Any = [{"role": "assistant", "content": answer.content}, {"role": "user", "content": "more"}]
        assert anthropic.messages.create(**wanted, messages=[{"role": "user", "content": "hi"}, *given]).content


@pytest.mark.parametrize(
    ("items", "turns"),
    [
        (
            [REASONING, {"role": "assistant", "content": "x"}],
            [{"role": "assistant", "content": "x", "reasoning_content": "ab"}],
        ),
        ([{"role": "assistant", "content": "x"}, REASONING], None),
        ([REASONING, CALL], [{"role": "assistant", "content": "", "reasoning_content": "ab", "tool_calls": [CALLED]}]),
    ],
)
def test_items_that_are_thoughts_belong_to_what_follows(items: list[Any], turns: list[Any] | None) -> None:
    """A thought, the message and the calls behind it are one turn."""
    chat, _ = chat_of_responses(parse_responses({"input": items}))
    found = for_template(chat.messages)
    thought = [turn for turn in found if "reasoning_content" in turn]
    assert [turn.pop("reasoning") for turn in thought] == ["ab"]
    assert turns is None or found == turns


@pytest.mark.parametrize("stream", [False, True])
def test_calls_come_behind_a_thought(running: Running, stream: bool) -> None:
    """A call of a tool is complete behind a thought, and both are within the budget."""
    parameters = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    tool = {"type": "function", "function": {"name": "f", "parameters": {**parameters, "additionalProperties": False}}}
    asked: dict[str, Any] = {"tools": [tool], "tool_choice": "required", "temperature": 0, "stream": stream}
    least = error_of(running.chat(**asked | {"max_tokens": 3, "stream": False}))["min_tokens"]
    for budget in (least, least + 5, least + 60):
        answer = running.chat(**asked, max_tokens=budget)
        assert answer.status_code == 200
        if stream:
            chunks = [json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: {")]
            deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
            thought = "".join(delta.get("reasoning_content") or "" for delta in deltas)
            calls = [call["function"] for delta in deltas for call in delta.get("tool_calls") or ()]
            known, arguments = chunks[-1]["swyb"], "".join(call["arguments"] for call in calls)
        else:
            message, known = message_of(answer.json()), answer.json()["swyb"]
            thought, arguments = message["reasoning_content"], message["tool_calls"][0]["function"]["arguments"]
        assert SENTENCE.startswith(thought) and known["tokens_used"] <= budget
        assert isinstance(json.loads(arguments)["a"], int)
