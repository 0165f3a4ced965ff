"""Manners of the command `swyb`: help, errors, names that were perhaps meant, tables."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from argparse import Action, ArgumentParser
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from grammar_cache.constraint import Constraint
from grammar_cache.limits import NODES
from server.cli import COMMANDS, main, parse, parser
from server.console.table import table
from server.grammars.opening import opened_store
from server.settings import Settings
from tests.documents import ROOT
from tests.grammar_cache.store.databases import begun_store

SLOW = ("numpy", "numba", "lark", "pydantic", "fastapi", "uvicorn", "torch", "transformers", "vllm", "huggingface_hub")
LOADED = """
import sys
from server.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert ended.code == 0, ended.code
print("loaded:", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def parsers(top: ArgumentParser) -> Iterator[ArgumentParser]:
    """A parser, and those of all commands below it."""
    yield top
    for action in top._actions:
        if isinstance(action.choices, dict):
            for below in action.choices.values():
                yield from parsers(below)


ALL = list(parsers(parser()))


def example_lines(of: ArgumentParser) -> list[str]:
    """The commands of its epilog, each on one line."""
    assert of.epilog is not None, of.prog
    lines = of.epilog.replace("\\\n", " ").splitlines()[1:]
    return [line[line.index("swyb") :] for line in lines]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)], ids=" ".join
)
def test_help_loads_nothing_slow(arguments: list[str]) -> None:
    """Help imports no module that takes longer than a person notices."""
    done = subprocess.run([sys.executable, "-c", LOADED, *arguments], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()[1:]
    assert "server" in loaded
    assert not {*SLOW} & {*loaded}
    assert arguments == ["--version"] or "usage: swyb" in done.stdout


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"swyb {version('swyb')}\n"


@pytest.mark.parametrize("of", ALL, ids=lambda of: of.prog)
def test_every_option_has_its_help_and_default(of: ArgumentParser) -> None:
    """Needed ones have no default; `--help` and `--version` end."""
    groups = [group for group in of._mutually_exclusive_groups if group.required]
    needed = [action for group in groups for action in group._group_actions]

    def told(action: Action) -> bool:
        text = of._get_formatter()._expand_help(action) if action.help else ""
        ends = action.dest in ("help", "version")
        return bool(text) and (ends or action.required or action in needed or "(default: " in text)

    options = [action for action in of._actions if action.option_strings]
    assert [action.dest for action in options if not told(action)] == []
    assert all(action.help for action in of._actions if not isinstance(action.choices, dict))


def test_defaults_are_those_in_the_help() -> None:
    """A number that the help tells by itself is the one that holds."""
    text = " ".join(" ".join(of.format_help().split()) for of in ALL)
    for option, default in (("--prefix-cache MIB", Settings().prefix_cache_bytes >> 20), ("--nodes N", NODES)):
        assert re.search(rf"{option} [^-].*?\(default: {default}\)", text)
    assert parse(["generate", "hello"]).temperature == 0


@pytest.mark.parametrize("of", ALL, ids=lambda of: of.prog)
def test_examples_of_the_help_are_commands(of: ArgumentParser) -> None:
    """Each parses, as the command that it explains; its files are there."""
    lines = example_lines(of)
    assert lines
    for line in lines:
        assert line.startswith(of.prog)
        if not line.endswith("--help"):
            parse(shlex.split(line)[1:])
        for file in re.findall(r"examples/\S+", line):
            assert (ROOT / file).is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serv"], "did you mean serve?"),
        (["--verison"], "there is no option --verison; did you mean --version?"),
        (["nothing"], "there are certify, check,"),
        (["serve", "--prot", "1"], "there is no option --prot; did you mean --port?"),
        (["certify", "--schma", "x"], "there is no option --schma; did you mean --schema?"),
        (["certify", "--shipped", "slq"], "did you mean sql?"),
        (["grammars", "lst"], "did you mean list?"),
        (["grammars", "list", "--jsno"], "did you mean --json?"),
        (["eval", "jsn"], "did you mean json?"),
        (["eval", "sql", "--method", "x", "--budgts=3"], "did you mean --budgets?"),
        (["serve", "--engine", "vlm"], "did you mean vllm?"),
        (["check", "--schema", "x", "y", "z"], "unrecognized arguments: z"),
        (["serve", "--port", "http"], "'http' is not a port"),
    ],
)
def test_wrong_words_are_told_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    """A wrong word is told in one line, with what was perhaps meant, or all that there is."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    told = capsys.readouterr()
    [line] = told.err.splitlines()
    assert re.match(r"swyb( \w+)*: error: ", line)
    assert message in line
    assert told.out == ""


def test_what_follows_the_dashes_is_not_an_option_of_ours() -> None:
    """Neither what is passed on to an engine nor a file of such a name."""
    assert parse(["serve", "--", "--prot", "1"]).engine_options == ["--prot", "1"]
    assert parse(["check", "--regex", "x", "--", "--prot"]).text == "--prot"


def test_tables_have_columns_as_wide_as_needed() -> None:
    rows = [("a", 7, "x"), ("longer", 1234567, "")]
    assert table(("NAME", "BYTES", "Z"), rows).splitlines() == [
        "NAME        BYTES  Z",
        "a               7  x",
        "longer  1,234,567",
    ]
    assert table(("NAME", "Z"), []) == "NAME  Z"


def test_the_list_of_a_store_is_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The list is a table for people; `--json` has the same for programs."""
    address = begun_store(tmp_path / "store.sqlite3")
    assert main(["grammars", "list", "--store", address]) == 0
    assert capsys.readouterr().out.splitlines() == ["registered: none", "no grammars"]
    database = opened_store(Settings(store=address))
    assert database is not None
    catalogue = database.catalogue(20.0)
    catalogue.register("city", Constraint("regex", "a+"))
    database.keep("0" * 32, b"an artefact")
    database.close(20.0)
    assert main(["grammars", "list", "--json", "--store", address]) == 0
    told = json.loads(capsys.readouterr().out)
    [grammar] = told["grammars"]
    assert told["named"] == ["city"]
    assert main(["grammars", "list", "--store", address]) == 0
    registered, _, heads, row = capsys.readouterr().out.splitlines()
    assert registered == "registered: city"
    assert re.split(r"\s{2,}", heads) == ["PLACE", "BYTES", "FOUND", "USES", "LAST USED", "COMPILED BY"]
    shown = re.split(r"\s{2,}", row)
    assert shown[0] == grammar["place"]
    assert shown[1].replace(",", "") == str(grammar["artefact_bytes"])
    assert shown[4:] == [grammar["used"], grammar["origin"]]


@pytest.mark.parametrize("action", [["list"], ["show", "city"], ["rm", "city"]], ids=" ".join)
def test_no_store_is_begun_to_look_into_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], action: list[str]
) -> None:
    """A path that was mistyped is told; no folder, file or secret is made there, nor in a file of somebody else's."""
    assert main(["grammars", *action, "--store", f"sqlite://{tmp_path}/new/store"]) == 1
    assert capsys.readouterr().err == f"swyb grammars: error: there is no store at {tmp_path}/new/store\n"
    (tmp_path / "notes").write_text("{}")
    assert main(["grammars", *action, "--store", f"sqlite://{tmp_path}/notes"]) == 1
    assert capsys.readouterr().err == f"swyb grammars: error: {tmp_path}/notes is no store of this program\n"
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_a_name_that_no_store_has_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = begun_store(tmp_path / "store.sqlite3")
    for action in ("show", "rm"):
        assert main(["grammars", action, "nobody", "--store", address]) == 1
        assert capsys.readouterr().err == "swyb grammars: error: there is no 'nobody'\n"
