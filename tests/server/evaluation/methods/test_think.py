"""Answers behind a thought, within one budget."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from server.evaluation.datasets import arithmetic
from tests.server.engines.scripts import follow, seeded
from tests.server.evaluation.world import CLOSED, FEWEST, evaluated, local, read_tasks
from tests.server.running import STOP, VOCABULARY

CLOSER = len("</think>\n\n")


@pytest.mark.parametrize("method", ["think", "think:reserve=9", "think:most=0.5", "think:M=2", "think:temperature=1"])
def test_answers_are_valid_within_the_budget(tmp_path: Path, method: str) -> None:
    """Every answer that is not refused is valid, and has no more tokens than the budget with its thought."""
    tasks = read_tasks(tmp_path / "jme")
    found = evaluated(tasks[:1], tmp_path / "rows", method, "14,15,16,40,90", local(seeded(VOCABULARY.size, 1)))
    assert [row.outcome for row in found] == ["refused", *["answered"] * 4]
    assert found[0].min_tokens == CLOSER + FEWEST == 15
    for row in found[1:]:
        assert row.text is not None
        jsonschema.validate(json.loads(row.text), CLOSED)
        assert CLOSER + FEWEST <= row.tokens <= row.budget
        assert row.token_ids is None and row.perplexity is None


def test_a_thought_leaves_room_as_it_is_told(tmp_path: Path) -> None:
    """A model that thinks for ever takes its share of the budget, and no more."""
    script = follow(VOCABULARY.size, [*b"x" * 500], STOP)
    [free, bound] = evaluated(
        read_tasks(tmp_path / "jme")[:1], tmp_path / "rows", "think,think:most=0.25", "80", local(script)
    )
    assert free.tokens > bound.tokens > CLOSER + 20


def test_what_is_unsupported_is_refused(tmp_path: Path) -> None:
    [row] = evaluated(read_tasks(tmp_path / "jme")[1:], tmp_path / "rows", "think", "80")
    assert (row.outcome, row.settled) == ("refused", True)


def test_sums_are_asked_of_both(tmp_path: Path) -> None:
    """A run of the experiment's own tasks and methods."""
    tasks = arithmetic.read(tmp_path, 2, 0)
    found = evaluated(tasks, tmp_path / "rows", "think,swyb,think:most=0.5", "96", local(seeded(VOCABULARY.size, 1)))
    assert len(found) == 6
    assert all(row.verdict is not None and row.verdict.valid for row in found)
