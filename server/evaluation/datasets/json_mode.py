"""json-mode-eval: a request, a JSON Schema, and a reference answer."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

from grammar_cache import Constraint
from server.evaluation.datasets.sampling import sampled
from server.evaluation.feasible import short_texts
from server.evaluation.json_judge import SchemaJudge
from server.evaluation.json_values import same, strict
from server.evaluation.members import members
from server.evaluation.task import Task

FILE = "jme.jsonl"


def read(path: Path, n: int, seed: int) -> list[Task]:
    """`n` tasks of the folder, all with 0. Raises OSError, ValueError."""
    lines = (path / FILE).read_text(encoding="utf-8").splitlines()
    return [_task(json.loads(line)) for line in sampled(lines, n, seed)]


def _task(item: dict[str, Any]) -> Task:
    schema, gold = json.loads(item["schema"]), item["completion"]
    reference = strict(gold)
    count = partial(members, reference=reference, known=json.dumps(item["prompt"], ensure_ascii=False))
    return Task(
        item["id"],
        tuple(item["prompt"]),
        Constraint("json_schema", item["schema"]),
        gold,
        SchemaJudge(schema, lambda value: same(value, reference), count),
        {"json_schema": item["schema"]},
        short_texts(schema, gold),
    )
