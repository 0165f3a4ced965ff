"""Streams of chat completions over a real socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.server.engines.scripts import follow
from tests.server.examples import CONSTRAINTS, ends_after
from tests.server.running import STOP, VOCABULARY, Running, error_of, eventually, serving


def stream(running: Running, **fields: Any) -> list[Any]:
    """The chunks that the official client gets, as JSON."""
    with running.openai() as client:
        events = client.chat.completions.create(
            model="scripted",
            messages=[{"role": "user", "content": "hi"}],
            stream=True,
            extra_body=fields,
        )
        return [event.model_dump() for event in events]


@pytest.mark.parametrize("kind", [*CONSTRAINTS, "plain"])
@pytest.mark.parametrize("how", [{"temperature": 1.0, "seed": 9}, {"swyb": {"beam_width": 3}}])
def test_a_stream_spells_the_same_text(running: Running, kind: str, how: dict[str, Any]) -> None:
    """The pieces of a stream, put together, are the text that comes without streaming."""
    fields = {**CONSTRAINTS.get(kind, {}), **how, "max_tokens": 40}
    whole = running.chat(**fields).json()["choices"][0]
    chunks = stream(running, **fields)
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert deltas[0]["role"] == "assistant"
    assert "".join(delta["content"] or "" for delta in deltas) == whole["message"]["content"]
    assert chunks[-1]["choices"][0]["finish_reason"] == whole["finish_reason"]
    assert chunks[-1]["swyb"]["complete"] is (kind != "plain" or whole["finish_reason"] == "stop")
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)


def test_bytes_that_are_no_text_are_replaced_alike() -> None:
    """Plain text that is not UTF-8 comes out the same, streamed or whole, wherever it is cut."""
    # The beginnings of characters that never end, and ends of characters that never began.
    spelling = [0xF0, 0x9F, 0x41, 0xE2, 0x82, 0xFF, 0xC3, 0xA9, 0x80, 0xE2]
    with serving(follow(VOCABULARY.size, spelling, STOP)) as running:
        fields = {"max_tokens": 20, "temperature": 0}
        whole = running.chat(**fields).json()["choices"][0]["message"]["content"]
        deltas = [choice["delta"] for chunk in stream(running, **fields) for choice in chunk["choices"]]
    assert whole == bytes(spelling).decode(errors="replace")
    assert "".join(delta["content"] or "" for delta in deltas) == whole


def test_a_stream_is_made_of_events_that_end_with_done(running: Running) -> None:
    """Each event is one line of data; the last one says that all is out."""
    response = running.chat(**CONSTRAINTS["choice"], stream=True)
    assert response.headers["content-type"].startswith("text/event-stream")
    *events, done, end = response.text.split("\n\n")
    assert (done, end) == ("data: [DONE]", "")
    bodies = [json.loads(event.removeprefix("data: ")) for event in events]
    assert all("usage" not in body for body in bodies)
    assert [body.get("swyb") is not None for body in bodies] == [False] * (len(bodies) - 1) + [True]


def test_a_stream_tells_its_usage_if_asked(running: Running) -> None:
    """The last chunk of a stream with include_usage has no choices but the usage, and all others a null one."""
    response = running.chat(**CONSTRAINTS["choice"], stream=True, stream_options={"include_usage": True})
    *events, _, _ = response.text.split("\n\n")
    *others, last = [json.loads(event.removeprefix("data: ")) for event in events]
    assert [body["usage"] for body in others] == [None] * len(others)
    assert last["choices"] == []
    assert last["usage"] == running.chat(**CONSTRAINTS["choice"]).json()["usage"]


def test_stream_options_need_a_stream(running: Running) -> None:
    """Options of a stream without one would be ignored."""
    assert error_of(running.chat(stream_options={"include_usage": True}))["param"] == "stream_options"


def test_a_refusal_of_a_stream_is_an_http_error(running: Running) -> None:
    """A refusal that is known before the stream is told by the status, not in the stream."""
    response = running.chat(grammar='root ::= "abc"', max_tokens=1, stream=True)
    assert (response.status_code, error_of(response)["code"]) == (400, "budget_too_small")


def test_a_stream_that_fails_says_so() -> None:
    """An error in the middle of a stream is an event of its own, before `[DONE]`; no choice claims an end."""
    with serving(ends_after(5)) as running:
        response = running.chat(response_format={"type": "regex", "regex": "[ab]{9}"}, stream=True)
        *_, last, done, end = response.text.split("\n\n")
        assert (response.status_code, done, end) == (200, "data: [DONE]", "")
        assert json.loads(last.removeprefix("data: "))["error"]["code"] == "engine_error"
        assert '"finish_reason":"' not in response.text
        eventually(lambda: running.service.present == 0)
