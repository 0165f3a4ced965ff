"""The benchmark of shipped grammars on a few texts: steps, visits and texts that are left, not speed."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.core import grammars
from benchmarks.core.grammars import GrammarRow, read_texts, report
from benchmarks.peers import find as peers
from tests.benchmarks.test_benchmarks import rows

QUERIES = ["SELECT b FROM t", "SELECT a FROM t", "SELECT b FROM t", "SELEC"]


@pytest.fixture
def texts(world: Path) -> Path:
    """Four queries, one of them twice and one that is none; two formulas. The folder for results."""
    folder = world.parent / "data"
    for name, field, lines in (
        (Path("spider", "questions.jsonl"), "query", QUERIES),
        (Path("ltl", "drone_planning_golden.jsonl"), "raw_ltl", ["F second_floor", "F ("]),
    ):
        (folder / name).parent.mkdir()
        (folder / name).write_text("".join(json.dumps({field: line, "other": 1}) + "\n" for line in lines))
    return world


def test_texts_are_different_ones(texts: Path) -> None:
    """A text that comes twice counts once; so many are taken as are asked for."""
    assert read_texts("sql") == ["SELECT b FROM t", "SELECT a FROM t", "SELEC"]
    assert read_texts("sql", 2) == ["SELECT b FROM t", "SELECT a FROM t"]


def test_every_step_is_measured(
    texts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each measure has a time for each byte of the texts at both visits, and tells how many weren't taken whole."""
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    assert main(["grammars", "--tokenizer", "bytes", "--repeats", "1", "--out", str(texts)]) == 0
    found = rows(texts, "grammar_sql")
    assert [row["visit"] for row in found] == ["first", "again"] * 2
    steps = sum(map(len, dict.fromkeys(QUERIES)))
    assert [len(row["microseconds"]) for row in found] == [steps] * 4
    assert [row["left"] for row in found] == [1] * 4
    assert all(row["refusal"] is None and row["ready_ms"] > 0 and min(row["microseconds"]) > 0 for row in found)
    printed = capsys.readouterr().out
    assert "sql, bytes: 3 texts of 35 tokens" in printed
    assert [line for line in printed.splitlines() if "xgrammar" in line and "not installed" in line]


def test_a_text_counts_up_to_where_it_leaves(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step that leaves the language is the last one."""
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    monkeypatch.setattr(grammars, "read_texts", lambda grammar, count: ["SELECT ~ FROM t"])
    assert main(["grammars", "--tokenizer", "bytes", "--repeats", "1", "--out", str(texts)]) == 0
    found = rows(texts, "grammar_sql")
    assert [(len(row["microseconds"]), row["left"]) for row in found] == [(len("SELECT ~"), 1)] * 4


def test_another_grammar(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The formulas are read for their grammars; a formula that isn't finished is left."""
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    arguments = ["grammars", "--grammar", "ltl_drone", "--tokenizer", "bytes", "--repeats", "1", "--out", str(texts)]
    assert main(arguments) == 0
    assert {row["left"] for row in rows(texts, "grammar_ltl_drone")} == {1}


@pytest.mark.parametrize("name", peers.NAMES)
def test_peers_follow_the_same_texts(texts: Path, name: str) -> None:
    """A peer that is installed has a row for each visit, with the steps that ours has, or a refusal."""
    pytest.importorskip(name.partition("-")[0], reason=f"the package of {name} is not installed: make bench does it")
    arguments = ["grammars", "--tokenizer", "bytes", "--peers", name, "--repeats", "1", "--n", "2", "--out", str(texts)]
    assert main(arguments) == 0
    *ours, first, again = rows(texts, "grammar_sql")
    assert (first["measure"], first["visit"], again["visit"]) == (name, "first", "again")
    assert len(first["microseconds"]) == len(again["microseconds"]) == len(ours[0]["microseconds"])
    assert {row["left"] for row in (*ours, first, again)} == {0}


def test_lark_grammars_are_timed_beside_equal_verdicts(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A Lark grammar has the rows that others have; the peer that reads Lark takes what we take."""
    pytest.importorskip("llguidance", reason="the package of llguidance is not installed: make bench does it")
    arguments = ["grammars", "--grammar", "lark_sql", "--tokenizer", "bytes", "--peers", "llguidance", "xgrammar"]
    assert main([*arguments, "--repeats", "1", "--n", "2", "--out", str(texts)]) == 0
    found = rows(texts, "grammar_lark_sql")
    assert {row["left"] for row in found} == {0}
    assert [row["measure"] for row in found if row["refusal"] is not None] == ["xgrammar"]
    assert "llguidance: 0 of " in capsys.readouterr().out


def test_python_is_read_from_the_library_that_runs() -> None:
    """Statements that the grammar takes are many, and Python's own."""
    found = read_texts("lark_python", 100)
    assert len(set(found)) == 100
    assert all(ast.parse(text).body for text in found)


def test_refusals_are_reported() -> None:
    """A peer that refuses the grammar, and one that isn't there, have a line without times."""
    table = [
        GrammarRow("sql", "swyb: full mask", "first", 1.0, [1.0, 3.0], 0),
        GrammarRow("sql", "xgrammar", "first", 0.0, [], 0, "too large"),
    ]
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in report(table, {"llguidance": None}).splitlines()
    ]
    assert lines[2] == ["swyb: full mask", "first", "1.00", "2.00", "1.00", "3.00", "3.00", "0"]
    assert lines[3][:3] == ["xgrammar", "refused", "–"]
    assert lines[4][:3] == ["llguidance", "not installed", "–"]


def test_missing_texts_are_said(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A benchmark without the texts ends with a message that names the variable."""
    assert main(["grammars", "--tokenizer", "bytes"]) == 2
    assert "SWYB_DATA" in capsys.readouterr().err
