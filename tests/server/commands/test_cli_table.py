"""A table from `swyb precompute` to the certificate of an answer, and out of the store again."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from grammar_cache import Limits
from grammar_cache.store.opening import open_store
from grammar_cache.store.seals import Seals
from server.cli import main, parse
from server.commands.serve import configuration, settings_of
from server.console.options import stored
from server.settings import Settings
from tests.grammar_cache.store.backends.redis_server import running
from tests.grammar_cache.store.databases import begun_store
from tests.server.commands.test_cli import tokenizer, told, write
from tests.server.commands.test_cli_model import model

__all__ = ["model", "tokenizer", "write"]

OTHERS = Limits(text_bytes=2000)
NESTED = 'root ::= "<" root ">" | "."'
COMMAND = [sys.executable, "-m", "server", "serve", "--port", "0"]


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.full)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """Options that name an empty store of each kind."""
    if request.param == "sqlite":
        yield ["--store", f"sqlite://{tmp_path}/store.sqlite3"]
        return
    secret = tmp_path / "secret"
    secret.write_text("a secret of the tests")
    with running() as server:
        yield ["--store", server.address, "--store-secret-file", str(secret)]


@pytest.mark.parametrize("place", ["grammars", "precompute"])
def test_all_commands_mean_the_same_limits(
    write: Any, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A server looks for a grammar or its table, within limits of its own, where a command has put it, or takes it."""
    monkeypatch.setattr(Settings.__init__, "__defaults__", _others(Settings.__init__.__defaults__))
    asked: list[str] = []
    name = Seals.name

    def noting(self: Seals, grammar_id: str, limits: Limits) -> str:
        asked.append(grammar_id)
        assert limits == OTHERS
        return name(self, grammar_id, limits)

    monkeypatch.setattr(Seals, "name", noting)
    store = ["--store", begun_store(tmp_path / "store.sqlite3")]
    constraint = ["--grammar", write("g", NESTED), "--model", str(tokenizer)]
    if place == "grammars":
        assert main(["grammars", "rm", "nothing", *store]) == 1
    else:
        assert main(["precompute", *constraint, "--height", "2", *store]) == 0
    assert asked


def test_commands_compile_within_the_limits_of_a_server(
    write: Any, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A grammar that a server refuses is refused by `certify` and `precompute`, and `generate` and `serve` have its
    limits.
    """
    monkeypatch.setattr(Settings.__init__, "__defaults__", _others(Settings.__init__.__defaults__))
    store = ["--store", f"sqlite://{tmp_path}/store.sqlite3"]
    refused = ["--regex", write("r", "a" * OTHERS.text_bytes + "b"), "--model", str(tokenizer)]
    for command in (["certify", *refused], ["precompute", *refused, "--height", "1", *store]):
        assert main(command) == 1
        assert told(capsys)["error"]["code"] == "text_bytes_exceeded"
    serve = parse(["serve", *store])
    assert settings_of(configuration(serve), "transformers").limits == OTHERS
    assert stored(serve).limits == OTHERS


def _others(defaults: tuple[Any, ...] | None) -> tuple[Any, ...]:
    assert defaults is not None
    return tuple(OTHERS if isinstance(default, Limits) else default for default in defaults)


@contextmanager
def serving(options: list[str]) -> Iterator[str]:
    """`swyb serve`: the address of chat requests."""
    with subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield shlex.split(process.stdout.readline())[1]
        finally:
            process.terminate()


def test_a_server_finds_what_was_precomputed(
    write: Any, model: Path, store: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Another process names it in its certificate; `grammars rm` leaves nothing of it, nor of its pieces."""
    patient = ["--store-wait-least", "20", "--store-wait-most", "20"]  # however busy this machine is
    options = ["--model", str(model), *store, *patient]
    assert main(["precompute", "--grammar", write("g", NESTED), "--height", "4", *options]) == 0
    precomputed = told(capsys)
    with serving([*options, "--name", "tiny"]) as address:
        body = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "grammar": NESTED}
        certificate = httpx.post(address, json=body, timeout=60).json()["swyb"]
    assert (certificate["grammar_id"], certificate["table"]) == (precomputed["grammar_id"], precomputed["table"])

    assert main(["grammars", "list", "--json", *store]) == 0
    assert len(told(capsys)["grammars"]) >= 4  # the grammar, its table, a piece, and the list of works
    assert main(["grammars", "rm", certificate["grammar_id"], *store]) == 0
    opened = open_store(store[1])
    assert opened.infos() == []
    opened.close()
