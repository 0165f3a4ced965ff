"""Running tasks by methods: what is asked, what is not asked again, and what a row says."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from server.evaluation.budgets import levels
from server.evaluation.description import Sweep
from server.evaluation.methods.registry import build
from server.evaluation.methods.spec import specs
from server.evaluation.records import Records
from server.evaluation.runner import Plan, run
from server.evaluation.task import Task
from tests.server.engines.scripts import fail_at
from tests.server.evaluation.world import FEWEST, FLUENT, RANDOM, evaluated, local, read_tasks, steps


@pytest.fixture
def tasks(tmp_path: Path) -> list[Task]:
    return read_tasks(tmp_path / "jme")


def test_ours_is_valid_or_refuses(tasks: list[Task], tmp_path: Path) -> None:
    """Whatever the model: an answer within the budget, a refusal below the fewest tokens, one of a keyword."""
    budgets = f"{FEWEST - 1},{FEWEST},12"
    rows = evaluated(tasks, tmp_path / "r.jsonl", "swyb,swyb:M=3:alpha=0.5", budgets)
    assert len(rows) == 2 * 2 * 3
    for row in rows:
        if row.task == "unsupported":
            assert (row.outcome, row.verdict, row.too_small) == ("refused", None, False)
            assert "uniqueItems" in row.reason
        elif row.budget < FEWEST:
            assert (row.outcome, row.min_tokens, row.too_small) == ("refused", FEWEST, True)
        else:
            assert row.outcome == "answered"
            assert row.verdict is not None and row.verdict.valid
            assert json.loads(row.text or "").keys() == {"a"}
            assert row.tokens <= row.budget and row.complete
            assert row.compile_ms is not None and row.seconds > 0


def test_the_model_alone_is_cut_where_the_budget_ends(tasks: list[Task], tmp_path: Path) -> None:
    """One model says the same, whole or cut; only the whole text is valid. The end token counts."""
    short, whole = evaluated(tasks[:1], tmp_path / "r.jsonl", "base", "4,8", local(FLUENT))
    assert (short.text, short.complete, short.tokens) == ('{"a"', False, 4)
    assert (whole.text, whole.complete, whole.tokens) == ('{"a":1}', True, 8)
    assert short.verdict is not None and not short.verdict.syntax
    assert whole.verdict is not None and whole.verdict.valid and whole.verdict.correct is False


def test_feasible_tokens_need_no_grammar(tasks: list[Task], tmp_path: Path) -> None:
    """The small instance `{"a":0}` has 7 bytes, and they are the tokens of this splitter."""
    [plain] = evaluated(tasks[:1], tmp_path / "r.jsonl", "base", "7")
    assert (plain.feasible_tokens, plain.feasible) == (7, True)


def test_relative_budgets_are_of_each_reference(tasks: list[Task], tmp_path: Path) -> None:
    """1.5 times the 9 bytes of `{"a": 17}` are 13, rounded down."""
    rows = evaluated(tasks[:1], tmp_path / "r.jsonl", "swyb", "1.5x,1.0x")
    assert [(row.level, row.budget) for row in rows] == [("1x", 9), ("1.5x", 13)]


def test_what_is_there_is_not_asked_again(tasks: list[Task], tmp_path: Path) -> None:
    """A second run calls no model; one with another budget, method or seed only what is new."""
    path = tmp_path / "r.jsonl"
    first = evaluated(tasks, path, "swyb,base", "12")
    idle = local()
    assert evaluated(tasks, path, "swyb,base", "12", idle) == first
    assert steps(idle) == 0
    more = evaluated(tasks, path, "swyb,base,swyb:M=2", "12,13", seed=1)
    assert more[: len(first)] == first
    assert len(more) == len(first) + 2 * 3 * 2


def test_a_torn_line_is_asked_again(tasks: list[Task], tmp_path: Path) -> None:
    """A crash in the middle of a line costs that row alone."""
    path = tmp_path / "r.jsonl"
    first = evaluated(tasks, path, "base", "12,14")
    path.write_bytes(path.read_bytes()[:-9])
    again = evaluated(tasks, path, "base", "12,14")
    assert [(row.key, row.text) for row in again] == [(row.key, row.text) for row in first]
    assert path.read_bytes().endswith(b"}\n")


def test_failures_are_tried_again(tasks: list[Task], tmp_path: Path) -> None:
    """A model that breaks makes failed rows, and the next run replaces them."""
    path = tmp_path / "r.jsonl"
    [failed] = evaluated(tasks[:1], path, "swyb", "12", local(fail_at(2, RANDOM)))
    assert (failed.outcome, failed.verdict) == ("failed", None)
    assert "scripted to fail" in failed.reason
    [mended] = evaluated(tasks[:1], path, "swyb", "12")
    assert mended.outcome == "answered"


def test_a_larger_budget_changes_nothing_that_ended_by_itself(tasks: list[Task], tmp_path: Path) -> None:
    """The model alone is not asked again once it has ended; ours is, since its budget steers it."""
    path = tmp_path / "r.jsonl"
    small = evaluated(tasks[:1], path, "base,swyb", "8", local(FLUENT))
    model = local(FLUENT)
    large = evaluated(tasks[:1], path, "base,swyb", "8,20", model)
    assert [row.text for row in large[2:]] == [row.text for row in small]
    assert 0 < steps(model) <= 1 + 8, "base would have been as many again"


def test_cancelled_runs_keep_their_rows(tasks: list[Task], tmp_path: Path) -> None:
    """Rows that are there when a run is cancelled are in the file, and the sweep they were made in is told."""
    path, model = tmp_path / "r.jsonl", local()
    told: list[Sweep] = []

    async def running() -> None:
        with ExitStack() as stack, Records(path) as records:
            methods = build(specs("base"), model, stack)
            async with model:
                budgets = ",".join(map(str, range(20, 400)))
                asking = asyncio.create_task(
                    run(Plan(tasks, methods, levels(budgets), 0, 1), None, records, told.append)
                )
                while len(records.rows) < 3:
                    await asyncio.sleep(0.001)
                asking.cancel()
                with suppress(asyncio.CancelledError):
                    await asking

    asyncio.run(running())
    with Records(path) as records:
        assert 3 <= len(records.rows) < 700
        assert sum(sweep.answers for sweep in told) == len(records.rows)


@pytest.mark.parametrize(
    ("concurrency", "order"), [(1, ["base", "swyb", "base", "swyb"]), (2, ["base", "base", "swyb", "swyb"])]
)
def test_methods_take_turns_one_at_a_time(
    tasks: list[Task], tmp_path: Path, concurrency: int, order: list[str]
) -> None:
    """Several at a time, a method has the model for itself."""
    rows = evaluated(tasks, tmp_path / "r.jsonl", "base,swyb", "12,20", concurrency=concurrency)
    assert [row.method for row in rows] == 2 * order
    assert [row.level for row in rows] == ["12"] * 4 + ["20"] * 4


def test_equal_seeds_draw_equally(tasks: list[Task], tmp_path: Path) -> None:
    """Drawn answers are those of the seed, and differ between tasks and seeds."""
    one, same, other = (
        {
            row.task: row.text
            for row in evaluated(tasks, tmp_path / f"{at}.jsonl", "base:temperature=1", "20", seed=seed)
        }
        for at, seed in enumerate((3, 3, 4))
    )
    assert one == same != other
    assert len(set(one.values())) == 2
