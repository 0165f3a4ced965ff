"""The server over a real vLLM engine: the same answers as over transformers, one at a time and many together."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import jsonschema
import pytest

from tests.server.backends.vllm.conftest import Serving
from tests.server.running import error_of, eventually, schema_format

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("vllm")]

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
FIELDS = ("complete", "tokens_used", "min_tokens", "grammar_id")
"""Fields of the certificate that are the same for the same text."""


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


CHANGES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "presence": {"presence_penalty": 1.5},
    "frequency": {"frequency_penalty": 0.9},
    "repetition": {"repetition_penalty": 1.3},
    "bias": {"logit_bias": {"34": -100, "28": 5, "198": -100}},
    "all": {"presence_penalty": -0.5, "frequency_penalty": 0.4, "repetition_penalty": 1.1, "logit_bias": {"339": 3}},
}
"""Changes of logits."""


PAIRS = [*product(CONSTRAINTS, CHANGES)]
QUICK = [pair for pair in PAIRS if pair[0] in ("schema", "plain") or pair[1] in ("nothing", "all")]
"""Each change of a schema's and of a plain answer, and each constraint without changes and with all of them."""


@pytest.mark.parametrize(
    ("constraint", "change"),
    [pair if pair in QUICK else pytest.param(*pair, marks=pytest.mark.full) for pair in PAIRS],
)
def test_greedy_answers_are_those_of_transformers(
    vllm: Serving, transformers: Serving, constraint: str, change: str
) -> None:
    """Texts, tokens and ends are equal, with penalties and biases too; what the budget did is told on the safe side."""
    fields = {**CONSTRAINTS[constraint], **CHANGES[change], "temperature": 0}
    here, there = chat(vllm, **fields), chat(transformers, **fields)
    assert text(here) == text(there)
    assert here["choices"][0]["finish_reason"] == there["choices"][0]["finish_reason"]
    assert [here["swyb"][field] for field in FIELDS] == [there["swyb"][field] for field in FIELDS]
    check_costs(here, there)


def check_costs(here: dict[str, Any], there: dict[str, Any]) -> None:
    """Masks tell where the budget may have changed the answer: everywhere that it did."""
    told, exact = here["swyb"], there["swyb"]
    assert told["budget_affected"] or not exact["budget_affected"]
    if told["min_tokens"] is None:
        assert (told["tight_steps"], told["budget_forced_tokens"]) == (None, 0)
        return
    assert told["budget_forced_tokens"] is None
    assert told["tight_steps"] >= exact["budget_forced_tokens"]
    if exact["budget_ended"] is not None:
        assert set(told["budget_ended"]) >= set(exact["budget_ended"])


@pytest.mark.parametrize("how", [name for name in HOW if name != "greedy"])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_drawn_answers_are_whole_and_repeat_themselves(vllm: Serving, constraint: str, how: str) -> None:
    """A seed draws the same each time, from the prompt's memory too; another one another answer now and then."""
    fields = {**CONSTRAINTS[constraint], **HOW[how]}
    first, again = chat(vllm, **fields), chat(vllm, **fields)
    assert text(first) == text(again)
    assert first["swyb"]["complete"] or constraint == "plain"
    if constraint == "schema":
        jsonschema.validate(json.loads(text(first)), CAT)
        assert any(text(chat(vllm, **{**fields, "seed": seed})) != text(first) for seed in range(5))


def test_tokens_that_are_too_unlikely_are_not_drawn(vllm: Serving) -> None:
    """A min_p of 1 leaves only the likeliest token: the greedy answer."""
    for constraint in ("schema", "plain"):
        greedy = text(chat(vllm, **CONSTRAINTS[constraint], temperature=0))
        assert text(chat(vllm, **CONSTRAINTS[constraint], temperature=1.5, min_p=1.0)) == greedy


def test_ends_of_plain_answers(vllm: Serving, transformers: Serving) -> None:
    """Tokens that end an answer, one before which none does, and none at all."""
    words = chat(transformers, temperature=0, logprobs=True)
    token = words["choices"][0]["logprobs"]["content"][6]["token"]
    [stop] = vllm[1].model.encode_text(token, special=False)
    for fields in ({"stop_token_ids": [stop]}, {"stop_token_ids": [stop], "min_tokens": 12}, {"min_tokens": 3}):
        here, there = (chat(serving, temperature=0, **fields) for serving in (vllm, transformers))
        assert text(here) == text(there)
        assert here["choices"][0]["finish_reason"] == there["choices"][0]["finish_reason"]
        assert here["swyb"]["tokens_used"] == there["swyb"]["tokens_used"]
    endless = chat(vllm, temperature=0, ignore_eos=True, max_tokens=60)
    assert (endless["swyb"]["tokens_used"], endless["choices"][0]["finish_reason"]) == (60, "length")


def test_a_constrained_answer_may_have_to_go_on(vllm: Serving, transformers: Serving) -> None:
    """No end comes before so many tokens, unless nothing else may."""
    for least in (2, 9):
        fields = {"grammar": "root ::= [a-z ]*", "min_tokens": least, "temperature": 0}
        here, there = chat(vllm, **fields), chat(transformers, **fields)
        assert text(here) == text(there)
        assert here["swyb"]["tokens_used"] >= least
    assert text(chat(vllm, **CONSTRAINTS["choice"], min_tokens=20, temperature=0)).startswith(("a cat", "dogs"))


