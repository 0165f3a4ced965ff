"""`swyb grammars`, and how the command line is told of a store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.cli import main, parse
from server.commands.serve import configuration, settings_of
from server.grammars.opening import opened_store
from server.settings import Settings
from tests.grammar_cache.store.backends.redis_server import free_port
from tests.server.grammars.test_named import ANSWER, register
from tests.server.grammars.test_sharing import SECRET, redis, settings
from tests.server.running import eventually, serving

__all__ = ["redis", "settings"]


@pytest.fixture
def command(settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Runs `swyb grammars` on that store: what it prints as JSON, or else its exit status."""
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")

    def run(*arguments: str) -> Any:
        status = main(["grammars", *arguments, "--store", settings.store or "", "--store-secret-file", str(secret)])
        printed = capsys.readouterr().out
        return json.loads(printed) if printed else status

    return run


def test_the_command_line_shows_and_removes(settings: Settings, command: Callable[..., Any]) -> None:
    """Names and grammars, whoever put them there."""
    database = opened_store(settings)
    assert database is not None
    database.catalogue(20.0).infos()  # a file is begun
    database.close(20.0)
    assert command("list", "--json") == {"named": [], "grammars": []}
    with serving(settings=settings) as server:
        grammar_id = register(server, **ANSWER).json()["grammar_id"]
        eventually(lambda: command("list", "--json")["grammars"])
    listed = command("list", "--json")
    assert listed["named"] == ["answer"]
    [row] = listed["grammars"]
    assert command("show", grammar_id) == command("show", row["place"]) == row
    assert row["artefact_bytes"] > 100
    assert row["created"].startswith("20")
    assert command("show", "answer")["text"] == "(yes|no){2}"
    assert (command("rm", "answer"), command("rm", "answer"), command("show", "answer")) == (0, 1, 1)
    assert command("rm", grammar_id) == 0
    assert command("list", "--json") == {"named": [], "grammars": []}


def test_the_command_line_needs_a_store_that_answers(
    command: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grammars", "list", "--store", "none"]) == 1
    assert "no store" in capsys.readouterr().err
    assert main(["grammars", "list", "--store", f"redis://127.0.0.1:{free_port()}"]) == 1
    assert "secret" in capsys.readouterr().err


def test_the_store_is_told_by_options_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An option wins; nothing said, it is a file in the cache folder, if that can be written."""
    secret = tmp_path / "secret"
    secret.write_text("from a file\n")
    monkeypatch.setenv("SWYB_CACHE", str(tmp_path / "a folder"))
    monkeypatch.delenv("SWYB_STORE")

    def of(*arguments: str) -> tuple[str | None, str | None, str]:
        found = settings_of(configuration(parse(["serve", *arguments])), "transformers")
        return found.store, found.store_secret, found.store_tenant

    default = f"sqlite://{tmp_path}/a%20folder/store.sqlite3"
    assert of() == (default, None, "")
    assert of("--store", "none") == (None, None, "")
    for name, value in (("SWYB_STORE", "redis://host"), ("SWYB_STORE_SECRET", "s"), ("SWYB_STORE_TENANT", "t")):
        monkeypatch.setenv(name, value)
    assert of() == ("redis://host", "s", "t")
    monkeypatch.setenv("SWYB_STORE_SECRET_FILE", str(secret))
    assert of("--store", default, "--store-tenant", "u") == (default, "from a file", "u")
    (tmp_path / "file").touch()
    monkeypatch.setenv("SWYB_CACHE", str(tmp_path / "file" / "folder"))
    monkeypatch.delenv("SWYB_STORE")
    assert of()[0] is None
