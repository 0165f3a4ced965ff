"""Beams over a real vLLM engine: the answers of transformers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.backends.vllm.conftest import Serving
from tests.server.backends.vllm.test_engine import CONSTRAINTS, body, chat, streamed, text
from tests.server.running import eventually

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("beams and thoughts")]


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
