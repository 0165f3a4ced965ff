"""The benchmarks on a tiny world: that they measure what they say, not how fast anything is."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compile_time, peers
from benchmarks.__main__ import main
from benchmarks.data import Task, tokenizer_folder
from benchmarks.json_mode_eval import AnswerRow, Outcome, answer_all, prepare, report
from benchmarks.walks import walks
from grammar_cache import Vocabulary
from server.decoding.parameters import Parameters
from server.engines.scripted import ScriptedEngine
from server.engines.scripts import seeded
from server.loop import EngineLoop


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """What a benchmark wrote."""
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def split(text: str) -> list[int]:
    """Bytes for tokens."""
    return list(text.encode())


def test_compile_without_peers(
    world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every schema has a row with times or a refusal, and a peer that isn't there is named as such."""
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    assert main(["compile", "--tokenizer", "bytes", "--repeats", "2", "--out", str(world)]) == 0
    plain, refused = rows(world, "compile")
    assert (plain["task"], plain["refusal"]) == ("plain", None)
    assert min(plain["compile_ms"], plain["search_ms"]) > 0
    assert refused["task"] == "refused"
    assert refused["refusal"]
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if "not installed" in line and "xgrammar" in line]
    assert "Over the 1 schemas" in printed


def test_step_measures_every_step(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that compiles has one time a step in each measure; a refused one has none."""
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    assert main(["step", "--tokenizer", "bytes", "--repeats", "1", "--out", str(world)]) == 0
    found = rows(world, "step")
    assert {row["task"] for row in found} == {"plain"}
    assert [(row["visit"], len(row["microseconds"])) for row in found] == [
        ("first", 9),
        ("again", 9),
        ("again", 1),
        *[("first", 9), ("again", 9)] * 2,
    ]


def test_steps_are_compared_where_all_engines_go(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Peers that are installed follow the same text, and the table counts the steps common to all."""
    pytest.importorskip("xgrammar", reason="the package xgrammar (extra: peers) is not installed")
    arguments = ["step", "--tokenizer", "bytes", "--repeats", "1", "--peers", "xgrammar", "--out", str(world)]
    assert main(arguments) == 0
    assert "Over the 9 steps of 1 texts" in capsys.readouterr().out


@pytest.mark.parametrize("name", peers.NAMES)
def test_peers_answer_for_the_same_language(world: Path, tasks: list[Task], name: str) -> None:
    """A peer's masks have each token of a valid text and not one that leaves the language; a reset starts anew."""
    pytest.importorskip(name.partition("-")[0], reason=f"the package of {name} (extra: peers) is not installed")
    folder = tokenizer_folder("bytes")
    vocabulary = Vocabulary.from_pretrained(folder)
    byte_ids = {text: number for number, text in enumerate(vocabulary.token_bytes)}
    peer = peers.find([name], vocabulary, folder)[name]
    assert peer is not None
    session = peer.session(peer.compile(tasks[0].schema))
    for _ in range(2):
        for byte in b'{"a":1':
            session.fill()
            assert session.allows(byte_ids[bytes([byte])])
            assert not session.allows(byte_ids[b"~"])
            assert session.accept(byte_ids[bytes([byte])])
        session.reset()
    with pytest.raises(peers.Refused):
        peer.compile("{")


def test_candidates_are_distinct_and_seeded() -> None:
    """Each step has the next token and 63 others, none twice, the same for the same seed."""
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)], [256])
    task = Task("t", (), "{}", "abc")
    [walk], [same], [other] = (walks([task], [split("abcd")], vocabulary, 3, seed) for seed in (1, 1, 2))
    assert walk.tokens == tuple(b"abc")
    assert walk.candidates[:, 0].tolist() == list(b"abc")
    assert [len(set(step)) for step in walk.candidates.tolist()] == [64] * 3
    assert walk.candidates.tolist() == same.candidates.tolist() != other.candidates.tolist()


def test_slow_compiles_are_not_repeated() -> None:
    """Of several compiles the best counts, and what takes long is compiled once."""
    quick, slow = iter([(3.0,), (1.0,), (2.0,)]), iter([(5000.0,)])
    engines: dict[str, compile_time.Compile] = {"quick": lambda _: next(quick), "slow": lambda _: next(slow)}
    found = compile_time._task_rows(Task("t", (), "{}", "{}"), engines, 3, 0)
    assert {row.engine: row.compile_ms for row in found} == {"quick": 1.0, "slow": 5000.0}


def evaluated(tasks: list[Task], budget: int) -> list[AnswerRow]:
    """Rows of a model that writes anything."""
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)], [256])
    loop = EngineLoop(ScriptedEngine(vocabulary, seeded(257, 1)))
    prepared = [prepare(task, loop.model, split) for task in tasks]
    loop.start()
    try:
        return asyncio.run(answer_all(loop, prepared, Parameters(budget=budget), 2, lambda line: None))
    finally:
        loop.stop()


@pytest.mark.parametrize(("budget", "outcome", "feasible"), [(6, "budget", False), (7, "valid", True)])
def test_jme_counts_answers_and_refusals(tasks: list[Task], budget: int, outcome: Outcome, feasible: bool) -> None:
    """A budget of the shortest answer is answered validly, one less is refused; a keyword is another reason."""
    plain, refused = evaluated(tasks, budget)
    assert (plain.outcome, plain.min_tokens, plain.exact, plain.feasible) == (outcome, 7, True, feasible)
    assert refused.outcome == "keyword"
    assert (plain.text is None) == (outcome == "budget")
    assert plain.tokens <= budget


def test_jme_reports_shares(tasks: list[Task]) -> None:
    """Shares are of all tasks and of those that compile, and the refused schemas are named with their reason."""
    found = [row for budget in (6, 7) for row in evaluated(tasks, budget)]
    table = [line.split("|") for line in report(found, {6: 1.0, 7: 1.0}).splitlines()]
    cells = [[cell.strip() for cell in line[1:-1]] for line in table if len(line) > 2]
    valid = cells[0].index("valid of all")
    assert [line[valid] for line in cells[2:]] == ["0.0 %", "50.0 %"]
    assert [line[valid + 2] for line in cells[2:]] == ["0.0 %", "100.0 %"]
    assert any(line[0].startswith("- refused: ") for line in table)


def test_missing_data_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Without the tasks a benchmark ends with a message that names the variable, not with a traceback."""
    monkeypatch.setenv("SWYB_DATA", str(tmp_path))
    assert main(["compile"]) == 2
    assert "SWYB_DATA" in capsys.readouterr().err
