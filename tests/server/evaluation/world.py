"""A small world to evaluate in: two tasks, a vocabulary of bytes and words, models without weights."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from server.backends.loop import EngineLoop
from server.evaluation.budgets import levels
from server.evaluation.datasets import json_mode
from server.evaluation.methods.registry import build
from server.evaluation.methods.spec import specs
from server.evaluation.model import LocalModel
from server.evaluation.records import Records, Row
from server.evaluation.runner import Plan, run
from server.evaluation.task import Task
from tests.server.engines.scripted import Script, ScriptedEngine
from tests.server.engines.scripts import follow, seeded
from tests.server.running import STOP, VOCABULARY

CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}
UNSUPPORTED = {"type": "array", "items": {"type": "object"}, "uniqueItems": True, "minItems": 65}
SHORTEST = '{"a":1}'
FEWEST = 5
"""Tokens of it in `VOCABULARY`: `{"`, a, `":`, 1, }."""

RANDOM = seeded(VOCABULARY.size, 1)
FLUENT = follow(VOCABULARY.size, tuple(SHORTEST.encode()), STOP)
"""Wants to say the shortest answer byte by byte, and to end."""


def write_tasks(folder: Path) -> Path:
    """The folder, with one task that every grammar engine can serve and one that ours refuses."""
    folder.mkdir(parents=True, exist_ok=True)
    items = [
        ("plain", "a?", CLOSED, {"a": 17}),
        ("unsupported", "b?", UNSUPPORTED, ["x", "y"]),
    ]
    lines = [
        {
            "id": name,
            "prompt": [{"role": "user", "content": question}],
            "schema": json.dumps(schema),
            "completion": json.dumps(gold),
        }
        for name, question, schema, gold in items
    ]
    (folder / json_mode.FILE).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def read_tasks(folder: Path) -> list[Task]:
    return json_mode.read(write_tasks(folder), 0, 0)


def split(text: str) -> list[int]:
    """Bytes for tokens."""
    return list(text.encode())


def local(script: Script = RANDOM) -> LocalModel:
    return LocalModel(EngineLoop(ScriptedEngine(VOCABULARY, script)), split)


def evaluated(
    tasks: Sequence[Task],
    path: Path,
    methods: str = "swyb",
    budgets: str = "12",
    model: LocalModel | None = None,
    seed: int = 0,
    concurrency: int = 2,
) -> list[Row]:
    """The rows of a run."""
    chosen = model or local()

    async def running() -> list[Row]:
        with ExitStack() as stack, Records(path) as records:
            made = build(specs(methods), chosen, stack)
            async with chosen:
                plan = Plan(tasks, made, levels(budgets), seed, concurrency)
                await run(plan, chosen.split, records, lambda sweep: None)
            return records.rows

    return asyncio.run(running())


def steps(model: LocalModel) -> int:
    """Number of calls of the model by those who asked it something: warming up doesn't count."""
    return _steps(model) - _warm_up_steps()


def _steps(model: LocalModel) -> int:
    assert isinstance(model.engine, ScriptedEngine)
    return model.engine.steps


@cache
def _warm_up_steps() -> int:
    async def start(model: LocalModel) -> int:
        async with model:
            return _steps(model)

    return asyncio.run(start(local()))


def row(**fields: Any) -> Row:
    """A row; what isn't given has a default."""
    given = {"task": "t", "method": "swyb", "level": "120", "seed": 0, "budget": 120, "outcome": "answered"}
    return Row(**{**given, **fields})
