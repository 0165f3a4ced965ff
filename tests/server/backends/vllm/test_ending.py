"""A server over a real vLLM engine that ends, or whose engine does: what becomes of the answers under way."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from server.admission import Stage
from server.service import Service
from server.settings import Settings
from tests.server.backends.vllm.conftest import START_SECONDS, MakeEngine, Serving
from tests.server.backends.vllm.test_engine import body
from tests.server.running import error_of, eventually, serving_backend

pytestmark = pytest.mark.model

PATTERN = "[a-z ]{400,4000}"
TOKENS = 200
"""Budget of each answer: all of them together fit into the engine's memory, so that none waits for another's end."""
LONG: dict[str, Any] = {"max_tokens": TOKENS, "response_format": {"type": "regex", "regex": PATTERN}}
HOW: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0},
    "drawn": {"temperature": 1.0, "n": 2},
    "beams": {"swyb": {"beam_width": 2}},
    "beams-n": {"swyb": {"beam_width": 2}, "n": 2},
}


@pytest.fixture
def mortal(make_engine: MakeEngine) -> Iterator[Serving]:
    with serving_backend(make_engine(), Settings(), START_SECONDS) as serving:
        yield serving


def advance(service: Service, stage: Stage) -> None:
    """Advances the service to a stage of its end on the server's own event loop, as a signal does."""
    service.backend._loop.call_soon_threadsafe(service.advance, stage)  # type: ignore[attr-defined]


def choices(response: httpx.Response, stream: bool) -> list[tuple[str, str, Any]]:
    """Texts, why they end, and their certificates."""
    assert response.status_code == 200, response.text
    if not stream:
        told = response.json()
        return [(c["message"]["content"], c["finish_reason"], c.get("swyb", told["swyb"])) for c in told["choices"]]
    assert re.fullmatch(r"(data: \{.*\}\n\n)+data: \[DONE\]\n\n", response.text)
    found: dict[int, tuple[str, str, Any]] = {}
    for line in response.text.split("\n\n")[:-2]:
        event = json.loads(line.removeprefix("data: "))
        [choice] = event["choices"]
        text, _, _ = found.get(choice["index"], ("", "", None))
        text += choice["delta"].get("content") or ""
        found[choice["index"]] = text, choice["finish_reason"], event.get("swyb")
    return list(found.values())


def test_answers_under_way_are_completed(mortal: Serving) -> None:
    """Answers of all ways to decode end, as streams and not; nothing is left in the engine, and plain answers end as
    `length`.
    """
    _, service, client = mortal
    ways = [(fields, stream) for fields in HOW.values() for stream in (False, True)]
    with ThreadPoolExecutor(10) as threads:

        def ask(fields: dict[str, Any], stream: bool) -> Any:
            return threads.submit(client.post, "/v1/chat/completions", json=body(**fields, stream=stream))

        long = [(ask({**LONG, **fields}, stream), stream) for fields, stream in ways]
        # `ignore_eos`: a drawn answer may otherwise end by itself before the shutdown.
        endless = {"max_tokens": TOKENS, "temperature": 1, "ignore_eos": True}
        plain = [(ask(endless, stream), stream) for stream in (False, True)]
        eventually(lambda: service.backend.active == 12, 60)
        eventually(lambda: len(service.backend._supervisor.running._asked) == 12, 60)  # type: ignore[attr-defined]
        time.sleep(2)  # some tokens of each
        advance(service, Stage.FINISHING)
        for answering, stream in long:
            for text, reason, certificate in choices(answering.result(), stream):
                assert re.fullmatch(PATTERN, text)
                assert (reason, certificate["complete"], certificate["interrupted"]) == ("stop", True, "shutdown")
                assert certificate["tokens_used"] <= TOKENS
        for answering, stream in plain:
            [(text, reason, certificate)] = choices(answering.result(), stream)
            assert text and (reason, certificate["interrupted"]) == ("length", "shutdown")
    eventually(lambda: service.backend.active == 0)
    late = client.post("/v1/chat/completions", json=body(**LONG))
    assert (late.status_code, error_of(late)["code"]) == (503, "shutting_down")
