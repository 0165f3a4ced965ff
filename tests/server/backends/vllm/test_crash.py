"""Losses when the engine dies, and what is left when the server does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.settings import Settings
from tests.cached import model_folder
from tests.server.backends.vllm.conftest import SMALL, START_SECONDS, MakeEngine, Serving
from tests.server.backends.vllm.test_engine import body, chat, text
from tests.server.running import error_of, eventually, serving_backend

pytestmark = pytest.mark.model

psutil: Any = pytest.importorskip("psutil", reason="the package psutil is not installed: vLLM brings it")

LONG: dict[str, Any] = {"temperature": 0, "max_tokens": 450, "grammar": "root ::= [a-z ]{400,}"}


def processes(of: Any, title: str, others: Collection[Any] = ()) -> list[Any]:
    """The processes that a server has started, by what vLLM calls them; without those of others."""
    found = []
    for process in of.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # some live for a moment
            if process not in others and title in " ".join(process.cmdline()):
                found.append(process)
    return found


@pytest.fixture(scope="module")
def others() -> list[Any]:
    """The processes of engines that other tests have started from this one, and still use."""
    return list(psutil.Process().children(recursive=True))


@pytest.fixture(scope="module")
def mortal(others: list[Any], make_engine: MakeEngine) -> Iterator[Serving]:
    with serving_backend(make_engine(), Settings(), START_SECONDS) as serving:
        yield serving


@pytest.mark.parametrize("title", ["EngineCore", pytest.param("Worker", marks=pytest.mark.full)])
def test_an_engine_that_is_killed_is_started_anew(mortal: Serving, others: list[Any], title: str) -> None:
    """Every request under way gets an error, new ones a 503 with a code of its own, until there are answers again."""
    _, service, client = mortal
    expected = text(chat(mortal, temperature=0, max_tokens=8))
    here = psutil.Process()
    with ThreadPoolExecutor(6) as threads:
        running = [threads.submit(client.post, "/v1/chat/completions", json=body(**LONG)) for _ in range(3)]
        running += [threads.submit(client.post, "/v1/chat/completions", json=body(max_tokens=480)) for _ in range(3)]
        eventually(lambda: service.backend.active == 6)
        for process in processes(here, title, others):
            process.kill()
        lost = [request.result() for request in running]
    assert {(response.status_code, error_of(response)["code"]) for response in lost} == {(500, "engine_error")}
    refused = client.post("/v1/chat/completions", json=body())
    assert (refused.status_code, error_of(refused)["code"]) == (503, "engine_restarting")
    assert "retry-after" in refused.headers
    assert error_of(client.get("/ready"))["code"] == "engine_restarting"
    assert client.get("/health").status_code == 200
    eventually(lambda: client.get("/ready").status_code == 200, START_SECONDS)
    assert text(chat(mortal, temperature=0, max_tokens=8)) == expected
    eventually(lambda: len(processes(here, title, others)) == 1)


@contextmanager
def serve() -> Iterator[subprocess.Popen[str]]:
    """`swyb serve` with the vLLM engine, in a process group of its own; killed when the block ends."""
    options = ["--engine", "vllm", "--model", str(model_folder()), "--port", "0", "--", *SMALL]
    command = [sys.executable, "-m", "server", "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.full
@pytest.mark.parametrize(("how", "status"), [("terminate", 0), ("interrupt", 0), ("kill", -signal.SIGKILL)])
def test_a_server_leaves_no_process(make_engine: MakeEngine, how: str, status: int) -> None:
    """However it ends, and though a request is running. A terminal interrupts all processes at once."""
    with serve() as process:
        assert process.stdout is not None
        _, url, *_ = process.stdout.readline().split()
        started = psutil.Process(process.pid).children(recursive=True)
        assert len(started) >= 2
        request = body(stream=True, **LONG, model=None)
        with httpx.stream("POST", url, json=request, timeout=60) as response:
            next(response.iter_lines())
            if how == "interrupt":
                os.killpg(process.pid, signal.SIGINT)
            else:
                getattr(process, how)()
            assert process.wait(60) == status
    _, alive = psutil.wait_procs(started, timeout=30)
    assert not alive


@pytest.mark.full
def test_a_server_that_ends_while_it_starts_leaves_no_process(make_engine: MakeEngine) -> None:
    """Loading a large model takes minutes: nobody waits for that."""
    with serve() as process:
        eventually(lambda: processes(psutil.Process(process.pid), "EngineCore"), START_SECONDS)
        started = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        assert process.wait(60) in (0, 1)
    _, alive = psutil.wait_procs(started, timeout=30)
    assert not alive


def test_a_model_that_cannot_be_loaded_is_told(tmp_path: Path, make_engine: MakeEngine) -> None:
    with pytest.raises(ValueError, match="not a model's folder"):
        make_engine(folder=tmp_path / "none")
