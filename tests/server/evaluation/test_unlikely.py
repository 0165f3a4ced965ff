"""Unlikely tokens: counted where a likelier one was viable, and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from server.backends.loop import EngineLoop
from server.evaluation.methods.ours import grammars_of
from server.evaluation.model import LocalModel
from server.evaluation.records import Records
from server.evaluation.unlikely import fill_unlikely
from tests.server.engines.scripted import ScriptedEngine
from tests.server.evaluation.world import FEWEST, FLUENT, read_tasks, row, split
from tests.server.running import VOCABULARY


class Scoring(ScriptedEngine):
    """Each token has the share that its logits give it; the script wants the shortest answer, byte by byte."""

    def __init__(self) -> None:
        super().__init__(VOCABULARY, FLUENT)

    def log_probabilities(self, prompt: Sequence[int], tokens: Sequence[int]) -> NDArray[np.float64]:
        shares = []
        for at, token in enumerate(tokens):
            logits = FLUENT(tuple(tokens[:at])).astype(np.float64)
            shares.append(logits[token] - np.logaddexp.reduce(logits))
        return np.array(shares)


def counted(path: Path, tokens: tuple[int, ...], budget: int) -> int | None:
    model = LocalModel(EngineLoop(Scoring()), split)
    with Records(path / "r.jsonl") as records, closing(grammars_of(model)) as grammars:
        records.add(row(task="plain", token_ids=tokens, budget=budget))
        asyncio.run(fill_unlikely(records, read_tasks(path), model, grammars))
        return records.rows[0].unlikely


@pytest.mark.parametrize(
    ("text", "budget", "unlikely"),
    [
        (b'{"a":1}', 12, 0),
        (b'{"a":2}', 12, 1),
        (b'{ "a":1}', 12, 1),
        (b'{"a": 23}', 12, 1),
        (b'{"b":1}', 12, None),
    ],
)
def test_counts(tmp_path: Path, text: bytes, budget: int, unlikely: int | None) -> None:
    """The model wants `{"a":1}`; a text that isn't of the grammar isn't counted."""
    assert counted(tmp_path, tuple(text), budget) == unlikely


def test_what_the_budget_forces_is_not_counted(tmp_path: Path) -> None:
    """Tokens that the fewest ones leave no choice from are not counted, however unlikely."""
    tokens = _fewest()
    assert counted(tmp_path, tokens, FEWEST) == 0
    assert counted(tmp_path, tokens, 12) == 1


def _fewest() -> tuple[int, ...]:
    """Tokens of the shortest answer, some of two bytes."""
    of_text = {VOCABULARY.text_of(token): token for token in range(VOCABULARY.size)}
    return tuple(of_text[text] for text in (b'{"', b"a", b'":', b"1", b"}"))
