"""The time of a step of beams without the model: as the paper prints the search, and as a request gets it.

Logits are noise with the reference answer's next token above, so beams stay near that text and differ. Only steps with
all beams under way count. Times are the thread's own on a processor, and of both searches by turns, so that other work
on the machine says little.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import thread_time_ns

import numpy as np

from benchmarks.data import read_tasks, read_vocabulary, splitter, tokenizer_folder, write_rows
from benchmarks.tables import machine, markdown, number, quantile
from grammar_cache import CompiledGrammar, Constraint, GrammarError, compile_grammar
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from server.decoding.step import steps
from server.engines.embedded import NAME, default_cache
from server.evaluation.methods.server_defaults import server_defaults
from server.options.readers import positive, whole

BUDGET = 100
SPREAD, ABOVE = 1.5, 12.0
"""Standard deviation of the logits, and what is added to that of the reference's token."""


@dataclass(frozen=True, slots=True)
class BeamRow:
    """One answer: µs of each step in which all beams went on."""

    task: str
    search: str
    microseconds: list[float]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, default=12, help="the first N tasks only (0: all)")
    parser.add_argument("--tokenizer", default="", help="one that scripts/fetch_tokenizers.sh fetches; else SmolLM2's")
    parser.add_argument("--repeats", type=positive, default=3, help="answers to each task, behind one that isn't timed")
    parser.add_argument("--beams", type=positive, default=4)
    parser.add_argument("--seed", type=whole, default=0)


def run(arguments: Namespace) -> int:
    """Prints the table and writes the rows."""
    named = arguments.tokenizer
    folder = tokenizer_folder(named) if named else default_cache() / "models" / NAME
    vocabulary, split, width = read_vocabulary(folder), splitter(folder), arguments.beams
    searches = {
        "as the paper prints it": Parameters(BUDGET, width, seed=0),
        "as a request gets it": replace(server_defaults(width), budget=BUDGET, seed=0),
    }
    rows: list[BeamRow] = []
    for task in read_tasks(arguments.n):
        try:
            grammar = compile_grammar(Constraint("json_schema", task.schema), vocabulary)
        except GrammarError:
            continue
        if grammar.minimum.tokens <= BUDGET:
            rows += measured(task.name, grammar, split(task.completion), searches, arguments.repeats, arguments.seed)
    write_rows(arguments.out, "beam_step", rows)
    print(f"Microseconds a step of {width} beams, {len(rows)} answers, {vocabulary.size:,} tokens\n")
    print(report(rows))
    print(f"\n{machine()}")
    return 0


def measured(
    task: str,
    grammar: CompiledGrammar,
    reference: Sequence[int],
    searches: Mapping[str, Parameters],
    repeats: int,
    seed: int,
) -> Iterator[BeamRow]:
    """Rows of a task, for each search by turns; the first answer of each isn't told."""
    for answer in range(repeats + 1):
        for search, parameters in searches.items():
            times = answered(grammar, reference, parameters, seed)
            if answer:
                yield BeamRow(task, search, times)


def answered(grammar: CompiledGrammar, reference: Sequence[int], parameters: Parameters, seed: int) -> list[float]:
    """Microseconds of each step of an answer in which all beams went on."""
    rng, size, times = np.random.default_rng(seed), grammar.vocabulary.size, list[float]()
    pool = rng.normal(scale=SPREAD, size=4 * size).astype(np.float32)  # drawn once: to draw each row takes long
    decoder = Decoder(grammar, parameters)
    while not decoder.answers:
        wanted, prefixes = decoder.wanted, decoder.prefixes
        logits = np.stack([pool[first : first + size] for first in rng.integers(3 * size, size=len(prefixes))])
        for row, prefix in zip(logits, prefixes, strict=True):
            row[list(reference[len(prefix) : len(prefix) + 1])] += ABOVE
        begun = thread_time_ns()
        decoder.advance(steps(grammar, wanted.places, logits, parameters))
        if len(prefixes) == parameters.beam_width:
            times.append((thread_time_ns() - begun) / 1000)
    return times


def report(rows: Sequence[BeamRow]) -> str:
    """A line for each search, over all its steps."""
    columns: dict[str, list[float]] = {}
    for row in rows:
        columns.setdefault(row.search, []).extend(row.microseconds)
    lines = [
        [search, str(len(times)), *(map(number, (quantile(times, 0.5), quantile(times, 0.99))) if times else "––")]
        for search, times in columns.items()
    ]
    return markdown(["search", "steps", "p50", "p99"], lines)
