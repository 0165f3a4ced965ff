"""A server over a real vLLM engine that ends, or whose engine does: what becomes of the answers under way, and which
processes are left.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.admission import Stage
from server.service import Service
from server.settings import Settings
from tests.cached import model_folder
from tests.server.backends.vllm.conftest import SMALL, START_SECONDS, MakeEngine, Serving
from tests.server.backends.vllm.test_engine import body, chat, text
from tests.server.running import error_of, eventually, serving_backend

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("an engine that ends")]

psutil: Any = pytest.importorskip("psutil", reason="the package psutil is not installed: vLLM brings it")

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
GREEDY: dict[str, Any] = {"temperature": 0, "max_tokens": 450, "grammar": "root ::= [a-z ]{400,}"}


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
    """A server whose engine is killed, and that ends itself in the last test that asks for it."""
    with serving_backend(make_engine(), Settings(), START_SECONDS) as serving:
        yield serving


@pytest.mark.parametrize("title", ["EngineCore", pytest.param("Worker", marks=pytest.mark.full)])
def test_an_engine_that_is_killed_is_started_anew(mortal: Serving, others: list[Any], title: str) -> None:
    """Every request under way gets an error, new ones a 503 with a code of its own, until there are answers again."""
    _, service, client = mortal
    expected = text(chat(mortal, temperature=0, max_tokens=8))
    here = psutil.Process()
    with ThreadPoolExecutor(6) as threads:
        running = [threads.submit(client.post, "/v1/chat/completions", json=body(**GREEDY)) for _ in range(3)]
        running += [threads.submit(client.post, "/v1/chat/completions", json=body(max_tokens=480)) for _ in range(3)]
        eventually(lambda: service.backend.load.beams == 6)
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


def advance(service: Service, stage: Stage) -> None:
    """Advances the service to a stage of its end on the server's own event loop, as a signal does."""
    service.backend._loop.call_soon_threadsafe(service.advance, stage)  # type: ignore[attr-defined]


def begun(service: Service) -> int:
    """Number of the engine's texts that have begun, as its front end has been told."""
    processor = service.backend._supervisor.running._llm.output_processor  # type: ignore[attr-defined]
    return sum(not text.is_prefilling for text in list(processor.request_states.values()))


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
        eventually(lambda: service.backend.load.beams == 16, 60)
        eventually(lambda: begun(service) == 12, 60)  # what has not begun is refused instead
        time.sleep(1)  # more tokens: the first may be one without a text
        advance(service, Stage.FINISHING)
        for answering, stream in long:
            for text, reason, certificate in choices(answering.result(), stream):
                assert re.fullmatch(PATTERN, text)
                assert (reason, certificate["complete"], certificate["interrupted"]) == ("stop", True, "shutdown")
                assert certificate["tokens_used"] <= TOKENS
        for answering, stream in plain:
            [(text, reason, certificate)] = choices(answering.result(), stream)
            assert text and (reason, certificate["interrupted"]) == ("length", "shutdown")
    eventually(lambda: service.backend.load.beams == 0)
    late = client.post("/v1/chat/completions", json=body(**LONG))
    assert (late.status_code, error_of(late)["code"]) == (503, "shutting_down")


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
        request = body(stream=True, **GREEDY, model=None)
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
