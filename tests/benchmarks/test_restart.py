"""Real server processes that end by signals, or with their engines: nobody is told half an answer."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import httpx
import pytest

from benchmarks.restart.restart import UNWANTED, Outcomes, Plan, restarted
from benchmarks.restart.server import Options
from server.settings import ENGINE_FAILED
from tests.cached import model_folder
from tests.server.running import error_of, eventually

BODY = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 400}
LONG: dict[str, Any] = {**BODY, "grammar": "root ::= [a-z]{300}"}
BRIEF: dict[str, Any] = {**BODY, "grammar": "root ::= [a-z]{5}"}

ENOUGH = 550.0
"""Seconds in which long answers end on a busy machine too; a client waits for ten minutes."""


def judged(found: Outcomes, answers: int) -> set[str]:
    """Fate of the long answers, none of which is torn, invalid or lost; short ones know nothing of it."""
    assert not [result for result in (*found.long, *found.brief) if result.outcome in UNWANTED]
    assert len(found.long) == answers
    assert {result.outcome for result in found.brief} == {"whole"}
    assert found.status == 0
    return {result.outcome for result in found.long}


def test_a_rolling_restart() -> None:
    """Every kind, as a stream and not, twice; all of them are under way when their time is up."""
    plan = Plan(answers=24, tokens=120, delay=0.05, drain=0.7, shutdown=0.5, progress=1.0)
    found = asyncio.run(restarted(plan))
    assert judged(found, 24) == {"witness", "length"}
    assert found.seconds < 10


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shutdown", [10.0, ENOUGH])
def test_a_rolling_restart_with_many_answers(shutdown: float) -> None:
    """200 answers of 30 s: some time isn't enough for them, and more time is."""
    plan = Plan(answers=200, tokens=300, delay=0.1, drain=3.0, shutdown=shutdown, progress=6.0)
    outcomes = judged(asyncio.run(restarted(plan)), 200)
    assert outcomes == ({"witness", "length"} if shutdown == 10.0 else {"whole"})


@pytest.mark.full
@pytest.mark.model
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("tokens", "shutdown", "progress"), [(1500, 10.0, 10.0), (300, ENOUGH, 5.0)])
def test_a_rolling_restart_of_the_embedded_model(tokens: int, shutdown: float, progress: float) -> None:
    """20 answers: ten seconds aren't enough for the longest of 1,500 tokens, and more time is for those of 300."""
    model_folder()
    plan = Plan(answers=20, tokens=tokens, delay=None, drain=3.0, shutdown=shutdown, progress=progress)
    outcomes = judged(asyncio.run(restarted(plan)), 20)
    assert outcomes == {"whole"} if shutdown == ENOUGH else {"witness", "length"} <= outcomes


@contextmanager
def serving(**options: Any) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A process, ready or failed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.restart.server", json.dumps(asdict(Options(port, **options)))]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
    ):
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield process, client
        finally:
            process.kill()


def chat(client: httpx.Client, body: dict[str, Any]) -> httpx.Response:
    return client.post("/v1/chat/completions", json=body)


def test_stages_of_a_process() -> None:
    """A process that drains isn't ready, yet answers; then nobody gets in; a second signal ends the answers that are
    left.
    """
    with serving(delay=0.02, drain=1.5, shutdown=60) as (process, client):
        assert chat(client, BRIEF).status_code == 200
        streamed = client.stream("POST", "/v1/chat/completions", json={**LONG, "stream": True})
        with streamed as response:
            lines = response.iter_lines()
            next(lines)
            process.terminate()
            eventually(lambda: client.get("/ready").status_code == 503, 5)
            assert error_of(client.get("/ready"))["code"] == "shutting_down"
            assert chat(client, BRIEF).status_code == 200  # by a connection that is kept
            eventually(lambda: chat(client, BRIEF).status_code == 503, 5)
            with pytest.raises(httpx.ConnectError):  # the refusal has closed that connection
                chat(client, BRIEF)
            assert process.poll() is None
            process.terminate()
            rest = list(lines)
        assert rest[-2:] == ["data: [DONE]", ""]
        certificate = json.loads(rest[-4].removeprefix("data: "))["swyb"]
        assert (certificate["complete"], certificate["interrupted"]) == (True, "shutdown")
        assert process.wait(10) == 0


@pytest.mark.full
def test_an_interrupt_drains_nobody() -> None:
    """Whoever stops a server from a terminal waits for the answers, and for nothing else."""
    with serving(drain=60) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_a_failed_engine_ends_the_process() -> None:
    """The process ends with a status of its own where its engine has failed, after the answers that were under way."""
    with serving(fails=40) as (process, client):
        response = chat(client, LONG)
        assert response.status_code == 200
        assert len(response.json()["choices"][0]["message"]["content"]) == 300
        assert response.json()["swyb"]["interrupted"] == "failure"
        assert process.wait(10) == ENGINE_FAILED == 70


@pytest.mark.full
def test_an_engine_that_fails_at_once_ends_the_process() -> None:
    """A model that can't compute its first answer isn't served."""
    with serving(fails=1) as (process, _):
        assert process.wait(10) == ENGINE_FAILED


@pytest.mark.full
def test_a_process_may_stay_without_its_engine() -> None:
    """A process without its engine says so by its liveness, and signals end it as ever."""
    with serving(fails=40, on_failure="stay") as (process, client):
        chat(client, LONG)
        health = client.get("/health")
        assert (health.status_code, error_of(health)["code"]) == (503, "engine_failed")
        process.terminate()
        assert process.wait(10) == 0
