"""Sampling fields over HTTP: each does what it says, and none breaks the guarantee."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import jsonschema
import numpy as np
import pytest
from openai.types.chat import ChatCompletionTokenLogprob

from tests.server.engines.scripts import non_finite, seeded
from tests.server.running import SCHEMA, STOP, VOCABULARY, Running, error_of, schema_format, serving

FORMAT = {"response_format": schema_format(SCHEMA)}
WORD = {"response_format": {"type": "regex", "regex": "[a-d]{3,20}"}}
HOSTILE: dict[str, tuple[Any, ...]] = {
    "presence_penalty": (None, -2, 2),
    "frequency_penalty": (None, -2, 2),
    "repetition_penalty": (None, 0.01, 100),
    "repeat_last_n": (None, 0, 1, 64, -1),
    "logit_bias": (None, {str(STOP): 100}, {str(token): -100 for token in range(0, 290, 3)}, {"34": 100, "125": -100}),
    "min_p": (None, 1, 0.5),
    "top_p": (None, 0.01),
    "top_k": (None, 1),
    "temperature": (0, 1, 2),
    "logprobs": (None, True),
}


def logprobs_of(choice: dict[str, Any]) -> list[dict[str, Any]]:
    content = choice["logprobs"]["content"]
    assert isinstance(content, list)
    return content


@pytest.mark.parametrize("broken", [False, True])
def test_no_value_breaks_the_guarantee(broken: bool) -> None:
    """Hostile values together, at the minimum and above, over random and broken logits."""
    script = non_finite(VOCABULARY.size, seed=1) if broken else seeded(VOCABULARY.size, seed=2)
    rng = random.Random(broken)
    with serving(script) as running:
        minimum = error_of(running.chat(**FORMAT, max_tokens=1))["min_tokens"]
        for number in range(30):
            budget = minimum + rng.choice((0, 1, 9))
            fields = {name: rng.choice(values) for name, values in HOSTILE.items()}
            fields["min_tokens"] = rng.choice((None, 5, budget))
            body = running.chat(**FORMAT, **fields, max_tokens=budget, seed=number).json()
            jsonschema.validate(json.loads(body["choices"][0]["message"]["content"]), SCHEMA)
            assert body["swyb"]["tokens_used"] <= budget, fields
            assert body["swyb"]["complete"]
            if fields["logprobs"]:
                for told in logprobs_of(body["choices"][0]):
                    assert math.isfinite(told["logprob"]) and math.isfinite(told["swyb"]["logprob"])


def test_a_bias_decides_where_the_grammar_leaves_a_choice(running: Running) -> None:
    """A biased letter is all that is written; the end, biased away, comes when nothing else may."""
    fields = {**WORD, "max_tokens": 30, "logit_bias": {str(ord("c")): 100}}
    assert set(running.chat(**fields).json()["choices"][0]["message"]["content"]) == {"c"}
    longest = running.chat(**WORD, max_tokens=30, logit_bias={str(STOP): -100}).json()
    assert len(longest["choices"][0]["message"]["content"]) == 20


def test_penalties_count_what_was_written(running: Running) -> None:
    """Letters alike but for penalties are taken in turn under the highest frequency penalty."""
    with serving(lambda history: np.zeros(VOCABULARY.size, np.float32)) as even:
        fields = {**WORD, "temperature": 0, "max_tokens": 8, "logit_bias": {str(STOP): -100}}
        text = even.chat(**fields, frequency_penalty=2).json()["choices"][0]["message"]["content"]
        assert sorted(text) == sorted("abcdabcd")
        text = even.chat(**fields, presence_penalty=-2).json()["choices"][0]["message"]["content"]
        assert text == "aaaaaaaa"


def test_min_p_keeps_what_is_likely_enough(running: Running) -> None:
    """A `min_p` of 1 leaves only the likeliest viable token, as for a greedy answer."""
    fields = {**WORD, "max_tokens": 30}
    greedy = running.chat(**fields, temperature=0).json()["choices"]
    assert running.chat(**fields, temperature=2, min_p=1, seed=9).json()["choices"] == greedy


@pytest.mark.parametrize("kind", [WORD, {}])
def test_min_tokens_and_ignore_eos(running: Running, kind: dict[str, Any]) -> None:
    """No end comes before; with a constraint, the budget still holds."""
    fields = {**kind, "max_tokens": 12, "logit_bias": {str(STOP): 100}}
    for least in (5, 12):
        assert running.chat(**fields, min_tokens=least).json()["swyb"]["tokens_used"] in (least, least + 1, 12)
    if kind:
        error = error_of(running.chat(**fields, ignore_eos=True))
        assert (error["code"], error["param"]) == ("conflicting_parameters", "ignore_eos")
    else:
        choice = running.chat(**fields, ignore_eos=True).json()
        assert (choice["swyb"]["tokens_used"], choice["choices"][0]["finish_reason"]) == (12, "length")
    assert error_of(running.chat(**fields, min_tokens=13))["param"] == "min_tokens"


def test_stop_token_ids_end_plain_text(running: Running) -> None:
    """The token counts as used, and is no part of the text; one without bytes may come as well."""
    fields = {"max_tokens": 60, "seed": 5}
    whole = running.chat(**fields).json()
    for token in (next(byte for byte in whole["choices"][0]["message"]["content"].encode()[3:] if byte < 128), 270):
        found = running.chat(**fields, stop_token_ids=[token], logit_bias={"270": 100 * (token == 270)}).json()
        [choice] = found["choices"]
        assert choice["finish_reason"] == "stop"
        assert whole["choices"][0]["message"]["content"].startswith(choice["message"]["content"])
    assert error_of(running.chat(stop_token_ids=[VOCABULARY.size]))["param"] == "stop_token_ids"
    assert error_of(running.chat(logit_bias={str(VOCABULARY.size): 1}))["param"] == "logit_bias"


def test_stop_beside_a_constraint(running: Running) -> None:
    """Stops are kept where no answer contains them, and else refused with one that does."""
    fields = {**WORD, "max_tokens": 9, "seed": 1}
    answer = running.chat(**fields).json()["choices"]
    assert running.chat(**fields, stop=["\n\n", "abe"]).json()["choices"] == answer
    assert running.chat(**fields, stop_token_ids=[ord("x"), STOP]).json()["choices"] == answer
    for name, value, part in (("stop", "dada", "dada"), ("stop_token_ids", [ord("b")], "b")):
        error = error_of(running.chat(**fields, **{name: value}))
        assert (error["code"], error["param"]) == ("conflicting_parameters", name)
        assert part in error["example"]
        assert 3 <= len(error["example"]) <= 20
    lark = {"max_tokens": 9, "grammar": "start: WORD\nWORD: /[a-d]{3,20}/"}
    assert running.chat(**lark, stop="e").status_code == 200
    assert "ad" in error_of(running.chat(**lark, stop="ad"))["example"]
    assert error_of(running.chat(**lark, stop="ad", swyb={"lexer": "contextual"}))["param"] == "stop"


def test_logprobs_are_the_models_own(running: Running) -> None:
    """One for each token, jumps included, with the bytes that make up the text; streamed, the same."""
    fields = {**FORMAT, "max_tokens": 60, "seed": 4, "logprobs": True, "top_logprobs": 3}
    body = running.chat(**fields).json()
    [choice] = body["choices"]
    told = logprobs_of(choice)
    assert bytes(byte for one in told for byte in one["bytes"]).decode() == choice["message"]["content"]
    assert (
        choice["message"]
        == running.chat(**{**fields, "logprobs": None, "top_logprobs": None}).json()["choices"][0]["message"]
    )
    model = seeded(VOCABULARY.size, seed=3)
    history: tuple[int, ...] = ()
    for one in told:
        logits = model(history).astype(np.float64)
        token = VOCABULARY.token_bytes.index(bytes(one["bytes"]))
        assert one["logprob"] == pytest.approx(logits[token] - np.log(np.exp(logits).sum()), abs=1e-4)
        assert one["logprob"] <= one["swyb"]["logprob"] <= 0
        assert len(one["top_logprobs"]) == 3
        assert one["top_logprobs"][0]["logprob"] >= one["logprob"]
        history = (*history, token)
    streamed: list[ChatCompletionTokenLogprob] = []
    with running.openai() as client:
        for chunk in client.chat.completions.create(
            model="scripted",
            messages=[{"role": "user", "content": "hi"}],
            response_format=FORMAT["response_format"],
            max_tokens=60,
            seed=4,
            logprobs=True,
            top_logprobs=3,
            stream=True,
        ):
            if chunk.choices and chunk.choices[0].logprobs:
                streamed += chunk.choices[0].logprobs.content or []
    assert [one.logprob for one in streamed] == [one["logprob"] for one in told]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"min_p": 0.5}, "min_p"),
        ({"logprobs": True}, "logprobs"),
        ({"min_tokens": 2}, "min_tokens"),
        ({"top_logprobs": 2}, "top_logprobs"),
    ],
)
def test_what_beams_do_not_have(running: Running, fields: dict[str, Any], param: str) -> None:
    """Fields for single texts are refused by name with beams; penalties and biases count for every beam."""
    error = error_of(running.chat(**WORD, max_tokens=9, swyb={"beam_width": 2}, **fields))
    assert error["param"] == param
    found = running.chat(**WORD, max_tokens=9, swyb={"beam_width": 2}, logit_bias={"99": 100, "290": -100})
    assert set(found.json()["choices"][0]["message"]["content"]) == {"c"}


def test_neutral_values_change_nothing(running: Running) -> None:
    """Defaults of other servers are accepted, beams or not."""
    neutral = {
        "logprobs": False,
        "top_logprobs": 0,
        "presence_penalty": 0,
        "frequency_penalty": 0.0,
        "repetition_penalty": 1,
        "logit_bias": {},
        "min_p": 0,
        "min_tokens": 0,
        "ignore_eos": False,
        "stop_token_ids": [],
    }
    for more in ({}, {"swyb": {"beam_width": 2}}):
        fields = {**FORMAT, "max_tokens": 40, "seed": 4, **more}
        assert running.chat(**fields, **neutral).json()["choices"] == running.chat(**fields).json()["choices"]
