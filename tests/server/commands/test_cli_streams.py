"""Streams and files of commands: closed or full, not to be read, and bytes that are no text."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from grammar_cache.store.backends.sqlite import EmbeddedStore
from grammar_cache.store.contract import StoreError
from server.cli import main, parse
from server.console.options import stored
from tests.grammar_cache.store.databases import begun_store
from tests.server.commands.test_cli import told, write
from tests.server.commands.test_precompute import pairs

__all__ = ["pairs", "write"]


def ended(line: str) -> tuple[int, str, str]:
    """Status and output of a command line of a shell, `swyb` being that of this tree."""
    command = line.replace("swyb", shlex.join([sys.executable, "-m", "swyb"]), 1)
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("line", "status", "message"),
    [
        ("swyb --version > /dev/full", 1, "swyb: error: the output can't be written: No space left on device\n"),
        ("swyb check --shipped json x >&-", 2, "swyb: error: the standard output is closed\n"),
        ("swyb grammars list >&-", 1, "swyb: error: the standard output is closed\n"),
        ("swyb check --choice - x <&-", 2, "swyb check: error: the standard input is closed\n"),
    ],
)
def test_streams_that_are_closed_or_full(
    line: str, status: int, message: str, unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line says what is wrong, whether output waits in a buffer or not."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    assert ended(line) == (status, "", message)


def test_a_verdict_that_nobody_reads_is_none(write: Any) -> None:
    """Status 1 would say that the text doesn't belong."""
    line = f"swyb check --choice {write('choice', json.dumps(['a']))} {write('text', 'a')}"
    unread = f"{{ sleep 0.2; {line}; echo $? >&2; }} | true"
    assert ended(line)[0] == 0
    assert ended(unread) == (0, "", "2\n")


def test_bytes_that_are_no_text_are_refused_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments that aren't UTF-8 are told before any model is loaded."""
    for words in (["\udcff"], ["hi", "--system", "\udcff"], ["hi", "--start", "\udcff"]):
        with pytest.raises(SystemExit) as refusal:
            main(["generate", *words])
        assert refusal.value.code == 2
        assert "the value is not UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "why"])
def test_a_judge_that_can_read_nothing_gives_no_verdict(
    command: str, tmp_path: Path, write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 1 says that a text doesn't belong, or that a token may not follow: files that can't be read are a 2."""
    (tmp_path / "latin").write_bytes(b"{\n\xe9}")
    rest = [write("text", "x")] if command == "check" else ["--token", "x"]
    reasons = {
        tmp_path / "none": f"{tmp_path}/none: No such file or directory",
        tmp_path: f"{tmp_path}: Is a directory",
        tmp_path / "latin": f"{tmp_path}/latin:2: this is not UTF-8 (invalid continuation byte)",
    }
    for file, reason in reasons.items():
        assert main([command, "--schema", str(file), *rest]) == 2
        assert capsys.readouterr().err == f"swyb {command}: error: {reason}\n"
    if command == "check":
        assert main(["check", "--shipped", "json", str(tmp_path / "none")]) == 2


def test_a_mark_of_the_byte_order_is_no_part_of_a_text(
    tmp_path: Path, write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some editors begin a file with it: schemas, grammars and expressions mean the same with and without."""
    for option, text in (("--schema", "{}"), ("--grammar", 'root ::= "{}"'), ("--regex", r"\{\}")):
        (tmp_path / "constraint").write_text(text, encoding="utf-8-sig")
        assert main(["check", option, str(tmp_path / "constraint"), write("text", "{}")]) == 0
        assert told(capsys)["accepted"] is True


def test_one_standard_input_is_one_text(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["generate", "-", "--choice", "-"], ["check", "--schema", "-", "-"]):
        assert main(command) == (1 if command[0] == "generate" else 2)
        assert "the standard input is one text, and can't be two" in capsys.readouterr().err


def test_a_choice_is_a_file_and_no_body(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A choice that can't be read is told by its file and place, as `check` tells it."""
    monkeypatch.setattr("server.commands.generate.model_folder", lambda *arguments: tmp_path)
    file = write("choice", "")
    assert main(["generate", "hi", "--store", "none", "--choice", file]) == 1
    error, place, _ = capsys.readouterr().err.splitlines()
    assert error == "swyb generate: error: choice: not a JSON array of strings (line 1, column 1) [invalid_grammar]"
    assert place == f"  {file}:1 | "


def test_an_empty_secret_is_none(tmp_path: Path) -> None:
    """A secret's file that is empty, by some mistake, isn't taken for one that nobody has named."""
    (tmp_path / "secret").write_text(" \n")
    words = ["grammars", "list", "--store", f"sqlite://{tmp_path}/store", "--store-secret-file"]
    with pytest.raises(ValueError, match="secret: there is no secret in it"):
        stored(parse([*words, str(tmp_path / "secret")]))


def test_a_store_that_fails_is_told_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that isn't there and a disk that is full: why there is no answer is told, and no password."""
    pytest.importorskip("redis", reason="the package redis (extra: redis) is not installed")
    monkeypatch.setenv("SWYB_STORE_SECRET", "x" * 32)
    assert main(["grammars", "list", "--store", "redis://me:pass-word@127.0.0.1:1"]) == 1
    refused = capsys.readouterr().err
    assert "Connection refused" in refused
    assert "pass-word" not in refused

    def full(self: EmbeddedStore, changes: object) -> None:
        raise StoreError("database or disk is full")

    monkeypatch.setattr(EmbeddedStore, "write", full)
    assert main(["grammars", "rm", "city", "--store", begun_store(tmp_path / "store")]) == 1
    assert capsys.readouterr().err == "swyb grammars: error: database or disk is full\n"


def test_an_interruption_of_several_workers_is_one_line(write: Any, pairs: Path, tmp_path: Path) -> None:
    """All processes of a terminal are interrupted with the command; the others leave the word to it."""
    grammar = write("g", 'root ::= "a" root "b" | "c"')
    words = ["precompute", "--grammar", grammar, "--model", str(pairs), "--height", "30000", "--workers", "2"]
    command = [sys.executable, "-m", "swyb", *words, "--store", f"sqlite://{tmp_path}/store.sqlite3"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        begun = time.monotonic()
        while not workers(process.pid):
            assert process.poll() is None
            assert time.monotonic() - begun < 60
            time.sleep(0.02)
        time.sleep(0.3)  # amid the imports of the other one
        os.killpg(process.pid, signal.SIGINT)
        output, said = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, "")
    assert [line for line in said.splitlines() if " of " not in line] == [
        "interrupted: the same command goes on from here"
    ]


def workers(parent: int) -> list[int]:
    """Processes that another one has started by `spawn`."""
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    lines = {number: Path(f"/proc/{number}/cmdline").read_bytes() for number in found}
    return [int(number) for number, line in lines.items() if b"spawn_main" in line]
