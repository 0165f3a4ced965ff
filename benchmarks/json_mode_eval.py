"""End to end: every task of json-mode-eval under several token budgets, by the server's decoding and a real model.

Every answer is judged by `json` and `jsonschema`. A refusal counts by its reason: the budget is below the fewest
tokens of a complete answer, or the schema has a keyword that can't be enforced. The feasible line says for how many
tasks a valid answer of so few tokens is known without any grammar.
"""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal, TypeAlias

from benchmarks.data import Split, Task, read_tasks, splitter, write_rows
from benchmarks.tables import machine, markdown, number, percent
from grammar_cache import CompiledGrammar, Constraint, GrammarError, UnsupportedFeature, compile_grammar
from server.backend import Work
from server.decoding.answer import Answer
from server.decoding.parameters import Parameters
from server.engines.contract import ChatModel
from server.evaluation.feasible import fewest_tokens, is_valid
from server.loop import EngineLoop
from server.settings import Settings

BUDGETS = (32, 64, 120, 256)

Outcome: TypeAlias = Literal["valid", "invalid", "over budget", "budget", "keyword", "other"]
"""What an answer is; or why there is none, "other" being any other refusal of the schema."""
Report: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A task, compiled; `grammar` None: refused for `reason`. `feasible`: the fewest tokens known to be enough."""

    task: Task
    prompt: tuple[int, ...]
    feasible: int | None
    grammar: CompiledGrammar | None
    reason: Outcome
    message: str


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One task under one budget. `exact`: no answer is shorter than `min_tokens`."""

    task: str
    budget: int
    outcome: Outcome
    feasible_tokens: int | None
    min_tokens: int | None = None
    exact: bool | None = None
    message: str = ""
    text: str | None = None
    tokens: int = 0
    forced_tokens: int = 0
    seconds: float = 0.0

    @property
    def feasible(self) -> bool:
        return self.feasible_tokens is not None and self.feasible_tokens <= self.budget

    @property
    def compiled(self) -> bool:
        return self.outcome not in ("keyword", "other")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=int, default=0, help="the first N tasks only (0: all)")
    parser.add_argument("--budgets", type=_numbers, default=BUDGETS, help="token budgets, as 32,64,120,256")
    parser.add_argument("--beam-width", type=int, default=1)
    parser.add_argument("--concurrency", type=int, default=8, help="requests that share the model's steps")
    parser.add_argument("--model", type=Path, help="a model's folder (default: the embedded model)")


def run(arguments: Namespace) -> int:
    """Prints the table and writes the rows."""
    from server.engines.embedded import default_cache, ensure_embedded_model
    from server.engines.transformers_engine import TransformersEngine

    tasks = read_tasks(arguments.n)
    folder = arguments.model or ensure_embedded_model(default_cache(), _progress)
    engine = TransformersEngine(folder, cache=default_cache())
    split = splitter(folder)
    prepared = [prepare(task, engine, split) for task in tasks]
    rows: list[AnswerRow] = []
    walls: dict[int, float] = {}
    loop = EngineLoop(engine)
    loop.start()
    try:
        for budget in arguments.budgets:
            begun = perf_counter()
            parameters = Parameters(budget=budget, beam_width=arguments.beam_width)
            rows += asyncio.run(answer_all(loop, prepared, parameters, arguments.concurrency, _progress))
            walls[budget] = perf_counter() - begun
    finally:
        loop.stop()
    write_rows(arguments.out, "jme", rows)
    print(f"{len(tasks)} tasks, {engine.name}, M = {arguments.beam_width}, {arguments.concurrency} at a time\n")
    print(report(rows, walls))
    print(f"\n{machine()}")
    return 0


def prepare(task: Task, model: ChatModel, split: Split) -> Prepared:
    """Compiles the schema as the server does; `split` is the model's tokenizer."""
    prompt, feasible = tuple(model.encode(task.messages)), fewest_tokens(task.parsed_schema, task.completion, split)
    try:
        grammar = compile_grammar(Constraint("json_schema", task.schema), model.vocabulary, Settings().limits)
        _ = grammar.minimum  # afterwards the decoding thread alone touches the tables
    except GrammarError as error:
        reason: Outcome = "keyword" if isinstance(error, UnsupportedFeature) else "other"
        return Prepared(task, prompt, feasible, None, reason, str(error))
    return Prepared(task, prompt, feasible, grammar, "budget", "")


