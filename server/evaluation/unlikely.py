"""Unlikely tokens of an answer: taken at less than a thousandth of the model where a likelier one was viable.

What the grammar and the budget leave no better choice is not counted: it is their price, not the decoder's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grammar_cache import CompiledGrammar, GrammarError
from grammar_cache.configurations.interner import DEAD
from server.engines.contract import Engine, EngineError, Forward
from server.evaluation.model import LocalModel, Scores
from server.evaluation.records import Records, Row
from server.evaluation.task import Task
from server.grammars.compiled import Grammars
from server.progress import Progress

LEAST_SHARE = 0.001


async def fill_unlikely(records: Records, tasks: Iterable[Task], model: LocalModel, grammars: Grammars) -> None:
    """Adds the number of unlikely tokens to the rows that have tokens and lack it; nothing where the engine can't tell
    probabilities, nor where the text is not one of our grammar within the budget.

    No answer is under way meanwhile: the engine has one caller at a time.
    """
    engine = model.engine
    if not isinstance(engine, Scores) or not isinstance(engine, Engine):
        return
    of_name = {task.name: task for task in tasks}
    lacking = [row for row in records.rows if row.token_ids and row.unlikely is None and row.task in of_name]
    progress = Progress(len(lacking))
    for row in sorted(lacking, key=lambda row: row.task):  # a prompt's answers one after the other: it may be cached
        task = of_name[row.task]
        progress.step("unlikely tokens")
        try:
            grammar = (await grammars.get(task.constraint)).grammar
        except GrammarError:  # a peer may have answered what our grammar refuses
            continue
        count = await asyncio.to_thread(_unlikely, engine, model.prompt(task), row, grammar)
        if count is not None:
            records.add(replace(row, unlikely=count))


def _unlikely(engine: Engine, prompt: tuple[int, ...], row: Row, grammar: CompiledGrammar) -> int | None:
    assert isinstance(engine, Scores), "others can't tell"
    assert row.token_ids is not None, "rows without tokens were left out"
    tokens, places = row.token_ids, [grammar.start]
    for token in tokens:
        after = grammar.consume_batch(np.array(places[-1:], np.int32), np.array([[token]], np.int32))[0, 0]
        if after == DEAD:
            return None
        places.append(int(after))
    rare = np.flatnonzero(engine.log_probabilities(prompt, tokens) < np.log(LEAST_SHARE)).tolist()
    found = 0
    for at in rare:
        viable = grammar.mask(places[at], row.budget - at)
        logits = _logits(engine, prompt, tokens[:at])
        found += bool(logits[viable].max(initial=-np.inf) > logits[tokens[at]])
    return found


def _logits(engine: Engine, prompt: Sequence[int], tokens: Sequence[int]) -> NDArray[np.float32]:
    """Logits behind a prompt and tokens. Raises EngineError."""
    sequence = engine.open(prompt)
    try:
        logits = _step(engine, Forward(sequence, (0,), ((),)))
        return _step(engine, Forward(sequence, (0,), (tuple(tokens),))) if tokens else logits
    finally:
        engine.close(sequence)


def _step(engine: Engine, forward: Forward) -> NDArray[np.float32]:
    [rows] = engine.step([forward])
    if isinstance(rows, EngineError):
        raise rows
    row: NDArray[np.float32] = rows[0]
    return row
