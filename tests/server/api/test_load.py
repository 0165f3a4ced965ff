"""Clients that are too many, and clients that go away."""

from __future__ import annotations

import threading
import time
from typing import Any

import httpx
import pytest

from server.settings import Settings
from tests.server.engines.scripts import uniform
from tests.server.running import VOCABULARY, error_of, eventually, serving


def test_requests_beyond_the_limit_are_turned_away() -> None:
    """A request is told to come back when all places are taken, and the running ones are unharmed."""
    gate = threading.Event()
    plain = uniform(VOCABULARY.size)

    def slow(history: tuple[int, ...]) -> Any:
        if len(history) >= 3:
            gate.wait(20)
        return plain(history)

    with serving(slow, Settings(running=1, waiting=1)) as running:
        texts: list[int] = []
        fields = {"response_format": {"type": "regex", "regex": "[ab]{9}"}}
        threads = [threading.Thread(target=lambda: texts.append(running.chat(**fields).status_code)) for _ in range(2)]
        for thread in threads:
            thread.start()
        eventually(lambda: running.service.present == 2)
        refused = running.chat(**fields)
        assert (refused.status_code, error_of(refused)["code"]) == (429, "overloaded")
        assert refused.headers["retry-after"] == "1"
        assert running.client.get("/health").json()["active_requests"] == 2
        gate.set()
        for thread in threads:
            thread.join()
        assert texts == [200, 200]
        assert running.service.present == 0


@pytest.mark.parametrize("streamed", [False, True])
def test_a_client_that_goes_ends_its_request(streamed: bool) -> None:
    """A client that hangs up stops the work, and its place is free."""
    plain = uniform(VOCABULARY.size)

    def slow(history: tuple[int, ...]) -> Any:
        time.sleep(0.01)
        return plain(history)

    with serving(slow, context_window=100_000) as running:
        fields = {"grammar": 'root ::= "a"{20000}', "stream": streamed, "max_tokens": 30_000}
        body = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}], **fields}
        body["swyb"] = {"jump_forward": False}
        with httpx.Client(base_url=running.base, timeout=60) as client:
            if streamed:
                with client.stream("POST", "/v1/chat/completions", json=body) as response:
                    next(response.iter_bytes())
            else:
                with pytest.raises(httpx.ReadTimeout):
                    client.post("/v1/chat/completions", json=body, timeout=3)
        eventually(lambda: running.service.present == 0 and running.engine.open_sequences == 0)
        assert running.engine.steps < 20_000
        assert running.chat(grammar='root ::= "a"').status_code == 200
