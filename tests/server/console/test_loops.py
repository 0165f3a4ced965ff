"""Whoever runs a command is told when loops are compiled."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from numba import njit

from server.console import loops
from server.console.loops import announced
from tests.cached import model_folder
from tests.documents import ROOT


def test_compiling_is_announced_once(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling is announced at the first loop, with progress, and when it is over; loops that are there say
    nothing.
    """
    monkeypatch.setattr(loops, "BETWEEN_SECONDS", 0.0)

    @njit  # type: ignore[untyped-decorator]
    def one(x: int) -> int:
        return x + 1

    @njit  # type: ignore[untyped-decorator]
    def two(x: int) -> int:
        value: int = one(x)
        return value

    with announced():
        two(1)
    first, *progress, last = capsys.readouterr().err.splitlines()
    assert first == "swyb: compiling the loops, once: a minute or two…"
    assert progress
    assert all(re.fullmatch(r"swyb: compiled \d loops, \d+ s", line) for line in progress)
    assert "the loops are compiled after" in last
    with announced():
        two(2)
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
