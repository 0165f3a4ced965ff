"""Masks near the end of the budget, where not all that the grammar allows fits: µs of each, and what they leave.

Every answer follows the reference answer of a task while its tokens are viable, and else the witness, with T tokens in
all. `first`: a grammar that has followed the text and made no mask; `again`: the same mask once more. `loose` masks, of
positions where everything fits, stand beside.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import thread_time_ns

from benchmarks.data import Task, read_tasks, read_vocabulary, splitter, tokenizer_folder, write_rows
from benchmarks.tables import machine, markdown, number, quantile
from grammar_cache import CompiledGrammar, Constraint, GrammarError, Vocabulary, compile_grammar
from server.engines.embedded import NAME, default_cache
from server.options.readers import whole

BUDGETS = (24, 32, 40, 48, 56, 64)


@dataclass(frozen=True, slots=True)
class Answer:
    """Tokens of an answer to a task that was followed with a budget."""

    task: str
    schema: str
    budget: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MaskRow:
    """One mask: µs of CPU when it is asked for first and again, and how many tokens it leaves of those that the grammar
    allows.
    """

    task: str
    budget: int
    left: int
    tight: bool
    first: float
    again: float
    viable: int
    allowed: int


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, default=0, help="the first N tasks only (0: all)")
    parser.add_argument("--tokenizer", default="", help="one that scripts/fetch_tokenizers.sh fetches; else SmolLM2's")


def run(arguments: Namespace) -> int:
    """Prints the table and writes the rows."""
    named = arguments.tokenizer
    folder = tokenizer_folder(named) if named else default_cache() / "models" / NAME
    vocabulary = read_vocabulary(folder)
    tasks, split = read_tasks(arguments.n), splitter(folder)
    followed = list(answers(tasks, [split(task.completion) for task in tasks], vocabulary))
    rows = measure(followed, vocabulary)
    write_rows(arguments.out, "tight", rows)
    print(f"Masks of {len(followed)} answers, {named or NAME}, T = {BUDGETS}\n")
    print(report(rows))
    print(f"\n{machine()}")
    return 0


def answers(tasks: Sequence[Task], references: Sequence[Sequence[int]], vocabulary: Vocabulary) -> Iterator[Answer]:
    """Answers to all tasks that compile, with the budgets that are enough."""
    for task, reference in zip(tasks, references, strict=True):
        try:
            grammar = compile_grammar(Constraint("json_schema", task.schema), vocabulary)
        except GrammarError:
            continue
        for budget in BUDGETS:
            if grammar.minimum.tokens <= budget:
                yield Answer(task.name, task.schema, budget, tuple(_followed(grammar, reference, budget)))


def _followed(grammar: CompiledGrammar, reference: Sequence[int], budget: int) -> list[int]:
    found: list[int] = []
    configuration = grammar.start
    while not grammar.ends(configuration) and len(found) < budget:
        wanted = reference[len(found)] if list(reference[: len(found)]) == found and len(found) < len(reference) else -1
        mask = grammar.mask(configuration, budget - len(found))
        if wanted < 0 or not mask[wanted]:
            witness = grammar.witness(configuration)
            if not witness:
                break
            wanted = witness[0]
        configuration = grammar.take(configuration, wanted)
        found.append(wanted)
    return found


def measure(followed: Sequence[Answer], vocabulary: Vocabulary) -> list[MaskRow]:
    """One row for each position of each answer; every task's grammar is new, and its minimum known."""
    rows: list[MaskRow] = []
    grammar, schema = None, ""
    for answer in followed:
        if grammar is None or answer.schema != schema:
            grammar, schema = compile_grammar(Constraint("json_schema", answer.schema), vocabulary), answer.schema
            _ = grammar.minimum
        rows += _masks(grammar, answer)
    return rows


def _masks(grammar: CompiledGrammar, answer: Answer) -> Iterator[MaskRow]:
    configuration = grammar.start
    for place, token in enumerate(answer.tokens):
        left = answer.budget - place
        times = []
        for _ in range(2):
            begun = thread_time_ns()
            grammar.bitmask(configuration, left)
            times.append((thread_time_ns() - begun) / 1000)
        viable = int(grammar.mask(configuration, left).sum())
        allowed = int(grammar.mask(configuration, 1 << 20).sum())
        first, again = times
        yield MaskRow(answer.task, answer.budget, left, viable < allowed, first, again, viable, allowed)
        configuration = grammar.take(configuration, token)


def report(rows: Sequence[MaskRow]) -> str:
    """Table of tight and of loose masks."""
    lines = []
    for tight in (True, False):
        chosen = [row for row in rows if row.tight == tight]
        for visit in ("first", "again") if chosen else ():
            times = [row.first if visit == "first" else row.again for row in chosen]
            values = [sum(times) / len(times), *(quantile(times, share) for share in (0.5, 0.9, 0.99)), max(times)]
            lines.append(["tight" if tight else "loose", visit, str(len(times)), *map(number, values)])
    return markdown(["masks", "visit", "number", "mean", "p50", "p90", "p99", "max"], lines)