async def answer_all(
    loop: EngineLoop, prepared: Sequence[Prepared], parameters: Parameters, concurrency: int, tell: Report
) -> list[AnswerRow]:
    """Rows in the tasks' order. Raises EngineError."""
    places = asyncio.Semaphore(concurrency)
    done = 0

    async def one(item: Prepared) -> AnswerRow:
        nonlocal done
        async with places:
            row = await _answer(loop, item, parameters)
        done += 1
        tell(f"T = {parameters.budget}: {done} of {len(prepared)}, {row.task} {row.outcome}")
        return row

    return await asyncio.gather(*(one(item) for item in prepared))


def report(rows: Sequence[AnswerRow], walls: dict[int, float]) -> str:
    """A table with a line per budget, and why schemas were refused; `walls`: seconds that a budget's answers took."""
    header = ["T", "answered", "valid", "too small a budget", "(exact)", "refused keyword", "other"]
    header += ["valid of all", "feasible", "valid of compiled", "feasible", "tokens", "forced", "s/answer"]
    budgets = sorted({row.budget for row in rows})
    lines = [_line([row for row in rows if row.budget == budget], walls[budget]) for budget in budgets]
    refused = {row.task: row.message for row in rows if not row.compiled}
    reasons = "".join(f"\n- {task}: {message}" for task, message in refused.items())
    return markdown(header, lines) + (f"\n\nSchemas refused:\n{reasons}" if refused else "")


def _line(rows: Sequence[AnswerRow], wall: float) -> list[str]:
    answered = [row for row in rows if row.text is not None]
    valid = sum(row.outcome == "valid" for row in rows)
    small = [row for row in rows if row.outcome == "budget"]
    compiled = [row for row in rows if row.compiled]
    each = len(answered) or 1
    return [
        str(rows[0].budget),
        str(len(answered)),
        str(valid),
        str(len(small)),
        str(sum(bool(row.exact) for row in small)),
        str(sum(row.outcome == "keyword" for row in rows)),
        str(sum(row.outcome == "other" for row in rows)),
        percent(valid, len(rows)),
        percent(sum(row.feasible for row in rows), len(rows)),
        percent(valid, len(compiled)),
        percent(sum(row.feasible for row in compiled), len(compiled)),
        number(sum(row.tokens for row in answered) / each),
        number(sum(row.forced_tokens for row in answered) / each),
        number(wall / each),
    ]


async def _answer(loop: EngineLoop, item: Prepared, parameters: Parameters) -> AnswerRow:
    name, budget = item.task.name, parameters.budget
    if item.grammar is None:
        return AnswerRow(name, budget, item.reason, item.feasible, message=item.message)
    minimum = item.grammar.minimum
    if budget < minimum.tokens:
        return AnswerRow(name, budget, "budget", item.feasible, minimum.tokens, minimum.exact)
    begun = perf_counter()
    found: Answer | None = None
    async for event in loop.run(Work(item.prompt, item.grammar, parameters)):
        if isinstance(event, Answer):
            found = event
    assert found is not None, "an answer is the last event"
    assert found.budget_forced_tokens is not None, "this loop counts them"
    text = found.text.decode(errors="replace")
    return AnswerRow(
        name,
        budget,
        _judged(text, found.tokens_used, budget, item.task),
        item.feasible,
        minimum.tokens,
        minimum.exact,
        text=text,
        tokens=found.tokens_used,
        forced_tokens=found.budget_forced_tokens,
        seconds=round(perf_counter() - begun, 3),
    )


def _judged(text: str, tokens: int, budget: int, task: Task) -> Outcome:
    if tokens > budget:
        return "over budget"
    return "valid" if is_valid(text, task.parsed_schema) else "invalid"


def _numbers(text: str) -> tuple[int, ...]:
    values = text.split(",")
    if not all(value.isdecimal() and int(value) > 0 for value in values):
        raise ArgumentTypeError(f"{text!r} is not a list of positive whole numbers")
    return tuple(map(int, values))


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
