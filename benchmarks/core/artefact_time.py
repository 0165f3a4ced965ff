"""Loading time of a saved grammar until it can be decoded, beside compiling it: size and times, one by one.

Until it can be decoded: the minimum is known, and so are the distances behind 64 candidates for the first token. Both
ways with a vocabulary that knows no rules yet (`cold`), and with one that has met those of this grammar (`warm`).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np

from benchmarks.core.walks import CANDIDATES
from benchmarks.data import read_tasks, read_vocabulary, tokenizer_folder, write_rows
from benchmarks.tables import machine, markdown, number, quantile
from grammar_cache import CompiledGrammar, Constraint, GrammarError, Limits, Vocabulary, compile_grammar
from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.grammars.shipped import shipped
from server.options.readers import positive, whole

ROOMY = 512
"""Tokens of budget: the exact search is not asked."""


@dataclass(frozen=True, slots=True)
class ArtefactRow:
    """One grammar: the bytes it takes, and milliseconds."""

    grammar: str
    size: int
    save: float
    compile_cold: float
    compile_warm: float
    load_cold: float
    load_warm: float


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, default=0, help="the first N schemas only (0: all)")
    parser.add_argument("--tokenizer", default="llama3_1", help="one that scripts/fetch_tokenizers.sh fetches")
    parser.add_argument("--repeats", type=positive, default=5, help="of which the best counts")


def run(arguments: Namespace) -> int:
    """Prints a table of the schemas and one of the shipped SQL grammar, and writes the rows."""
    vocabulary = read_vocabulary(tokenizer_folder(arguments.tokenizer))
    tasks, rows = read_tasks(arguments.n), []
    for task in tasks:
        try:
            rows.append(measure(task.name, Constraint("json_schema", task.schema), vocabulary, arguments.repeats))
        except GrammarError as refusal:
            print(f"{task.name} is refused: {refusal}")
    sql = measure("sql", shipped("sql"), vocabulary, arguments.repeats)
    write_rows(arguments.out, "artefact", [*rows, sql])
    print(f"Until it can be decoded, in ms, {arguments.tokenizer}, best of {arguments.repeats}\n")
    print(report(rows, f"{len(rows)} of {len(tasks)} schemas"))
    print(f"\n{report([sql], 'the shipped SQL grammar')}")
    print(f"\n{machine()}")
    return 0


def measure(name: str, constraint: Constraint, vocabulary: Vocabulary, repeats: int) -> ArtefactRow:
    """Every time is the best of several."""
    limits = Limits()
    made = _ready(compile_grammar(constraint, vocabulary, limits))
    data = to_bytes(made)

    def compiled() -> None:
        _ready(compile_grammar(constraint, vocabulary, limits))

    def loaded() -> None:
        _ready(from_bytes(data, vocabulary, limits))

    def forgetful(act: Callable[[], None]) -> float:
        vocabulary.clear_caches()
        return _time(act)

    times = [
        min(_time(lambda: to_bytes(made)) for _ in range(repeats)),
        min(forgetful(compiled) for _ in range(repeats)),
        min(_time(compiled) for _ in range(repeats)),
        min(forgetful(loaded) for _ in range(repeats)),
        min(_time(loaded) for _ in range(repeats)),
    ]
    return ArtefactRow(name, len(data), *(round(time, 4) for time in times))


def report(rows: Sequence[ArtefactRow], title: str) -> str:
    """One line for each way, and one for the bytes."""
    lines = []
    for name in list(asdict(rows[0]))[1:]:
        values = [float(getattr(row, name)) for row in rows]
        shown = [quantile(values, share) for share in (0.5, 0.95, 1.0)]
        lines.append([name.replace("_", ", ").replace("size", "size, bytes"), *map(number, shown)])
    return markdown([title, "p50", "p95", "max"], lines)


def _ready(grammar: CompiledGrammar) -> CompiledGrammar:
    tokens = np.random.default_rng(0).choice(grammar.vocabulary.token_list, (1, CANDIDATES))
    least = grammar.minimum.tokens
    grammar.distances(grammar.consume_batch(np.array([grammar.start], np.int32), tokens), least + ROOMY)
    return grammar


def _time(act: Callable[[], object]) -> float:
    begun = perf_counter()
    act()
    return (perf_counter() - begun) * 1000
