"""Every task, by every method, within every budget: the same prompt, judge and post-processing for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from zlib import crc32

from server.evaluation.budgets import Level
from server.evaluation.description import Sweep
from server.evaluation.feasible import Split
from server.evaluation.methods.method import Method
from server.evaluation.records import Records, Row
from server.evaluation.reply import Reply
from server.evaluation.task import Task, Verdict
from server.progress import Progress


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of what is to be answered. `concurrency`: how many answers are under way at a time, and share the model's
    steps.
    """

    tasks: Sequence[Task]
    methods: Sequence[Method]
    levels: Sequence[Level]
    seed: int
    concurrency: int


@dataclass(frozen=True, slots=True)
class _Question:
    """A cell of the plan; `row` holds what is known before the answer."""

    task: Task
    row: Row


async def run(plan: Plan, split: Split | None, records: Records, tell: Callable[[Sweep], None]) -> None:
    """Answers what `records` hasn't, by ascending budget; `tell` gets what was made together and how long it took.

    One at a time, methods take turns task by task: a machine that gets busy strikes them alike. Several at a time, it
    is one method after the other: only its own answers share steps. Rows are kept as they come, so that a run may be
    ended and taken up again at any point.
    """
    methods = {method.label: method for method in plan.methods}
    questions = [question for question in _questions(plan, split) if _open(question, records)]
    progress = Progress(len(questions))
    for level in sorted(plan.levels):
        for group in _groups([q for q in questions if q.row.level == level.label], plan):
            await _together(methods[group[0].row.method], group, plan.concurrency, records, progress, tell)


def _groups(questions: Sequence[_Question], plan: Plan) -> list[list[_Question]]:
    """Groups of questions that are answered together, all by one method."""
    if plan.concurrency == 1:
        return [[question] for question in questions]
    groups = [[q for q in questions if q.row.method == method.label] for method in plan.methods]
    return [group for group in groups if group]


async def _together(
    method: Method,
    questions: Sequence[_Question],
    concurrency: int,
    records: Records,
    progress: Progress,
    tell: Callable[[Sweep], None],
) -> None:
    """Answers so many questions at a time; what a smaller budget has settled is taken over."""
    places = asyncio.Semaphore(concurrency)
    made: list[Row] = []

    async def one(question: _Question) -> None:
        if (row := _settled(question, records)) is None:
            async with places:
                row = await _answered(method, question)
            made.append(row)
        records.add(row)
        progress.step(f"T = {row.level}, {row.method}, {row.task}: {_summary(row)}")

    begun = perf_counter()
    try:
        async with asyncio.TaskGroup() as group:
            for question in questions:
                group.create_task(one(question))
    finally:
        if made:
            tokens, seconds = sum(row.tokens for row in made), perf_counter() - begun
            tell(Sweep(method.label, made[0].level, concurrency, len(made), tokens, round(seconds, 3)))


async def _answered(method: Method, question: _Question) -> Row:
    row = question.row
    # Tasks have seeds of their own: equal noise at equal steps of all tasks would be no independent draws.
    seed = crc32(f"{row.seed} {row.task}".encode())
    try:
        reply = await method.answer(question.task, row.budget, seed)
    except ValueError as error:  # such as a chat that the model's template refuses
        reply = Reply("failed", reason=str(error))
    return with_reply(row, reply, judged(question.task, reply))


def judged(task: Task, reply: Reply) -> Verdict | None:
    """Verdict of the task's judge on a text, after the post-processing that all methods share."""
    return None if reply.text is None else task.judge(task.read(reply.text))


def with_reply(row: Row, reply: Reply, verdict: Verdict | None) -> Row:
    """The row of an answer."""
    return replace(row, **asdict(reply), verdict=verdict)


def _questions(plan: Plan, split: Split | None) -> list[_Question]:
    """The plan's cells. Raises ValueError where a tokenizer is needed and there is none."""
    found = []
    for task in plan.tasks:
        gold = None if split is None else len(split(task.gold))
        feasible = feasible_tokens(task, split)
        for level in plan.levels:
            budget = max(1, level.tokens(gold))
            for method in plan.methods:
                row = Row(
                    outcome="failed",
                    task=task.name,
                    method=method.label,
                    level=level.label,
                    seed=plan.seed,
                    budget=budget,
                    feasible_tokens=feasible,
                )
                found.append(_Question(task, row))
    return found


def feasible_tokens(task: Task, split: Split | None) -> int | None:
    """Tokens of the shortest text that the judge finds valid, of those known without a grammar; None if none is."""
    if split is None:
        return None
    return min((len(split(text)) for text in (task.gold, *task.shorter) if task.judge(text).valid), default=None)


def _open(question: _Question, records: Records) -> bool:
    """Whether there is something to do: no row yet, or one that failed and may not do so again."""
    row = records.get(question.row.key)
    return row is None or (row.outcome == "failed" and not row.settled)


def _settled(question: _Question, records: Records) -> Row | None:
    """The row of an answer that any larger budget would have given too, of this task by this method."""
    asked = question.row
    for row in records.rows:
        same = (row.task, row.method, row.seed) == (asked.task, asked.method, asked.seed)
        if same and row.settled and row.budget <= asked.budget:
            return replace(row, level=asked.level, budget=asked.budget)
    return None


def _summary(row: Row) -> str:
    if row.verdict is None:
        return row.outcome
    return "valid" if row.verdict.valid else "not valid"
