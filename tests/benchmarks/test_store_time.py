"""The benchmark of the store on a tiny world: that it measures what it says, not how fast anything is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.store import faults, sharing
from tests.benchmarks.conftest import CLOSED
from tests.benchmarks.test_benchmarks import rows
from tests.grammar_cache.store.backends.redis_server import program


def measured(world: Path, part: str, count: int) -> None:
    program()
    assert main(["store", part, "--n", str(count), "--tokenizer", "bytes", "--out", str(world)]) == 0


def test_a_second_server_compiles_nothing(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each schema has a row with what both took, and the texts are the same."""
    corpus = world.parent / "data" / "jsonschemabench"
    corpus.mkdir()
    items = [{"id": f"{n}", "split": "s", "schema": {"const": "a" * n}, "tests": []} for n in range(3)]
    (corpus / "corpus.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    measured(world, "replicas", 3)
    found = rows(world, "store-replicas")
    assert [(row["a_cache"], row["b_cache"], row["same"]) for row in found] == [("miss", "shared", True)] * 3
    assert min(row["b_ready"] for row in found) > 0
    assert "0 compiled" in capsys.readouterr().out


@pytest.mark.full
def test_many_ask_at_once(world: Path) -> None:
    """One compiles; if that one is killed, another does."""
    measured(world, "stampede", 12)
    calm, killed = rows(world, "store-stampede")
    assert (calm["compiled"], calm["answered"]) == (1, 12)
    assert (killed["compiled"], killed["answered"]) == (1, 12)


@pytest.mark.full
def test_throughput_and_learning(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two servers write tokens, and nothing that another server has told changes a text."""
    monkeypatch.setattr(sharing, "STARTS", 1)
    monkeypatch.setattr(sharing, "ROUNDS", 2)
    measured(world, "throughput", 1)
    assert len(rows(world, "store-throughput")) == 2
    assert all(min(row.values()) > 0 for row in rows(world, "store-throughput"))
    measured(world, "learning", 2)
    found = rows(world, "store-learning")
    assert {row["group"] for row in found} == {"json-mode-eval", "python_subset", "sql"}
    assert all(row["same"] for row in found)


@pytest.mark.full
def test_faults_leave_texts_right(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is done to the store; each fault is seen in the counters where it is one."""
    task = {"prompt": [{"role": "user", "content": "?"}], "completion": "0"}
    schemas = [{**CLOSED, "properties": {"a": {"const": "a" * n}}} for n in range(8)]
    lines = [json.dumps({**task, "id": f"{n}", "schema": json.dumps(schema)}) for n, schema in enumerate(schemas)]
    (world.parent / "data" / "jme" / "jme.jsonl").write_text("\n".join(lines))
    monkeypatch.setattr(faults, "FROZEN_SECONDS", 1.0)
    monkeypatch.delitem(faults.FAULTS, "two writers that differ")  # no search finds anything in such a world
    measured(world, "faults", 40)
    found = rows(world, "store-faults")
    assert [row["fault"] for row in found] == list(faults.FAULTS)
    assert all(row["right"] == row["asked"] == 40 for row in found)
    counters = {row["fault"]: row["counters"] for row in found}
    assert counters["poisoned"]["rejected"] > 0
    assert counters["another version"]["rejected"] > 0
    assert counters["kill -9, back after half"]["errors"] > 0
