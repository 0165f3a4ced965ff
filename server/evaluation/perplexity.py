"""Perplexity of an answer to the model that wrote it: what a constraint costs in fluency.

exp(-mean log p) of the answer's tokens under the unconstrained model, after the prompt: as the paper has it. The
tokens are those that were generated, the end token left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from server.evaluation.model import LocalModel, Scores
from server.evaluation.records import Records
from server.evaluation.task import Task
from server.progress import Progress


async def fill(records: Records, tasks: Iterable[Task], model: LocalModel) -> None:
    """Adds the perplexity to the rows that have tokens and lack it. Equal answers to a task are computed once.

    No answer is under way meanwhile: the engine has one caller at a time. An engine that can't tell adds nothing.
    """
    if not isinstance(model.engine, Scores):
        return
    known = {(row.task, row.token_ids): row.perplexity for row in records.rows if row.perplexity is not None}
    of_name = {task.name: task for task in tasks}
    lacking = [row for row in records.rows if row.token_ids and row.perplexity is None and row.task in of_name]
    progress = Progress(len(lacking))
    for row in sorted(lacking, key=lambda row: row.task):  # a prompt's answers one after the other: it may be cached
        key = row.task, row.token_ids
        if key not in known:
            assert row.token_ids is not None, "rows without tokens were left out"
            prompt = model.prompt(of_name[row.task])
            known[key] = perplexity(await asyncio.to_thread(model.engine.log_probabilities, prompt, row.token_ids))
        records.add(replace(row, perplexity=known[key]))
        progress.step("perplexity")


def perplexity(log_probabilities: NDArray[np.float64]) -> float:
    """Perplexity of at least one token; infinite where a token was impossible, or as good as."""
    with np.errstate(over="ignore"):
        return float(np.exp(-log_probabilities.mean()))
