"""The promise with thoughts: whatever the model does, the answer is complete, and all of it fits the budget."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.settings import Settings
from tests.server.engines.scripted import Script
from tests.server.engines.scripts import follow, hostile, non_finite, seeded, uniform
from tests.server.examples import CONSTRAINTS, belongs
from tests.server.running import STOP, Running, error_of
from tests.server.thinking.engines import END, VOCABULARY, ThinkingEngine, Way, thinking_server

SIZE = VOCABULARY.size
MODELS: dict[str, Script] = {
    "random": seeded(SIZE, seed=7),
    "uniform": uniform(SIZE),
    "never closes": hostile(SIZE, [ord("x")]),
    "closes at once": hostile(SIZE, [END]),
    "ends at once": hostile(SIZE, [STOP]),
    "sentences": hostile(SIZE, [ord("a"), ord("."), ord(" ")]),
    "spells the mark": follow(SIZE, [*b"so 4. </think> {"], ord("y")),
    "broken": non_finite(SIZE, seed=5),
}
ASKED: dict[str, Any] = {"thinking": {"type": "enabled"}}
KINDS = [*CONSTRAINTS, "plain"]


OTHER_WAYS: tuple[Way, ...] = ("opened", "plain")
SERVERS: list[tuple[str, Way]] = [
    *((model, "by itself") for model in MODELS),
    *((model, way) for model in ("random", "never closes", "spells the mark") for way in OTHER_WAYS),
]


@pytest.fixture(scope="module", params=SERVERS, ids="-".join)
def server(request: pytest.FixtureRequest) -> Iterator[tuple[Running, ThinkingEngine]]:
    """A server with one of the models, whose template opens thoughts one way or another."""
    model, way = request.param
    with thinking_server(MODELS[model], way, Settings(default_max_tokens=200)) as found:
        yield found


def closer(engine: ThinkingEngine) -> int:
    """Tokens of the mark that ends a thought, and of the empty line behind it."""
    return len(engine.split("</think>\n\n"))


def fewest(running: Running, kind: str) -> int:
    """Fewest tokens of an answer, as the refusal of a budget without a thought has it."""
    if kind == "plain":
        return 1
    refused = running.chat(**CONSTRAINTS[kind], max_tokens=1, reasoning_effort="none")
    return int(error_of(refused)["min_tokens"]) if refused.status_code == 400 else 1


def told(running: Running, stream: bool, fields: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Thought, text and certificate of each answer."""
    answer = running.chat(**fields, stream=stream)
    assert answer.status_code == 200, answer.text
    if not stream:
        body = answer.json()
        return [
            (choice["message"]["reasoning_content"], choice["message"]["content"], choice.get("swyb") or body["swyb"])
            for choice in body["choices"]
        ]
    thoughts: dict[int, str] = {}
    texts: dict[int, str] = {}
    certificates: dict[int, dict[str, Any]] = {}
    for line in answer.text.split("\n"):  # a text may hold other ends of lines, such as U+0085
        if not line.startswith("data: {"):
            continue
        chunk = json.loads(line.removeprefix("data: "))
        assert "error" not in chunk, chunk
        for choice in chunk["choices"]:
            index, delta = choice["index"], choice["delta"]
            assert delta.get("reasoning_content") == delta.get("reasoning")
            assert "reasoning" not in delta or not texts.get(index), "a thought comes before its answer"
            thoughts[index] = thoughts.get(index, "") + (delta.get("reasoning_content") or "")
            texts[index] = texts.get(index, "") + (delta.get("content") or "")
            if choice["finish_reason"]:
                certificates[index] = chunk["swyb"]
    return [(thoughts[index], texts[index], certificates[index]) for index in sorted(certificates)]


def check(running: Running, engine: ThinkingEngine, kind: str, fields: dict[str, Any], stream: bool) -> None:
    """One request: each answer belongs, all tokens fit, and the model has seen what was told."""
    del engine.prompts[:]
    budget = fields["max_tokens"]
    answers = told(running, stream, {**CONSTRAINTS.get(kind, {}), **ASKED, **fields})
    single = fields.get("swyb", {}).get("beam_width", 1) > 1
    assert answers and (single or len(answers) == fields.get("n", 1))
    prompt = min(engine.prompts, key=len, default=())
    for thought, text, known in answers:
        thinking = known["thinking"]
        assert known["complete"] or kind == "plain"
        assert kind == "plain" or belongs(kind, text), text
        assert closer(engine) <= thinking["tokens"] <= known["tokens_used"] <= known["budget"] == budget
        assert "</think>" not in thought or engine.way != "plain"
        assert budget - thinking["tokens"] >= thinking["reserve"]
    # The prompt of an answer ends with the closer, and leaves room for all that is left of the budget.
    for opened in engine.prompts:
        assert len(opened) <= len(prompt) + budget


@pytest.mark.parametrize("kind", KINDS)
def test_a_budget_is_refused_before_the_model_runs_or_kept(server: tuple[Running, ThinkingEngine], kind: str) -> None:
    """A budget is too small if and only if it doesn't hold the closer and the answer's minimum."""
    running, engine = server
    least = closer(engine) + fewest(running, kind)
    steps = engine.steps
    if least > 1:
        refused = running.chat(**CONSTRAINTS.get(kind, {}), **ASKED, max_tokens=least - 1)
        error = error_of(refused)
        assert (refused.status_code, error["code"], error["param"]) == (400, "budget_too_small", "max_tokens")
        assert (error["min_tokens"], error["budget"]) == (least, least - 1)
        assert engine.steps == steps
    for stream in (False, True):
        check(running, engine, kind, {"max_tokens": least, "seed": 1}, stream)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_answers_are_complete_within_the_budget(server: tuple[Running, ThinkingEngine], data: st.DataObject) -> None:
    """Any budget, reserve, bound and number of answers, streamed or not, drawn, greedy or of beams."""
    running, engine = server
    kind = data.draw(st.sampled_from(KINDS))
    least = closer(engine) + fewest(running, kind)
    options: dict[str, Any] = {}
    if data.draw(st.booleans()):
        options["thinking"] = {"reserve": data.draw(st.integers(0, 80))}
    fields: dict[str, Any] = {"max_tokens": least + data.draw(st.integers(0, 150)), "swyb": options}
    match data.draw(st.sampled_from(["greedy", "drawn", "beams"])):
        case "greedy":
            fields["temperature"] = 0
        case "drawn":
            fields |= {"n": data.draw(st.integers(1, 3)), "seed": data.draw(st.integers(0, 9))}
        case _:
            options["beam_width"] = 4
            fields["n"] = data.draw(st.integers(1, 4))
    if data.draw(st.booleans()):
        fields["thinking_budget"] = data.draw(st.integers(1, 60))
    check(running, engine, kind, fields, data.draw(st.booleans()))


def test_a_thought_has_what_is_left_of_the_budget() -> None:
    """A thought that the model doesn't close takes all but the closer and the reserve, and is closed by the budget."""

    with thinking_server(MODELS["never closes"]) as (running, engine):
        for reserve in (0, 7, 30):
            body = running.chat(
                **CONSTRAINTS["choice"], max_tokens=100, temperature=0, swyb={"thinking": {"reserve": reserve}}
            ).json()
            thinking = body["swyb"]["thinking"]
            assert thinking == {
                "tokens": 100 - thinking["reserve"],
                "closed_by_budget": True,
                "reserve": max(reserve, fewest(running, "choice")),
            }
            assert body["swyb"]["budget_affected"] is True
            assert len(body["choices"][0]["message"]["reasoning"]) == thinking["tokens"] - closer(engine)
