"""Engines with options of vLLM's own that change how tokens come: drafts, and other processors of logits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema
import pytest

from server.settings import Settings
from tests.server.backends.vllm.conftest import START_SECONDS, MakeEngine, Serving
from tests.server.backends.vllm.test_engine import CAT, CONSTRAINTS, body, chat, streamed, text
from tests.server.running import error_of, serving_backend

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("vllm")]

QUICK = ("schema", "lark")
"""Constraints that the quick tier tries with drafts: of a schema, and with a lexer."""
NGRAM = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3, "prompt_lookup_min": 1}


@pytest.fixture(scope="module")
def drafting(make_engine: MakeEngine) -> Iterator[Serving]:
    options = ("--speculative-config", json.dumps(NGRAM))
    with serving_backend(make_engine(options=options), Settings(), START_SECONDS) as serving:
        yield serving


@pytest.mark.parametrize(
    "constraint", [one if one in QUICK else pytest.param(one, marks=pytest.mark.full) for one in CONSTRAINTS]
)
def test_drafts_change_no_greedy_answer(drafting: Serving, vllm: Serving, constraint: str) -> None:
    """Texts are those without drafts from the least budget on, and so is what the budget did."""
    fields = {**CONSTRAINTS[constraint], "temperature": 0}
    least = chat(vllm, **fields)["swyb"]["min_tokens"] or 3
    for budget in (least, least + 1, least + 4, 40):
        here, there = (chat(serving, **{**fields, "max_tokens": budget}) for serving in (drafting, vllm))
        assert text(here) == text(there)
        for field in ("complete", "tokens_used", "tight_steps", "budget_affected", "budget_ended"):
            assert here["swyb"][field] == there["swyb"][field]


def test_drawn_answers_with_drafts_are_whole(drafting: Serving) -> None:
    """Many at once, with and without seeds, penalties and truncation, from the least budget on."""
    least = chat(drafting, **CONSTRAINTS["schema"])["swyb"]["min_tokens"]
    penalties = {"presence_penalty": 1.0, "frequency_penalty": 0.5}
    ways: list[dict[str, Any]] = [{"seed": 3}, {"top_p": 0.8}, penalties, {"temperature": 2.0}]
    asked = [{**CONSTRAINTS["schema"], **way, "max_tokens": least + more} for way in ways for more in (0, 1, 7, 60)]
    with ThreadPoolExecutor(len(asked)) as threads:
        answers = list(threads.map(lambda fields: chat(drafting, **fields), asked))
    for answer in answers:
        jsonschema.validate(json.loads(text(answer)), CAT)
        assert answer["swyb"]["complete"]
        assert answer["swyb"]["interrupted"] is None


def test_greedy_and_drawn_answers_share_drafts(drafting: Serving) -> None:
    """Greedy answers beside drawn ones are what they are alone."""
    repeated = {"grammar": 'root ::= ("ab, " | "cd, " | "ab; "){3,40} "end"', "max_tokens": 60}
    greedy = {**repeated, "temperature": 0}
    ways: list[dict[str, Any]] = [{"temperature": 0.01}, {"temperature": 1.5, "top_p": 0.9}, {"temperature": 1.0}]
    alone = text(chat(drafting, **greedy))
    asked = [greedy, *({**repeated, **way, "seed": 3} for way in ways)] * 3
    with ThreadPoolExecutor(len(asked)) as threads:
        answers = list(threads.map(lambda fields: chat(drafting, **fields), asked))
    assert {text(answer) for answer in answers[0::4]} == {alone}
    assert all(answer["swyb"]["interrupted"] is None for answer in answers)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"swyb": {"beam_width": 2}}, "swyb.beam_width"),
        ({"swyb": {"alpha": 0.5}, "temperature": 0}, "swyb.alpha"),
        ({"min_p": 0.2}, "min_p"),
        ({"logit_bias": {"5": 1}}, "logit_bias"),
        ({"top_k": 5, "temperature": 1}, "top_k"),
        ({"swyb": {"trace": True}}, "swyb.trace"),
    ],
)
def test_what_drafts_leave_no_place_for_is_refused(drafting: Serving, fields: dict[str, object], param: str) -> None:
    """Each by its name, before the engine hears of it."""
    refused = drafting[2].post("/v1/chat/completions", json=body(**fields))
    assert (refused.status_code, error_of(refused)["param"]) == (400, param)


@pytest.mark.full
def test_a_processor_that_forbids_all_that_is_left(make_engine: MakeEngine) -> None:
    """An answer that is being read is completed without the model, and flagged; else there is an error."""
    options = ("--logits-processors", "tests.server.backends.vllm.processors:Silencing")
    with serving_backend(make_engine(options=options), Settings(), START_SECONDS) as serving:
        pieces, last = streamed(serving, **CONSTRAINTS["schema"], temperature=0)
        jsonschema.validate(json.loads(pieces), CAT)
        assert last["swyb"]["interrupted"] == "failure"
        refused = serving[2].post("/v1/chat/completions", json=body(**CONSTRAINTS["schema"], temperature=0))
        assert error_of(refused)["code"] == "engine_error"
        assert text(chat(serving, temperature=0)) == ""
        assert serving[2].get("/ready").status_code == 200
