"""Mistakes are told at once: in one line, and before torch is imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from grammar_cache.constraint import Constraint
from server.cli import main, parse
from server.commands.serve import configuration, settings_of
from server.commands.warm_list import check_names
from server.grammars.opening import opened_store
from server.protocol.reading import parse_grammar
from server.settings import Settings
from tests.cached import model_folder

RUNNING = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.machinery import ModuleSpec
hidden, lines = json.loads(sys.argv[1])
for name in hidden:
    sys.modules[name] = None  # as if it weren't installed
from server.cli import main

told = []
for line in lines:
    with redirect_stderr(io.StringIO()) as errors, redirect_stdout(io.StringIO()) as output:
        try:
            status = main(line)
        except SystemExit as ended:
            status = ended.code
    told.append([status, output.getvalue(), errors.getvalue()])
print(json.dumps({"told": told, "loaded": [name for name in ("torch", "transformers") if sys.modules.get(name)]}))
"""


class Told(NamedTuple):
    """Result of a command line."""

    status: int
    output: str
    errors: str


def told(lines: list[list[str]], *, hidden: tuple[str, ...] = ()) -> list[Told]:
    """Results of command lines in one process that doesn't import torch for any of them."""
    done = subprocess.run(
        [sys.executable, "-c", RUNNING, json.dumps([hidden, lines])],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["loaded"] == []
    return [Told(*each) for each in found["told"]]


SCHEMA = ["--schema", "examples/person.schema.json"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders that `--model` may be given by mistake."""
    empty, half, bare = (tmp_path_factory.mktemp(name) for name in ("empty", "half", "bare"))
    (half / "config.json").write_text("{}")
    for name in ("config.json", "tokenizer.json"):
        (bare / name).write_text("{}")
    return {"EMPTY": str(empty), "HALF": str(half), "BARE": str(bare), "FILE": str(half / "config.json")}


CASES: list[tuple[list[str], str]] = [
    (["serve", "--warm", "nosuch"], "--warm nosuch: there is no such file, nor a grammar of that name; there are ari"),
    (["serve", "--warm", "json", "slq"], "did you mean sql?"),
    (["eval", "json", "--methods", "foo"], "there is no method 'foo' for this model; there are base, genlm-control"),
    (["eval", "json", "--methods", "swyb", "--base-url", "http://127.0.0.1:1/v1"], "there is no method 'swyb'"),
    (["eval", "json", "--model", "nowhere"], "--model nowhere: there is no such folder"),
    (["serve", "--model", "nowhere"], "--model nowhere: there is no such folder"),
    (["serve", "--model", "FILE"], "there is no such folder"),
    (["serve", "--model", "EMPTY"], "is no model's folder in Hugging Face format: it has no config.json"),
    (["serve", "--model", "HALF"], "it has no tokenizer.json"),
    (["serve", "--port", "0", "--model", "BARE"], "has no weights"),
    (["generate", "hello", "--model", "nowhere"], "--model nowhere: there is no such folder"),
    (["generate", "hello", "--model", "EMPTY"], "it has no config.json"),
    (["certify", *SCHEMA, "--model", "nowhere"], "there is no such folder"),
    (["certify", *SCHEMA, "--model", "EMPTY"], "it has no tokenizer.json"),
    (["precompute", "--height", "1", "--shipped", "json", "--model", "nowhere"], "there is no such folder"),
    (["certify", "--schema", "nowhere.json"], "nowhere.json: No such file or directory"),
    (["serve", "--store", "nonsense://x"], "the address of a store begins with sqlite:"),
]


@pytest.fixture(scope="module")
def mistakes(folders: dict[str, str]) -> list[Told]:
    """Results of all of the cases."""
    return told([[folders.get(word, word) for word in arguments] for arguments, _ in CASES])


@pytest.mark.parametrize("number", range(len(CASES)), ids=[" ".join(arguments) for arguments, _ in CASES])
def test_mistakes_are_told_in_one_line(mistakes: list[Told], number: int) -> None:
    """Status 1, nothing on the standard output. The line before it may say what was begun."""
    (arguments, message), found = CASES[number], mistakes[number]
    lines = [line for line in found.errors.splitlines() if not line.startswith("swyb: loading ")]
    assert (found.status, found.output, len(lines)) == (1, "", 1)
    assert lines[0].startswith(f"swyb {arguments[0]}: error: ")
    assert message in lines[0]


def test_a_missing_extra_is_told() -> None:
    """Each command names the extra to install that it needs; the others work without."""
    refused = [["serve"], ["generate", "hello"], ["eval", "json", "--methods", "swyb"]]
    hidden = ("torch", "transformers", "uvicorn")
    model = str(model_folder())
    works = [["certify", *SCHEMA, "--model", model], ["check", *SCHEMA, "examples/person.schema.json"]]
    *found, certified, checked = told([*refused, *works], hidden=hidden)
    for line, each in zip(refused, found, strict=True):
        what = "the engine transformers needs torch, transformers: pip install 'swyb[embedded]'"
        assert each == (1, "", f"swyb {line[0]}: error: {what}\n")
    assert (certified.status, json.loads(certified.output)["min_tokens"]) == (0, 10)
    assert (checked.status, json.loads(checked.output)["accepted"]) == (1, False)


def test_the_vllm_engine_says_what_it_lacks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    assert main(["serve", "--engine", "vllm"]) == 1
    assert "the engine vllm needs vllm: pip install 'swyb[vllm]'" in capsys.readouterr().err


def test_registered_names_are_known(tmp_path: Path) -> None:
    """A name to warm may be that of a grammar in the store; a store that doesn't answer may have it."""
    address = f"sqlite://{tmp_path}/store.sqlite3"
    settings = Settings(store=address, warm=("sql", "city"))
    with pytest.raises(ValueError, match="--warm city"):
        check_names(settings)
    database = opened_store(settings)
    assert database is not None
    database.catalogue(20.0).register("city", Constraint("regex", "a+"))
    database.close(20.0)
    check_names(settings)
    with pytest.raises(ValueError, match=r"--warm ciry.*did you mean city"):
        check_names(Settings(store=address, warm=("ciry",)))
    check_names(Settings(store="redis://127.0.0.1:1", store_secret="x" * 32, warm=("city",)))
    check_names(Settings(warm=(parse_grammar({"name": "new", "grammar": 'root ::= "a"'}),)))


def test_the_name_of_the_hub_is_that_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model's name isn't that of the folder in the hub's cache, which is a hash; a folder of such a path is a
    folder.
    """
    monkeypatch.chdir(tmp_path)
    asked = parse(["serve", "--model", "some/model"])
    assert settings_of(configuration(asked), "transformers").name == "some/model"
    assert (
        settings_of(configuration(parse(["serve", "--model", "some/model", "--name", "x"])), "transformers").name == "x"
    )
    (tmp_path / "some" / "model").mkdir(parents=True)
    assert settings_of(configuration(asked), "transformers").name is None