@pytest.mark.parametrize("constraint", ["plain", "schema"])
def test_log_probabilities_are_those_among_allowed_tokens(
    vllm: Serving, transformers: Serving, constraint: str
) -> None:
    """Numbers are those of transformers; under a constraint, those among tokens that are allowed."""
    fields = {**CONSTRAINTS[constraint], "temperature": 0, "logprobs": True, "top_logprobs": 3}
    here, there = (chat(serving, **fields)["choices"][0]["logprobs"]["content"] for serving in (vllm, transformers))
    assert len(here) == len(there) > 3
    for ours, theirs in zip(here, there, strict=True):
        assert (ours["token"], ours["bytes"]) == (theirs["token"], theirs["bytes"])
        expected = theirs["swyb"]["logprob"] if constraint == "schema" else theirs["logprob"]
        assert ours["logprob"] == ours["swyb"]["logprob"] == pytest.approx(expected, abs=0.01)
        assert ours["swyb"]["forced"] is None
        best = ours["top_logprobs"]
        assert 1 <= len(best) <= 3 and best[0]["token"] == ours["token"]
        assert [one["logprob"] for one in best] == sorted((one["logprob"] for one in best), reverse=True)
    pieces: list[Any] = []
    with vllm[2].stream("POST", "/v1/chat/completions", json=body(**fields, stream=True)) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                [choice] = json.loads(line.removeprefix("data: "))["choices"]
                pieces += (choice.get("logprobs") or {}).get("content") or []
    assert [one["logprob"] for one in pieces] == pytest.approx([one["logprob"] for one in here], abs=0.01)


@pytest.mark.full
def test_long_prompts_with_seeds(vllm: Serving) -> None:
    """Prompts that are computed in parts, all at once, leave the engine alive, and draw as they do alone."""
    messages = [[{"role": "user", "content": f"{number} " + "cat dog " * 150}] for number in range(24)]
    fields = [{**CONSTRAINTS["schema"], "messages": each, "temperature": 1.0, "seed": 5} for each in messages]
    with ThreadPoolExecutor(len(fields)) as threads:
        together = [text(answer) for answer in threads.map(lambda each: chat(vllm, **each), fields)]
    alone = [text(chat(vllm, **each)) for each in fields[:6]]
    assert sum(one == other for one, other in zip(alone, together, strict=False)) >= 5
    assert all(jsonschema.Draft202012Validator(CAT).is_valid(json.loads(each)) for each in together)


@pytest.mark.parametrize("how", ["greedy", "drawn"])
@pytest.mark.parametrize("constraint", [name for name in CONSTRAINTS if name != "plain"])
def test_the_least_budget_is_enough(vllm: Serving, transformers: Serving, constraint: str, how: str) -> None:
    """Answers are complete from d(e0) on; below it the request is refused."""
    fields = {**CONSTRAINTS[constraint], **HOW[how]}
    least = chat(vllm, **fields)["swyb"]["min_tokens"]
    for budget in (least, least + 1, least + 3):
        answer = chat(vllm, **{**fields, "max_tokens": budget})
        if how == "greedy":
            there = chat(transformers, **{**fields, "max_tokens": budget})
            assert text(answer) == text(there)
            check_costs(answer, there)
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


def test_stop_texts_end_plain_answers(vllm: Serving, transformers: Serving) -> None:
    """Stop texts end answers as by transformers, in a stream too; no part of a stop text is ever sent."""
    fields = {**HOW["greedy"], "max_tokens": 40}
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
    """Neither constrained answers nor plain ones repeat themselves."""
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


SEARCHES: dict[str, dict[str, Any]] = {"beams": {"beam_width": 2}, "guided": {"alpha": 0.5}}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("presence_penalty", 1),
        ("frequency_penalty", 1),
        ("repetition_penalty", 1.1),
        ("logit_bias", {"5": 1}),
        ("stop_token_ids", [5]),
        ("repeat_penalty", 1.1),
    ],
)
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("stream", [False, True])
def test_fields_that_searches_do_not_have_are_refused(
    vllm: Serving, field: str, value: object, search: str, stream: bool
) -> None:
    """A clean refusal by name, before any stream, and the engine goes on."""
    _, _, client = vllm
    asked = body(**{field: value}, swyb=SEARCHES[search], temperature=0, stream=stream)
    refused = client.post("/v1/chat/completions", json=asked)
    error = error_of(refused)
    assert (refused.status_code, error["code"], error["param"]) == (400, "unsupported_parameter", field)
    assert f"{field}: searches in vLLM's workers don't have it" in error["message"]
    assert client.get("/ready").status_code == 200


def test_penalties_that_look_back_at_a_part_are_refused(vllm: Serving) -> None:
    """vLLM's penalties look back at all tokens: a shorter look is refused by its name."""
    refused = vllm[2].post("/v1/chat/completions", json=body(presence_penalty=1, repeat_last_n=8))
    assert (error_of(refused)["code"], error_of(refused)["param"]) == ("unsupported_parameter", "repeat_last_n")
    assert text(chat(vllm, presence_penalty=1, repeat_last_n=-1, temperature=0))


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_guided_answers_are_those_of_transformers(vllm: Serving, transformers: Serving, constraint: str) -> None:
    """A single text that is guided by distances is searched in the workers."""
    for budget in (16, 24):
        fields = {**CONSTRAINTS[constraint], "temperature": 0, "swyb": SEARCHES["guided"], "max_tokens": budget}
        here, there = chat(vllm, **fields), chat(transformers, **fields)
        assert text(here) == text(there)
        assert [here["swyb"][field] for field in FIELDS] == [there["swyb"][field] for field in FIELDS]


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
