"""Hostile grammars: what the worst step takes, and the worst grammar, of many that are made for that.

Grammars are measured one after the other; `--inputs` measures those that have names, each in a process of its own.
"""

from __future__ import annotations

import random
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from resource import RUSAGE_SELF, getrusage
from time import thread_time

from benchmarks.core import hostile_inputs
from benchmarks.core.hostile_grammars import FAMILIES, TURNS, Hostile, hostile
from benchmarks.core.hostile_steps import steps_of
from benchmarks.data import append_rows, read_vocabulary, tokenizer_folder, write_rows
from benchmarks.tables import machine, markdown, number, quantile
from grammar_cache import GrammarError, Limits, Vocabulary, compile_grammar
from grammar_cache.warm_up import warm_up
from server.engines.embedded import NAME, default_cache
from server.options.readers import positive, whole
from server.settings import LIMITS


@dataclass(frozen=True, slots=True)
class HostileRow:
    """One grammar: ms of CPU of its compiling, of its worst step and of the median one, MB that it held at most, and
    what refused it.
    """

    number: int
    family: str
    budget: int
    compiling: float
    worst: float
    median: float
    megabytes: float
    refused: str


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=positive, default=1000, help="so many grammars")
    parser.add_argument("--inputs", action="store_true", help="those that have names instead")
    parser.add_argument("--first", type=whole, default=0, help="the number of the first one")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=TURNS, help="those that take turns")
    parser.add_argument("--tokenizer", default="", help="one that scripts/fetch_tokenizers.sh fetches; else SmolLM2's")


def run(arguments: Namespace) -> int:
    """Prints the table, and writes the rows behind those of earlier runs."""
    named = arguments.tokenizer
    folder = tokenizer_folder(named) if named else default_cache() / "models" / NAME
    if arguments.inputs:
        inputs = hostile_inputs.rows(folder)
        write_rows(arguments.out, "hostile_inputs", inputs)
        print(f"{hostile_inputs.report(inputs)}\n\n{machine()}")
        return 0
    vocabulary = read_vocabulary(folder)
    warm_up(vocabulary)
    before = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    rows: list[HostileRow] = []
    for one in hostile(range(arguments.first, arguments.first + arguments.n), arguments.families):
        rows.append(measured(one, vocabulary, LIMITS))
        append_rows(arguments.out / "hostile.jsonl", rows[-1:])
    print(report(rows))
    print(f"\nResident at most {getrusage(RUSAGE_SELF).ru_maxrss / 1024:.0f} MB, {before:.0f} before.\n{machine()}")
    return 0


def measured(one: Hostile, vocabulary: Vocabulary, limits: Limits) -> HostileRow:
    """One grammar, compiled, and a text of it."""
    begun = thread_time()
    try:
        grammar = compile_grammar(one.constraint, vocabulary, limits)
        least = grammar.minimum.tokens
    except GrammarError as error:
        spent = 1000 * (thread_time() - begun)
        return HostileRow(one.number, one.family, one.budget, spent, 0.0, 0.0, 0.0, type(error).__name__)
    compiling = 1000 * (thread_time() - begun)
    if least > max(one.budget, 4_000):
        return HostileRow(one.number, one.family, one.budget, compiling, 0.0, 0.0, grammar.held_bytes / 1e6, "long")
    steps = list(steps_of(grammar, max(one.budget, least), random.Random(one.number)))
    times, sizes = zip(*steps, strict=True)
    return HostileRow(
        one.number, one.family, max(one.budget, least), compiling, max(times), quantile(times, 0.5), max(sizes), ""
    )


def report(rows: Sequence[HostileRow]) -> str:
    """Table of the families, and the worst three grammars."""
    lines = []
    for family in sorted({row.family for row in rows}):
        own = [row for row in rows if row.family == family]
        stepped = [row for row in own if row.worst]
        worst = [row.worst for row in stepped] or [0.0]
        values = [max(row.compiling for row in own), quantile(worst, 0.5), quantile(worst, 0.99), max(worst)]
        megabytes = max((row.megabytes for row in own), default=0.0)
        lines.append([family, str(len(own)), str(len(own) - len(stepped)), *map(number, [*values, megabytes])])
    header = ["family", "grammars", "refused", "compile max, ms", "worst step p50, ms", "p99", "max", "MB held, max"]
    slowest = sorted(rows, key=lambda row: -row.worst)[:3]
    told = "; ".join(f"{row.number} ({row.family}) {row.worst:.0f} ms, {row.megabytes:.0f} MB" for row in slowest)
    return f"{markdown(header, lines)}\n\nThe worst: {told}."
