"""JSON tasks and their judges: our samples, and the real sets where they are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from server.evaluation.datasets import functions, json_mode
from server.evaluation.datasets.functions import calls_match
from server.evaluation.datasets.samples import samples
from server.evaluation.datasets.sampling import sampled
from server.evaluation.json_judge import SchemaJudge
from server.evaluation.json_values import same
from server.evaluation.task import Task
from server.evaluation.tools.matching import Expected
from tests.documents import ROOT

DATA = Path(os.environ.get("SWYB_DATA") or ROOT.parent / "shared" / "data")

CALL: Expected = {"move": {"to": ["New York", "NY"]}}


@pytest.mark.parametrize(
    ("text", "syntax", "valid", "correct"),
    [
        ('{"a": 1.0}', True, True, True),
        ('{"a": 2}', True, True, False),
        ('{"a": true}', True, False, False),
        ("[]", True, False, False),
        ('{"a": 1', False, False, False),
        ('{"a": 1} and more', False, False, False),
        ('{"a": NaN}', False, False, False),
        ("[" * 100_000, False, False, False),
    ],
)
def test_verdicts(text: str, syntax: bool, valid: bool, correct: bool) -> None:
    """Syntax by `json`, but strictly; validity by `jsonschema`; correctness by value."""
    schema = {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}
    found = SchemaJudge(schema, lambda value: same(value, {"a": 1}))(text)
    assert (found.syntax, found.valid, found.correct) == (syntax, valid, correct)
    assert bool(found.detail) == (not valid)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"a": 1, "b": [None]}, {"b": [None], "a": 1.0}, True),
        (1, True, False),
        ([0], [False], False),
        ("1", 1, False),
        ([1, 2], [2, 1], False),
        ({}, [], False),
        (None, False, False),
    ],
)
def test_values_are_compared_as_json(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) is same(other, one) is equal


def test_calls_are_judged_by_the_leaderboards_rules() -> None:
    """One call may stand for a list of one; values are compared as `test_matching` shows."""
    schemas = {"move": {"properties": {"to": {"type": "string"}}, "required": ["to"]}}
    answer = {"name": "move", "arguments": {"to": "new  york."}}
    assert calls_match(answer, [CALL], schemas) and calls_match([answer], [CALL], schemas)
    assert not calls_match([answer, answer], [CALL], schemas)
    assert not calls_match({**answer, "name": "go"}, [CALL], schemas)


def test_larger_samples_contain_smaller_ones() -> None:
    """Samples are in the set's order, and others for another seed."""
    items = list(range(30))
    for n in range(1, 30):
        assert set(sampled(items, n, 5)) < set(sampled(items, n + 1, 5))
        assert sampled(items, n, 5) == sorted(sampled(items, n, 5))
    assert sampled(items, 0, 5) == sampled(items, 99, 5) == items
    assert sampled(items, 9, 5) != sampled(items, 9, 6)


def assert_sound(tasks: list[Task]) -> None:
    """References are right by their own judge, and what is said to be shorter is no longer."""
    for task in tasks:
        assert task.judge(task.gold).correct, task.name
        assert json.loads(task.forms["json_schema"]) == json.loads(task.constraint.text)
        assert all(len(text) <= len(task.gold) for text in task.shorter[1:])


def test_samples() -> None:
    """Three tasks of each JSON set come with the package."""
    with samples() as folder:
        for read, name in ((json_mode.read, "jme"), (functions.read, "bfcl")):
            tasks = read(folder / name, 0, 0)
            assert len(tasks) == 3
            assert_sound(tasks)
            assert [task.name for task in read(folder / name, 2, 1)] == [task.name for task in sampled(tasks, 2, 1)]


@pytest.mark.skipif(not (DATA / "jme").is_dir(), reason=f"no evaluation data at {DATA} (set SWYB_DATA)")
def test_real_sets() -> None:
    """All 60 tasks of json-mode-eval; of the function calls those whose answer meets the tool's own parameters."""
    tasks = json_mode.read(DATA / "jme", 0, 0)
    assert len(tasks) == 60
    assert_sound(tasks)
    calls = functions.read(DATA / "bfcl", 0, 0)
    assert len(calls) == 199
    assert_sound(calls)
