"""Perplexities of answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from server.backends.loop import EngineLoop
from server.evaluation.model import LocalModel
from server.evaluation.perplexity import fill, perplexity
from server.evaluation.records import Records, read_rows
from tests.server.engines.scripted import ScriptedEngine
from tests.server.evaluation.world import RANDOM, local, read_tasks, row, split
from tests.server.running import VOCABULARY


class Scoring(ScriptedEngine):
    """Each token is as likely as one in its own id; counts what it is asked."""

    def __init__(self) -> None:
        super().__init__(VOCABULARY, RANDOM)
        self.asked: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def log_probabilities(self, prompt: Sequence[int], tokens: Sequence[int]) -> NDArray[np.float64]:
        self.asked.append((tuple(prompt), tuple(tokens)))
        return -np.log(np.array(tokens, np.float64))


def test_of_probabilities() -> None:
    """Perplexity of tokens as likely as one in five is 5, of certain ones 1; an impossible one has no bound."""
    assert perplexity(np.log(np.full(7, 1 / 5))) == pytest.approx(5.0)
    assert perplexity(np.zeros(3)) == 1.0
    assert perplexity(np.array([0.0, -np.inf])) == float("inf")
    assert perplexity(np.log([1 / 2, 1 / 8])) == pytest.approx(4.0)


def test_filling_rows(tmp_path: Path) -> None:
    """Equal answers to a task are computed once, others' never; a second time nothing is."""
    tasks, path, engine = read_tasks(tmp_path), tmp_path / "r.jsonl", Scoring()
    answer = row(task="plain", token_ids=(4, 9))
    given = [
        answer,
        replace(answer, method="base"),
        replace(answer, method="base", level="12", token_ids=(5,)),
        replace(answer, task="unsupported"),
        replace(answer, task="unsupported", method="base", outcome="refused", token_ids=None),
        replace(answer, task="of another run"),
    ]
    with Records(path) as records:
        for one in given:
            records.add(one)
        for _ in range(2):
            asyncio.run(fill(records, tasks, LocalModel(EngineLoop(engine), split)))
        records.settle()
    found = [row.perplexity for row in read_rows(path)]
    assert found == [pytest.approx(6.0), pytest.approx(6.0), pytest.approx(5.0), pytest.approx(6.0), None, None]
    first, second = (tuple(engine.encode(task.messages)) for task in tasks)
    assert engine.asked == [(first, (4, 9)), (first, (5,)), (second, (4, 9))]


def test_engines_that_cant_tell(tmp_path: Path) -> None:
    """Engines that can't tell leave the rows as they are."""
    with Records(tmp_path / "r.jsonl") as records:
        records.add(row(task="plain", token_ids=(1,)))
        asyncio.run(fill(records, read_tasks(tmp_path), local()))
        assert records.rows[0].perplexity is None


def test_infinite_perplexities_are_kept(tmp_path: Path) -> None:
    """Infinite perplexities are kept as Python writes and reads them."""
    with Records(tmp_path / "r.jsonl") as records:
        records.add(row(perplexity=float("inf")))
    assert json.loads((tmp_path / "r.jsonl").read_text())["perplexity"] == float("inf")
    assert read_rows(tmp_path / "r.jsonl")[0].perplexity == float("inf")
