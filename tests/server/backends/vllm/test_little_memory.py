"""Beams over a real vLLM engine that has little memory: no standstill, and a refusal of what never fits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema
import pytest

from server.settings import Settings
from tests.server.backends.vllm.conftest import START_SECONDS, MakeEngine, Serving
from tests.server.backends.vllm.test_beam_answers import beams
from tests.server.backends.vllm.test_engine import CAT, CONSTRAINTS, body, chat, text
from tests.server.running import error_of, serving_backend

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("little memory")]

BLOCKS = 40
"""Blocks of 32 tokens: two answers of four beams fit, barely."""


@pytest.fixture(scope="module")
def starved(make_engine: MakeEngine) -> Iterator[Serving]:
    options = ("--num-gpu-blocks-override", str(BLOCKS), "--block-size", "32", "--max-num-seqs", "20")
    with serving_backend(make_engine(options=options), Settings(), START_SECONDS) as serving:
        yield serving


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
