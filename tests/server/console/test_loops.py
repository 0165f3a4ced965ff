"""Whoever runs a command is told when loops are compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from server.console import loops
from server.console.loops import compile_missing_loops
from tests.cached import model_folder
from tests.documents import ROOT


def test_compiling_is_told_with_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling is told before the first loop, at times in between, and when it is over."""
    times = iter([100.0, 100.0, 103.0, 106.0, 108.0, 113.0, 130.0])
    monkeypatch.setattr(loops, "monotonic", lambda: next(times))
    progress = loops._Progress()
    for done in range(6):
        progress(done, 5)
    assert capsys.readouterr().err.splitlines() == [
        "swyb: compiling the loops, once: a minute or two…",
        "swyb: compiled 2 of 5 loops, 6 s",
        "swyb: compiled 4 of 5 loops, 13 s",
        "swyb: the loops are compiled after 30 s, and kept for the next start",
    ]


def test_loops_that_are_kept_say_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A second time there is nothing to compile."""
    compile_missing_loops()
    capsys.readouterr()
    compile_missing_loops()
    assert capsys.readouterr().err == ""


@pytest.mark.full
def test_a_cold_certificate_says_what_takes_long(tmp_path: Path) -> None:
    """A certificate with nothing compiled says so, and that time isn't the grammar's; the next one is quiet."""
    line = [sys.executable, "-m", "server", "certify", "--schema", "examples/person.schema.json"]
    line += ["--model", str(model_folder())]
    told, spent = [], []
    for _ in range(2):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(line, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
        told.append(done.stderr)
        spent.append(json.loads(done.stdout)["compile_ms"])
    assert told[0].startswith("swyb: compiling the loops, once")
    assert len(told[0].splitlines()) > 2
    assert told[1] == ""
    assert max(spent) < 5000  # compiling the loops takes ten times as long
