"""Ends of commands: a server's times by command line, environment or default, and output that nobody reads on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from server.cli import parse
from server.commands.serve import configuration, settings_of
from server.settings import Settings
from tests.grammar_cache.store.databases import begun_store


def given(*words: str) -> tuple[float, float, str]:
    found = settings_of(configuration(parse(["serve", "--store", "none", *words])), "transformers")
    return found.drain_seconds, found.shutdown_seconds, found.on_engine_failure


def test_options_come_before_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    default = Settings()
    assert given() == (default.drain_seconds, default.shutdown_seconds, default.on_engine_failure) == (5, 10, "exit")
    for name, value in (("DRAIN_SECONDS", "0"), ("SHUTDOWN_SECONDS", "2.5"), ("ON_ENGINE_FAILURE", "stay")):
        monkeypatch.setenv(f"SWYB_{name}", value)
    assert given() == (0, 2.5, "stay")
    assert given("--drain-seconds", "1", "--on-engine-failure", "exit") == (1, 2.5, "exit")


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "soon"])
def test_times_are_times(value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A time that is none is an error on the command line and in the environment."""
    with pytest.raises(SystemExit):
        given(f"--shutdown-seconds={value}")
    assert "is not a number of seconds" in capsys.readouterr().err
    monkeypatch.setenv("SWYB_SHUTDOWN_SECONDS", value)
    with pytest.raises(ValueError, match=f"SWYB_SHUTDOWN_SECONDS: '{value}' is not a number of seconds from 0 to"):
        given()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_ends_is_no_error(unbuffered: str, tmp_path: Path) -> None:
    """A reader may end before it has read all, as `head` does: no message, whether output waits in a buffer or not."""
    begun_store(tmp_path / "store")
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "swyb", "grammars", "list", "--store", f"sqlite://{tmp_path / 'store'}"]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command, stdout=write, stderr=subprocess.PIPE, text=True, env=environment) as process:
        os.close(write)
        _, said = process.communicate(timeout=120)
    assert (process.returncode, said) == (1, "")


def test_an_interruption_while_loops_are_compiled_is_no_error(tmp_path: Path) -> None:
    """A first start takes a minute or two: an interruption ends it at once, without a word, and all that it began."""
    for name in ("expression", "text"):
        (tmp_path / name).write_text("a")
    command = [sys.executable, "-m", "swyb", "check", "--regex", str(tmp_path / "expression"), str(tmp_path / "text")]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "loops")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("swyb: compiling the loops")
        os.killpg(process.pid, signal.SIGINT)
        output, said = process.communicate(timeout=60)
    assert (process.returncode, output, said) == (130, "", "")
