"""Traces over HTTP: the same answers with them and without, whole and as streams, in every interface."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.running import SCHEMA, Running, error_of, request, schema_format

FORMAT = {"response_format": schema_format(SCHEMA), "max_tokens": 16}
WAYS: tuple[dict[str, Any], ...] = (
    {"temperature": 0},
    {"temperature": 1, "seed": 3},
    {"temperature": 1, "seed": 3, "n": 3},
    {"swyb": {"beam_width": 3}},
    {"swyb": {"beam_width": 3}, "n": 2},
)


def with_trace(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "swyb": {**fields.get("swyb", {}), "trace": True}}


def chunks(text: str) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data: ")) for line in text.split("\n\n")[:-2]]


def traces(body: dict[str, Any]) -> list[Any]:
    """The trace of each choice, where it has one."""
    return [(choice.get("swyb") or body["swyb"]).get("trace") for choice in body["choices"]]


def told(streamed: list[dict[str, Any]], choice: int) -> list[Any]:
    """Steps that a stream's chunks told of one choice."""
    own = [chunk for chunk in streamed if chunk["choices"] and chunk["choices"][0]["index"] == choice]
    return [step for chunk in own for step in (chunk.get("swyb") or {}).get("trace", [])]


@pytest.mark.parametrize("fields", WAYS, ids=str)
def test_chats(running: Running, fields: dict[str, Any]) -> None:
    """A trace changes nothing but itself, and a stream tells the steps of the whole answer, each once, in order."""
    plain = running.chat(**FORMAT, **fields).json()
    traced = running.chat(**FORMAT, **with_trace(fields)).json()
    assert [choice["message"] for choice in traced["choices"]] == [choice["message"] for choice in plain["choices"]]
    assert traces(plain) == [None] * len(plain["choices"])
    streamed = chunks(running.chat(**FORMAT, **with_trace(fields), stream=True).text)
    assert "trace" not in plain["swyb"]
    assert ("trace" in traced["swyb"]) == (len(plain["choices"]) == 1)
    several_in_one = "swyb" in fields and fields.get("n", 1) > 1
    for number, trace in enumerate(traces(traced)):
        if several_in_one and number:
            assert trace is None
            continue
        assert [step["step"] for step in trace] == list(range(len(trace)))
        assert told(streamed, number) == trace
        text = traced["choices"][number]["message"]["content"]
        last = next(row for row in trace[-1]["rows"] if row["answer"] == (number if several_in_one else 0))
        assert text.endswith(last["text"])
        content = (chunk["choices"][0]["delta"].get("content") or "" for chunk in streamed if chunk["choices"])
        assert several_in_one or fields.get("n", 1) > 1 or "".join(content) == text


def test_steps_come_with_the_text(running: Running) -> None:
    """Most chunks of a greedy stream carry a step, and none waits for the end."""
    streamed = chunks(running.chat(**FORMAT, **with_trace({"temperature": 0}), stream=True).text)
    carrying = [chunk for chunk in streamed if (chunk.get("swyb") or {}).get("trace")]
    assert len(carrying) > 8
    assert "complete" not in carrying[0]["swyb"]
    assert "complete" in streamed[-1]["swyb"]


def test_completions(running: Running) -> None:
    """Texts behind a prompt are traced as chats are; several prompts are refused."""
    fields = with_trace({"prompt": "hi", "response_format": FORMAT["response_format"], "max_tokens": 16, "seed": 2})
    whole = running.client.post("/v1/completions", json=fields).json()
    streamed = chunks(running.client.post("/v1/completions", json={**fields, "stream": True}).text)
    assert told(streamed, 0) == whole["swyb"]["trace"]
    assert "".join(chunk["choices"][0]["text"] for chunk in streamed) == whole["choices"][0]["text"]
    error = error_of(running.client.post("/v1/completions", json={**fields, "prompt": ["a", "b"]}))
    assert (error["code"], error["param"]) == ("conflicting_parameters", "swyb.trace")


def test_other_interfaces(running: Running) -> None:
    """Responses and messages tell the trace with the certificate, which a stream's last event has."""
    swyb = {"trace": True}
    wanted = {"type": "json_schema", "name": "n", "schema": SCHEMA}
    asked: dict[str, Any] = {"model": "scripted", "input": "hi", "text": {"format": wanted}, "swyb": swyb}
    response = running.client.post("/v1/responses", json={**asked, "max_output_tokens": 16, "temperature": 0}).json()
    events = running.client.post(
        "/v1/responses", json={**asked, "max_output_tokens": 16, "temperature": 0, "stream": True}
    ).text.split("\n\n")
    last = json.loads(events[-2].split("data: ", 1)[1])
    assert last["response"]["swyb"]["trace"] == response["swyb"]["trace"]
    message = running.client.post(
        "/v1/messages",
        json={**request(), "max_tokens": 16, "temperature": 0, "response_format": schema_format(SCHEMA), "swyb": swyb},
    ).json()
    assert [step["step"] for step in message["swyb"]["trace"]] == list(range(len(response["swyb"]["trace"])))


def test_an_answer_that_is_refused_carries_its_trace(running: Running) -> None:
    """The error of `on_budget` has the whole certificate."""
    fields = {**FORMAT, "max_tokens": 14, "seed": 3, "temperature": 0}
    error = error_of(running.chat(**fields, swyb={"on_budget": "refuse", "trace": True}))
    assert error["code"] == "budget_affected"
    assert error["swyb"]["trace"][0]["step"] == 0


def test_tokens_within_a_character_have_their_bytes(running: Running) -> None:
    """Bytes of all tokens of a way are the answer's, where texts of some are none by themselves."""
    body = running.chat(**with_trace({"guided_choice": ["é東 a", "日"], "max_tokens": 16})).json()
    rows = [step["rows"][0] for step in body["swyb"]["trace"]]
    way = [token for row in rows for token in (*filter(None, [row["token"]]), *row["jumped"])]
    texts = [bytes(token["bytes"]) if token["bytes"] else token["text"].encode() for token in way]
    assert b"".join(texts).decode() == body["choices"][0]["message"]["content"]
    assert [token["bytes"] is None for token in way] == ["\ufffd" not in token["text"] for token in way]
    assert not all(token["bytes"] is None for token in way)
