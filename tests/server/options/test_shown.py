"""`swyb serve --print-config`: what holds, where it comes from, and no secret."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from server.cli import main, parse
from server.commands.serve import configuration, settings_of
from server.options.option import options_of
from server.options.readers import without_password
from server.settings import Settings

SECRETS = ("key-7f3a", "seal-99c1-99c1-99c1", "pass-55d0")


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("SWYB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SWYB_CACHE", str(tmp_path / "cache"))


def test_what_is_printed_is_what_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output is a file of settings: read again, it gives the same ones, of every option."""
    file = tmp_path / "printed.yaml"
    given = [
        "serve",
        "--engine",
        "transformers",
        "--max-tokens",
        "7",
        "--no-docs",
        "--warm",
        "sql",
        "--name",
        "it's: #1",
    ]
    given += ["--cors-origin", "https://é.example", "--store-per-byte", "2e-7", "--prefix-cache", "3"]
    assert main([*given, "--print-config"]) == 0
    printed = capsys.readouterr().out
    file.write_text(printed)
    assert list(yaml.safe_load(printed)) == [option.name for option in options_of(Settings)]
    again = configuration(parse(["serve", "--config", str(file)]))
    assert settings_of(again, "transformers") == settings_of(configuration(parse(given)), "transformers")
    assert "max_tokens: 7  # --max-tokens" in printed.splitlines()
    assert "port: 8000  # default" in printed.splitlines()


def test_secrets_are_never_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither from a flag, a variable, the file nor a secret's file; read again, what is hidden isn't a value."""
    key, seal, password = SECRETS
    file = tmp_path / "swyb.yaml"
    file.write_text(f"api_key: {key}\nstore: rediss://user:{password}@host:1/2\nstore_secret: {seal}\n")
    lines = [["--config", str(file)]]
    lines.append(["--api-key", key, "--store", f"redis://:{password}@host", "--store-secret-file", str(tmp_path / "s")])
    (tmp_path / "s").write_text(seal)
    for line in lines:
        assert main(["serve", *line, "--print-config"]) == 0
        told = capsys.readouterr()
        assert not [secret for secret in SECRETS if secret in told.out + told.err]
        assert "(hidden)" in told.out
        assert not {"api_key", "store"} & set(yaml.safe_load(told.out))
    for name, value in (("API_KEY", key), ("STORE_SECRET", seal), ("STORE", f"redis://u:{password}@h")):
        monkeypatch.setenv(f"SWYB_{name}", value)
    monkeypatch.setenv("SWYB_PORT", "x")
    assert main(["serve"]) == 1
    told = capsys.readouterr()
    assert not [secret for secret in SECRETS if secret in told.out + told.err]
    monkeypatch.setenv("SWYB_PORT", "1")
    assert not [secret for secret in SECRETS if secret in repr(configuration(parse(["serve"])).settings)]


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("redis://user:pw@host:6379/0", "redis://user:(hidden)@host:6379/0"),
        ("rediss://:p:w@[::1]:6379", "rediss://:(hidden)@[::1]:6379"),
        ("redis://user:p%40w@host?a=b", "redis://user:(hidden)@host?a=b"),
        ("redis://user@host", "redis://user@host"),
        ("sqlite:///folder/a@b:c", "sqlite:///folder/a@b:c"),
        ("redis://host?password=pw&db=1", "redis://host?password=(hidden)&db=1"),
        ("redis://u:p/w@x@host", "redis://u:(hidden)@host"),
        ("redis://[::1]:6379/0", "redis://[::1]:6379/0"),
        ("none", "none"),
    ],
)
def test_passwords_in_addresses(address: str, shown: str) -> None:
    assert without_password(address) == shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--keys", "nowhere.yaml"], "nowhere.yaml: No such file"),
        (["--keys", "EMPTY"], "EMPTY: the file: "),
        (["--store", "foo"], "the address of a store begins with sqlite:"),
        (["--store", "redis://x"], "a store on a server needs a secret"),
        (["--store", "sqlite:///FOLDER/NOTES"], "NOTES is no store of this program"),
        (["--model", "/nowhere"], "--model /nowhere: there is no such folder"),
        (["--warm", "nope"], "--warm nope: there is no such file, nor a grammar of that name"),
        (["--metrics", "key"], "--metrics key asks for a key, and there is none"),
    ],
    ids=lambda found: " ".join(found) if isinstance(found, list) else None,
)
def test_a_configuration_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    """A server that couldn't start with them refuses settings before they are printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "EMPTY").touch()
    (tmp_path / "NOTES").write_text("{}")
    words = [word.replace("/FOLDER", str(tmp_path)) for word in words]
    assert main(["serve", "--engine", "transformers", *words, "--print-config"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert told in printed.err


def test_a_check_of_settings_begins_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No store, no secret and no model is made for it; a server's store isn't asked which names it has."""
    away = ["--store", "redis://127.0.0.1:1", "--warm", "city", "--model", "some/model"]
    (tmp_path / "secret").write_text("x" * 32)
    away += ["--store-secret-file", str(tmp_path / "secret")]
    for words in (["--store", f"sqlite://{tmp_path}/new/store", "--warm", "sql"], away):
        assert main(["serve", "--engine", "transformers", *words, "--print-config"]) == 0
        assert "port: 8000" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == ["secret"]
