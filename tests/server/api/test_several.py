"""Several answers to one request (`n`): drawn one by one, or the best of one search."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.api.test_stream import stream
from tests.server.engines.scripts import hostile
from tests.server.examples import CONSTRAINTS, belongs, ends_after
from tests.server.running import VOCABULARY, Running, error_of, eventually, serving


def texts(body: Any) -> list[str]:
    assert [choice["index"] for choice in body["choices"]] == list(range(len(body["choices"])))
    return [choice["message"]["content"] for choice in body["choices"]]


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_draws_are_those_of_the_seeds_that_follow(running: Running, kind: str) -> None:
    """Each is certified, and is what its own seed draws alone."""
    fields = {**CONSTRAINTS[kind], "temperature": 1.0, "max_tokens": 40}
    running.chat(**fields)  # compiles
    body = running.chat(**fields, n=4, seed=2**64 - 2).json()
    alone = [running.chat(**fields, seed=seed).json() for seed in (2**64 - 2, 2**64 - 1, 0, 1)]
    assert texts(body) == [text for one in alone for text in texts(one)]
    assert [choice["swyb"] for choice in body["choices"]] == [one["swyb"] for one in alone]
    assert body["swyb"] == body["choices"][0]["swyb"]
    assert body["usage"]["completion_tokens"] == sum(one["usage"]["completion_tokens"] for one in alone)
    assert body["usage"]["prompt_tokens"] == alone[0]["usage"]["prompt_tokens"]
    assert "swyb" not in alone[0]["choices"][0]


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("slack", [0, 1, 9])
def test_beams_are_different_answers_best_first(running: Running, kind: str, slack: int) -> None:
    """All of them belong and fit, whatever the budget; the first one is that of a single answer."""
    least = error_of(running.chat(**CONSTRAINTS[kind], max_tokens=1))["min_tokens"]
    fields = {**CONSTRAINTS[kind], "max_tokens": least + slack, "swyb": {"beam_width": 4}}
    body = running.chat(**fields, n=3).json()
    found = texts(body)
    assert 1 <= len(set(found)) == len(found) <= 3
    assert found[:1] == texts(running.chat(**fields).json())
    assert all(belongs(kind, text) for text in found)
    assert all(choice["swyb"]["tokens_used"] <= least + slack for choice in body["choices"])
    assert all(choice["swyb"]["complete"] for choice in body["choices"])


def test_there_are_no_more_answers_than_the_language_has(running: Running) -> None:
    fields: dict[str, Any] = {"grammar": 'root ::= "a" | "bc"', "swyb": {"beam_width": 4}, "n": 4}
    assert sorted(texts(running.chat(**fields).json())) == ["a", "bc"]
    ended = [c["index"] for chunk in stream(running, **fields) for c in chunk["choices"] if c["finish_reason"]]
    assert ended == [0, 1]


def test_texts_that_the_budget_cut_within_a_code_point_are_told_apart() -> None:
    """Bytes that begin a code point and end there are one replacement character to clients, whatever they are."""
    beginnings = [0xC3, 0xE2, 0xF0]
    with serving(hostile(VOCABULARY.size, beginnings)) as running:
        found = texts(running.chat(max_tokens=1, n=3, swyb={"beam_width": 3}).json())
    assert "\N{REPLACEMENT CHARACTER}" in found
    assert len(set(found)) == len(found) == 3


@pytest.mark.parametrize("kind", [*CONSTRAINTS, "plain"])
@pytest.mark.parametrize("how", [{"temperature": 1.0, "seed": 9}, {"swyb": {"beam_width": 3}}])
def test_a_stream_tells_the_same_texts(running: Running, kind: str, how: dict[str, Any]) -> None:
    """Each choice opens with its role, ends once with its certificate, and has the text that comes unstreamed."""
    fields = {**CONSTRAINTS.get(kind, {}), **how, "max_tokens": 40, "n": 3}
    running.chat(**fields)  # compiles
    whole = running.chat(**fields).json()
    streamed = [""] * len(whole["choices"])
    ends: dict[int, Any] = {}
    for chunk in stream(running, **fields, stream_options={"include_usage": True}):
        for choice in chunk["choices"]:
            if not streamed[choice["index"]] and choice["delta"]["role"]:
                streamed[choice["index"]] = "role:"
            streamed[choice["index"]] += choice["delta"]["content"] or ""
            if choice["finish_reason"]:
                assert choice["index"] not in ends
                ends[choice["index"]] = (choice["finish_reason"], chunk["swyb"])
        usage = chunk["usage"]
    assert streamed == [f"role:{text}" for text in texts(whole)]
    assert ends == {choice["index"]: (choice["finish_reason"], choice["swyb"]) for choice in whole["choices"]}
    assert {name: usage[name] for name in whole["usage"]} == whole["usage"]


@pytest.mark.parametrize(
    "fields",
    [{"n": 2, "temperature": 0}, {"n": 3, "swyb": {"beam_width": 2}}, {"n": 0}, {"n": 129}, {"n": True}, {"n": 1.0}],
)
def test_what_makes_no_sense_is_refused(running: Running, fields: dict[str, Any]) -> None:
    """Greedy answers would all be the same; a search keeps no more texts than it has beams."""
    assert error_of(running.chat(**fields))["param"] == "n"


def test_an_error_of_one_ends_them_all() -> None:
    """No answer is told in part."""
    with serving(ends_after(6)) as running:
        response = running.chat(n=3, temperature=1.0, max_tokens=40, seed=1)
        assert (response.status_code, error_of(response)["code"]) == (500, "engine_error")
        eventually(lambda: running.service.present == 0)
        assert running.client.get("/ready").status_code == 200
