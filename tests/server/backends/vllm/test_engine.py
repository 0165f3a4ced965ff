"""The server over a real vLLM engine: the same answers as over transformers, one at a time and many together."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema
import pytest

from tests.server.backends.vllm.conftest import Serving
from tests.server.running import error_of, eventually, schema_format

pytestmark = pytest.mark.model

CAT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 30},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
NESTED = 'root ::= "(" root ")" | word\nword ::= [a-z]+ (" " [a-z]+){0,3}'
CONSTRAINTS: dict[str, dict[str, Any]] = {
    "schema": {"response_format": schema_format(CAT)},
    "grammar": {"grammar": NESTED},
    "lark": {"grammar": 'start: NAME ("," NAME)*\nNAME: /[a-z]+/\n%ignore " "'},
    "regex": {"response_format": {"type": "regex", "regex": "[A-Z][a-z]{2,12}( the [a-z]+)?"}},
    "choice": {"response_format": {"type": "choice", "choice": ["a cat", "a cat and a dog", "dogs"]}},
    "plain": {},
}
HOW: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0},
    "drawn": {"temperature": 1.0, "seed": 7},
    "nucleus": {"temperature": 0.8, "top_p": 0.9, "seed": 8},
    "top-k": {"temperature": 1.3, "top_k": 5, "seed": 9},
}
COSTS = ("budget_forced_tokens", "budget_affected", "budget_ended")
"""Fields of the certificate that tell what the budget has cost."""


def body(**fields: Any) -> dict[str, Any]:
    asked = [{"role": "user", "content": "Describe a cat: its name and its age."}]
    return {"model": "smol", "messages": asked, "max_tokens": 24, **fields}


def chat(serving: Serving, **fields: Any) -> dict[str, Any]:
    """The answer's JSON; the client raises where there is none."""
    _, _, client = serving
    response = client.post("/v1/chat/completions", json=body(**fields))
    assert response.status_code == 200, response.text
    answer = response.json()
    assert answer["usage"]["completion_tokens"] == answer["swyb"]["tokens_used"] <= answer["swyb"]["budget"]
    assert isinstance(answer, dict)
    return answer


def text(answer: dict[str, Any]) -> str:
    return str(answer["choices"][0]["message"]["content"])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_answers_are_those_of_transformers(vllm: Serving, transformers: Serving, constraint: str, how: str) -> None:
    """Texts, tokens and ends are equal: greedy, and drawn with a seed."""
    fields = {**CONSTRAINTS[constraint], **HOW[how]}
    here, there = chat(vllm, **fields), chat(transformers, **fields)
    assert text(here) == text(there)
    assert here["choices"][0]["finish_reason"] == there["choices"][0]["finish_reason"]
    for field in ("complete", "tokens_used", "min_tokens", "grammar_id", *COSTS):
        assert here["swyb"][field] == there["swyb"][field]


@pytest.mark.parametrize("how", ["greedy", "drawn"])
@pytest.mark.parametrize("constraint", [name for name in CONSTRAINTS if name != "plain"])
def test_the_least_budget_is_enough(vllm: Serving, transformers: Serving, constraint: str, how: str) -> None:
    """Answers are complete from d(e0) on; below it the request is refused."""
    fields = {**CONSTRAINTS[constraint], **HOW[how]}
    least = chat(vllm, **fields)["swyb"]["min_tokens"]
    for budget in (least, least + 1, least + 3):
        answer = chat(vllm, **{**fields, "max_tokens": budget})
        there = chat(transformers, **{**fields, "max_tokens": budget})
        count, *costs = COSTS
        assert [answer["swyb"][field] for field in costs] == [there["swyb"][field] for field in costs]
        # Tokens without an alternative are jumped over there, and all count as forced; here the model is asked.
        assert bool(there["swyb"][count]) <= answer["swyb"][count] <= there["swyb"][count]
        assert (answer["swyb"]["complete"], answer["choices"][0]["finish_reason"]) == (True, "stop")
    if least > 1:
        _, _, client = vllm
        refused = client.post("/v1/chat/completions", json=body(**{**fields, "max_tokens": least - 1}))
        assert error_of(refused)["code"] == "budget_too_small"


def streamed(serving: Serving, **fields: Any) -> tuple[str, dict[str, Any]]:
    """The pieces' text, and the last chunk."""
    _, _, client = serving
    pieces, last = [], {}
    with client.stream("POST", "/v1/chat/completions", json=body(stream=True, **fields)) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                last = json.loads(line.removeprefix("data: "))
                assert "error" not in last, last
                pieces.append(last["choices"][0]["delta"].get("content") or "")
    return "".join(pieces), last


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_a_stream_is_the_answer(vllm: Serving, constraint: str) -> None:
    fields = {**CONSTRAINTS[constraint], **HOW["drawn"]}
    whole = chat(vllm, **fields)
    pieces, last = streamed(vllm, **fields)
    assert pieces == text(whole)
    assert last["swyb"]["tokens_used"] == whole["swyb"]["tokens_used"]


