"""Thoughts over vLLM: plain texts to the engine, closed in time for the answer."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from tests.server.backends.vllm.conftest import Serving
from tests.server.running import error_of, schema_format

pytestmark = pytest.mark.xdist_group("beams and thoughts")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}},
    "required": ["answer"],
    "additionalProperties": False,
}
ASKED: dict[str, Any] = {
    "messages": [{"role": "user", "content": "What are 12 and 30 together? Answer as JSON."}],
    "response_format": schema_format(SCHEMA),
    "think": True,
}


def asked(vllm: Serving, **fields: Any) -> Any:
    _, _, client = vllm
    return client.post("/v1/chat/completions", json={**ASKED, **fields})


@pytest.mark.parametrize("how", [{"temperature": 0}, {"n": 2, "seed": 3}, {"swyb": {"beam_width": 2}}], ids=str)
def test_answers_are_complete_behind_thoughts(vllm: Serving, how: dict[str, Any]) -> None:
    """Answers are valid from the least budget on, and have no more tokens than the budget with their thoughts."""
    least = error_of(asked(vllm, max_tokens=1))["min_tokens"]
    assert error_of(asked(vllm, max_tokens=least - 1))["code"] == "budget_too_small"
    for budget in (least, least + 3, least + 40):
        body = asked(vllm, **how, max_tokens=budget).json()
        for choice in body["choices"]:
            known = choice.get("swyb") or body["swyb"]
            jsonschema.validate(json.loads(choice["message"]["content"]), SCHEMA)
            assert known["complete"] and known["thinking"]["tokens"] < known["tokens_used"] <= budget
    assert body["choices"][0]["message"]["reasoning"]


def test_a_stream_tells_the_thought_first(vllm: Serving) -> None:
    """Deltas of the thought come before those of the answer."""
    lines = asked(vllm, temperature=0, max_tokens=60, stream=True).text.split("\n")
    deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in lines if line.startswith("data: {")]
    kinds = ["reasoning" if "reasoning" in delta else "content" for delta in deltas[1:-1]]
    assert kinds == sorted(kinds, reverse=True) and set(kinds) == {"reasoning", "content"}
    jsonschema.validate(json.loads("".join(delta.get("content") or "" for delta in deltas)), SCHEMA)
