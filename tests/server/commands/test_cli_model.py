"""The commands of `swyb` that run a model, with a tiny one."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.cli import main
from tests.server.commands.test_cli import told, write

__all__ = ["write"]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny model with random weights."""
    pytest.importorskip("transformers", reason="the package transformers (extra: embedded) is not installed")
    from tests.server.engines.tiny import save_model

    return save_model(tmp_path_factory.mktemp("model"), "llama")


@pytest.mark.parametrize(
    ("options", "constraint", "pattern"),
    [
        (["--regex"], "(yes|no){2}", "(yes|no){2}"),
        (["--choice"], '["left", "right"]', "left|right"),
        (["--beam-width", "3", "--alpha", "0.5", "--grammar"], 'root ::= "<" root ">" | "."', "<*[.]>*"),
        (
            ["--temperature", "1", "--seed", "4", "--system", "s", "--schema"],
            '{"type": "boolean"}',
            "true|false",
        ),
    ],
)
def test_generate_prints_the_text(
    *,
    write: Any,
    model: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    constraint: str,
    pattern: str,
) -> None:
    """The text goes to the standard output, its certificate to the standard error."""
    arguments = ["generate", "hi", "--max-tokens", "15", "--model", str(model), *options]
    assert main([*arguments, write("c", constraint)]) == 0
    printed = capsys.readouterr()
    assert re.fullmatch(pattern, printed.out.removesuffix("\n"))
    assert json.loads(printed.err.splitlines()[-1])["complete"] is True


def test_generate_refuses_as_the_server_does(write: Any, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A budget that is too small is told in the same words, before the model is asked."""
    arguments = ["generate", "hi", "--max-tokens", "3", "--model", str(model), "--json"]
    assert main([*arguments, "--regex", write("c", "[xyz]{40}")]) == 1
    assert told(capsys)["error"]["code"] == "budget_too_small"


def test_generate_keeps_what_it_has_compiled(
    write: Any, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A grammar is kept in the store that is named; the next command finds it there, and writes the same text."""
    choice = write("c", '["left", "right"]')
    texts, sources = set(), []
    for store in ("none", f"sqlite://{tmp_path}/store.sqlite3", f"sqlite://{tmp_path}/store.sqlite3"):
        arguments = ["generate", "hi", "--temperature", "0", "--model", str(model), "--choice", choice]
        assert main([*arguments, "--store", store]) == 0
        printed = capsys.readouterr()
        texts.add(printed.out)
        sources.append(json.loads(printed.err.splitlines()[-1])["cache"])
    assert len(texts) == 1
    assert sources[:2] == ["miss", "miss"]
    assert sources[2] in ("shared", "miss")  # a machine may be too busy for the store to answer in time
    assert main(["grammars", "list", "--json", "--store", f"sqlite://{tmp_path}/store.sqlite3"]) == 0
    assert len(told(capsys)["grammars"]) == 1


@pytest.fixture
def served(model: Path) -> Iterator[subprocess.Popen[str]]:
    """The command, running, with its output."""
    arguments = ["serve", "--model", str(model), "--name", "tiny", "--port", "0", "--drain-seconds", "0"]
    process = subprocess.Popen([sys.executable, "-m", "server", *arguments], stdout=subprocess.PIPE, text=True)
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_from_start_to_end(served: subprocess.Popen[str], number: signal.Signals) -> None:
    """`swyb serve` prints a line to try once it is ready, answers, and ends cleanly when told to."""
    assert served.stdout is not None
    words = shlex.split(served.stdout.readline())
    base = words[1].removesuffix("/v1/chat/completions")
    assert httpx.get(f"{base}/ready").json() == {"status": "ready", "model": "tiny"}
    body = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "grammar": "root ::= [a-c]{7}"}
    answer = httpx.post(words[1], json=body, timeout=60).json()
    assert re.fullmatch("[a-c]{7}", answer["choices"][0]["message"]["content"])
    begun = time.monotonic()
    served.send_signal(number)
    assert served.wait(20) == 0
    assert time.monotonic() - begun < 15


def test_a_port_in_use_is_told_at_once(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A server that can't listen loads nothing."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["serve", "--port", str(taken.getsockname()[1]), "--model", str(model)]) == 1
    assert "can't listen" in capsys.readouterr().err
