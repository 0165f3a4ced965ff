"""Beams over a real vLLM engine: the answers of transformers, and no standstill where memory is short."""

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
from tests.server.running import error_of, eventually, serving_backend

pytestmark = pytest.mark.model

BLOCKS = 40
"""Blocks of 32 tokens: two answers of four beams fit, barely."""


@pytest.fixture(scope="module")
def starved(make_engine: MakeEngine) -> Iterator[Serving]:
    options = ("--num-gpu-blocks-override", str(BLOCKS), "--block-size", "32", "--max-num-seqs", "20")
    with serving_backend(make_engine(options=options), Settings(), START_SECONDS) as serving:
        yield serving


def beams(width: int, **options: Any) -> dict[str, Any]:
    return {"swyb": {"beam_width": width, **options}}


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_beams_are_those_of_transformers(vllm: Serving, transformers: Serving, constraint: str, width: int) -> None:
    """Texts are equal from the least budget on, and with a guided one between; a score is a sum in float32."""
    fields = {**CONSTRAINTS[constraint], **beams(width)}
    whole = chat(vllm, **fields)
    least = max(1, whole["swyb"]["min_tokens"] or 1)
    assert text(whole) == text(chat(transformers, **fields))
    for budget, alpha in ((least, 0.0), (least + 2, 0.25)):
        short = {**CONSTRAINTS[constraint], **beams(width, alpha=alpha), "max_tokens": budget}
        here, there = chat(vllm, **short), chat(transformers, **short)
        assert text(here) == text(there)
        for field in ("complete", "tokens_used", "budget_forced_tokens"):
            assert here["swyb"][field] == there["swyb"][field]


@pytest.mark.parametrize("constraint", ["schema", "grammar", "choice"])
def test_jumps_over_forced_text_are_those_of_transformers(
    vllm: Serving, transformers: Serving, constraint: str
) -> None:
    """Jumps have as many tokens, too; a single text that jumps is searched as beams are."""
    options = {"jump_forward": "text"} | ({"whitespace": "compact"} if constraint == "schema" else {})
    for width in (1, 3):
        fields = {**CONSTRAINTS[constraint], **beams(width, **options), "temperature": 0}
        here, there = chat(vllm, **fields), chat(transformers, **fields)
        assert text(here) == text(there)
        assert here["swyb"]["tokens_used"] == there["swyb"]["tokens_used"]


@pytest.mark.parametrize("constraint", ["schema", "plain"])
def test_a_stream_of_beams_is_the_answer(vllm: Serving, constraint: str) -> None:
    fields = {**CONSTRAINTS[constraint], **beams(3)}
    pieces, last = streamed(vllm, **fields)
    assert pieces == text(chat(vllm, **fields))
    assert last["swyb"]["beam_width"] == 3


def test_who_goes_away_takes_all_beams_along(vllm: Serving) -> None:
    """A client that goes away leaves nothing of its request, and others are answered."""
    _, service, client = vllm
    endless = body(stream=True, max_tokens=400, grammar='root ::= "aa" [a-z ]*', **beams(4))
    with client.stream("POST", "/v1/chat/completions", json=endless) as response:
        next(response.iter_lines())
    eventually(lambda: service.present == 0)
    assert text(chat(vllm, **CONSTRAINTS["choice"], **beams(2)))


def test_a_crowd_in_little_memory(starved: Serving) -> None:
    """Groups of beams from the least budget on, streams and plain requests at once: all are answered, in whole."""
    _, service, _ = starved
    least = chat(starved, **CONSTRAINTS["schema"])["swyb"]["min_tokens"]
    crowd: list[dict[str, Any]] = []
    for extra in (0, 1, 8, 40):
        crowd.append({**CONSTRAINTS["schema"], **beams(4), "max_tokens": least + extra})
        crowd.append({**CONSTRAINTS["schema"], "temperature": 1.0, "seed": extra, "max_tokens": least + extra})
        crowd.append({"temperature": 0, "max_tokens": 30 + extra})
        crowd.append({"temperature": 0, **beams(2), "max_tokens": 10 + extra})
    with ThreadPoolExecutor(len(crowd)) as threads:
        answers = list(threads.map(lambda fields: chat(starved, **fields), crowd))
    for fields, answer in zip(crowd, answers, strict=True):
        if "response_format" in fields:
            jsonschema.validate(json.loads(text(answer)), CAT)
    assert service.present == 0


def test_beams_that_never_fit_are_refused(starved: Serving) -> None:
    """Beams that never fit are refused before a stream begins, too."""
    _, _, client = starved
    for stream in (False, True):
        refused = client.post("/v1/chat/completions", json=body(max_tokens=300, stream=stream, **beams(4)))
        assert (refused.status_code, error_of(refused)["code"]) == (400, "memory_exceeded")
        assert "the engine has 39 and 20" in error_of(refused)["message"]
    refused = client.post("/v1/chat/completions", json=body(max_tokens=2, **beams(16)))
    assert "16 places" in error_of(refused)["message"]
