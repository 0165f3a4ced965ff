"""The benchmarks on a tiny world: that they measure what they say, not how fast anything is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import reserve
from benchmarks.__main__ import main, parser
from benchmarks.core import compile_time
from benchmarks.core.walks import walks
from benchmarks.data import Task, tokenizer_folder
from benchmarks.peers import find as peers
from benchmarks.peers.peer import Refused
from grammar_cache import Vocabulary


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """Rows that a benchmark wrote."""
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


def test_steps_of_beams_by_turns(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Answers to the text that compiles, as many of each search; steps count in which both beams go on."""
    arguments = ["beam_step", "--tokenizer", "bytes", "--repeats", "2", "--beams", "2", "--out", str(world)]
    assert main(arguments) == 0
    found = rows(world, "beam_step")
    assert [row["task"] for row in found] == ["plain"] * 4
    assert [row["search"] for row in found] == ["as the paper prints it", "as a request gets it"] * 2
    assert all(min(row["microseconds"]) > 0 for row in found)  # of each answer at least one step
    assert "as a request gets it" in capsys.readouterr().out


@pytest.mark.parametrize("peer", ["xgrammar", None])
def test_the_filter_keeps_the_reference_answer(
    world: Path, peer: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every way takes one time a step (with the answer's token left possible, which the benchmark checks itself)."""
    if peer is None:
        monkeypatch.setattr(peers, "find_spec", lambda name: None)
    else:
        pytest.importorskip(peer, reason=f"the package {peer} is not installed: make bench does it")
    assert main(["filter", "--tokenizers", "bytes", "--repeats", "1", "--out", str(world)]) == 0
    found = rows(world, "filter")
    beams = [row for row in found if "beams" in row["measure"]]
    assert [row["visit"] for row in beams] == ["first", "again"]
    assert all(len(row["microseconds"]) > 4 for row in beams)
    others = [len(row["microseconds"]) for row in found if row not in beams]
    assert others == [9] * 2 + ([9, 9] if peer else [0])
    assert ("not installed" in capsys.readouterr().out) is (peer is None)


def test_steps_are_compared_where_all_engines_go(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Peers that are installed follow the same text, and the table counts the steps common to all."""
    pytest.importorskip("xgrammar", reason="the package xgrammar is not installed: make bench does it")
    arguments = ["step", "--tokenizer", "bytes", "--repeats", "1", "--peers", "xgrammar", "--out", str(world)]
    assert main(arguments) == 0
    assert "Over the 9 steps of 1 texts" in capsys.readouterr().out


@pytest.mark.parametrize("name", peers.NAMES)
def test_peers_answer_for_the_same_language(world: Path, tasks: list[Task], name: str) -> None:
    """A peer's masks have each token of a valid text and not one that leaves the language; a reset starts anew."""
    pytest.importorskip(name.partition("-")[0], reason=f"the package of {name} is not installed: make bench does it")
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
    with pytest.raises(Refused):
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
    """Compiles are repeated for the best time, but what takes long is compiled once."""
    quick, slow = iter([(3.0,), (1.0,), (2.0,)]), iter([(5000.0,)])
    engines: dict[str, compile_time.Compile] = {"quick": lambda _: next(quick), "slow": lambda _: next(slow)}
    found = compile_time._task_rows(Task("t", (), "{}", "{}"), engines, 3, 0)
    assert {row.engine: row.compile_ms for row in found} == {"quick": 1.0, "slow": 5000.0}


def test_missing_data_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """A benchmark without the tasks ends with a message that names the variable, not with a traceback."""
    monkeypatch.setenv("SWYB_DATA", str(tmp_path))
    assert main(["compile"]) == 2
    assert "SWYB_DATA" in capsys.readouterr().err


def test_benchmarks_run_without_what_evaluations_need() -> None:
    """An environment with vLLM lacks the extra `eval`: its benchmarks can be asked for there."""
    lacking = "import sys; sys.modules.update(dict.fromkeys(('sqlglot', 'matplotlib')))"
    asked = "from benchmarks.__main__ import main; main(['vllm', '--help'])"
    command = [sys.executable, "-c", f"{lacking}; {asked}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "--servers" in done.stdout


def test_a_benchmark_names_the_extra_it_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reading references takes the extra `eval`."""
    monkeypatch.setattr(reserve, "find_spec", lambda name: None)
    assert main(["reserve"]) == 2
    assert "swyb[eval]" in capsys.readouterr().err


def test_references_are_looked_for_where_the_variable_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sqlglot", reason="the package sqlglot (extra: eval) is not installed")
    monkeypatch.setenv("SWYB_DATA", str(tmp_path))
    assert main(["reserve"]) == 2
    assert f"there is no {tmp_path}" in capsys.readouterr().err


def counts() -> list[tuple[str, str, str]]:
    """Each benchmark's options that take a number, with one that can't be."""
    [commands] = [action.choices for action in parser()._actions if isinstance(action.choices, dict)]
    found: list[tuple[str, str, str]] = []
    for name, command in commands.items():
        for action in command._actions:
            if isinstance(action.default, int | float) and not isinstance(action.default, bool):
                found.append((name, action.option_strings[0], "-1"))
            if action.dest in ("repeats", "rows", "beams", "requests", "concurrency", "turns", "jobs", "seeds"):
                found.append((name, action.option_strings[0], "0"))
    return found


@pytest.mark.parametrize(("name", "option", "value"), counts())
def test_counts_that_cant_be_are_refused(
    name: str, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A benchmark of -1 schemas left out the last one; without repeats it ended in a traceback, or an empty table."""
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([name, option, value])
    assert ended.value.code == 2
    assert f"argument {option}: " in capsys.readouterr().err
