"""A process that follows ends with the one that started it, even if that one is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from server.backends.vllm.frontend.lifeline import FRONT_END, follow

ROOT = Path(__file__).parents[5]
# A front end that starts an engine, which says that it lives and then waits. What is inherited is its output: it ends
# when all that hold it have ended.
FRONT_END_PROGRAM = """
import multiprocessing, os, signal, sys, time
from server.backends.vllm.frontend.lifeline import FRONT_END, follow

def engine():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever whoever runs the tests has it do
    follow()
    print(os.getpid(), signal.getsignal(signal.SIGINT) == signal.SIG_IGN, flush=True)
    time.sleep(600)

if __name__ == "__main__":
    if sys.argv[1] == "tied":
        os.environ[FRONT_END] = str(os.getpid())
    process = multiprocessing.get_context("spawn").Process(target=engine)
    process.start()
    process.join()
"""


def started(tmp_path: Path, how: str) -> tuple[subprocess.Popen[str], int, bool]:
    """A front end, its engine's process id, and whether that ignores interrupts."""
    program = tmp_path / "front_end.py"
    program.write_text(FRONT_END_PROGRAM)
    # Without the front end of an engine that these tests have started themselves.
    environment = {name: value for name, value in os.environ.items() if name != FRONT_END} | {"PYTHONPATH": str(ROOT)}
    front_end = subprocess.Popen([sys.executable, program, how], stdout=subprocess.PIPE, text=True, env=environment)
    assert front_end.stdout is not None
    engine, ignores = front_end.stdout.readline().split()
    return front_end, int(engine), ignores == "True"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_engine_ends_with_its_front_end(tmp_path: Path, number: signal.Signals) -> None:
    front_end, _, ignores = started(tmp_path, "tied")
    with front_end:
        front_end.send_signal(number)
        front_end.communicate(timeout=20)  # returns when nobody can write any more: the engine has ended, too
    assert ignores


def test_other_processes_are_left_alone(tmp_path: Path) -> None:
    """vLLM may be started by others in the same environment."""
    front_end, engine, ignores = started(tmp_path, "free")
    with front_end:
        front_end.kill()
        front_end.wait()
        os.kill(engine, signal.SIGKILL)  # it lives
    assert not ignores


def test_the_front_end_itself_follows_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setenv(FRONT_END, str(os.getpid()))
    follow()
    assert signal.getsignal(signal.SIGINT) is handler