@pytest.mark.parametrize("how", ["greedy", "drawn"])
def test_stop_texts_end_plain_answers(vllm: Serving, transformers: Serving, how: str) -> None:
    """Stop texts end answers as by transformers, in a stream too; no part of a stop text is ever sent."""
    fields = {**HOW[how], "max_tokens": 40}
    word = re.findall(r"\w{4,}", text(chat(transformers, **fields)))[2]
    stopped = {**fields, "stop": [word[1:3], "\x00"]}
    here, there = chat(vllm, **stopped), chat(transformers, **stopped)
    assert text(here) == text(there)
    assert word[1:3] not in text(here)
    assert here["choices"][0]["finish_reason"] == "stop"
    assert streamed(vllm, **stopped)[0] == text(here)


def test_many_together_are_as_alone(vllm: Serving) -> None:
    """Constrained and plain requests share steps; with a seed each answer is what it is alone."""
    mixed = [{**CONSTRAINTS[name], **HOW["drawn"], "seed": seed} for name in CONSTRAINTS for seed in (1, 2, 3)]
    alone = [text(chat(vllm, **fields)) for fields in mixed]
    with ThreadPoolExecutor(len(mixed)) as threads:
        together = [text(answer) for answer in threads.map(lambda fields: chat(vllm, **fields), mixed)]
    assert sum(one == other for one, other in zip(alone, together, strict=True)) >= len(mixed) - 2, (
        "float32 sums depend on the batch, but seldom decide"
    )
    for fields, answer in zip(mixed, together, strict=True):
        if "response_format" in fields and fields["response_format"]["type"] == "json_schema":
            jsonschema.validate(json.loads(answer), CAT)


def test_unseeded_answers_differ(vllm: Serving) -> None:
    """Constrained ones are drawn by the filter, plain ones by vLLM; neither repeats itself."""
    for constraint in ("grammar", "plain"):
        fields = {**CONSTRAINTS[constraint], "temperature": 1.5, "max_tokens": 20}
        assert len({text(chat(vllm, **fields)) for _ in range(4)}) > 1


def test_who_goes_away_is_not_decoded_for(vllm: Serving) -> None:
    """A client that goes away leaves nothing of its request, and others are answered."""
    _, service, client = vllm
    endless = body(stream=True, temperature=0, max_tokens=400, grammar="root ::= [a-z ]*")
    with client.stream("POST", "/v1/chat/completions", json=endless) as response:
        next(response.iter_lines())
    eventually(lambda: service.present == 0)
    assert text(chat(vllm, **HOW["greedy"], max_tokens=4))


def test_the_context_window_is_vllms(vllm: Serving) -> None:
    _, _, client = vllm
    [model] = client.get("/v1/models").json()["data"]
    assert model["context_window"] == 512
    long = client.post("/v1/chat/completions", json=body(messages=[{"role": "user", "content": "word " * 600}]))
    assert error_of(long)["code"] == "context_length_exceeded"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("min_p", 0.1),
        ("presence_penalty", 1),
        ("frequency_penalty", 1),
        ("repetition_penalty", 1.1),
        ("logit_bias", {"5": 1}),
        ("stop_token_ids", [5]),
        ("min_tokens", 2),
        ("ignore_eos", True),
        ("logprobs", True),
        ("repeat_penalty", 1.1),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_fields_that_workers_do_not_have_are_refused(vllm: Serving, field: str, value: object, stream: bool) -> None:
    """A clean refusal by name, before any stream, and the engine goes on."""
    _, _, client = vllm
    refused = client.post("/v1/chat/completions", json=body(**{field: value}, stream=stream))
    error = error_of(refused)
    assert (refused.status_code, error["code"], error["param"]) == (400, "unsupported_parameter", field)
    assert f"{field}: vLLM's workers choose the tokens" in error["message"]
    assert client.get("/ready").status_code == 200


def test_an_answer_that_the_budget_changed_may_be_refused(vllm: Serving) -> None:
    """`on_budget: refuse` is honoured for single answers, whole and as a stream, and refused for beams."""
    _, _, client = vllm
    fields = {**CONSTRAINTS["schema"], "temperature": 0, "swyb": {"on_budget": "refuse"}}
    least = chat(vllm, **CONSTRAINTS["schema"])["swyb"]["min_tokens"]
    refused = client.post("/v1/chat/completions", json=body(**{**fields, "max_tokens": least}))
    assert error_of(refused)["code"] == "budget_affected"
    assert jsonschema.Draft202012Validator(CAT).is_valid(json.loads(error_of(refused)["text"]))
    beams = {"swyb": {"on_budget": "refuse", "beam_width": 2}}
    assert error_of(client.post("/v1/chat/completions", json=body(**{**fields, **beams})))["param"] == "swyb.on_budget"
