"""Compile time of a schema until it can be decoded, beside the peers: schema by schema, engines in turn.

Ours counts twice: `compile_grammar`, and with it the exact search of the fewest tokens, which the server does before
it takes a request. Peers know no such number. Every time is the best of several fresh compiles: of all that ours has
solved before, it knows what a server's warm-up solves, the rules of JSON and the formats of strings, and nothing else.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import geometric_mean
from time import perf_counter
from typing import TypeAlias

from benchmarks.data import Task, read_tasks, read_vocabulary, tokenizer_folder, write_rows
from benchmarks.peers import find as peers
from benchmarks.peers.peer import Peer, Refused
from benchmarks.tables import NOT_INSTALLED, machine, markdown, number, quantile
from grammar_cache import Constraint, GrammarError, Vocabulary, compile_grammar
from grammar_cache.warm_up import solve_json
from server.options.readers import positive, whole

OURS = "swyb"
SLOW = 2000.0
"""Milliseconds: what takes longer isn't tried again."""

Times: TypeAlias = tuple[float, ...]
"""Milliseconds of each part of a compile."""
Compile: TypeAlias = Callable[[str], Times]


@dataclass(frozen=True, slots=True)
class CompileRow:
    """One schema in one engine; `refusal` None: it compiles. Times in milliseconds, the search of a peer 0."""

    task: str
    engine: str
    compile_ms: float
    search_ms: float
    refusal: str | None

    @property
    def total_ms(self) -> float:
        return self.compile_ms + self.search_ms


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, default=0, help="the first N schemas only (0: all)")
    parser.add_argument("--tokenizer", default="llama3_1", help="one that scripts/fetch_tokenizers.sh fetches")
    parser.add_argument("--repeats", type=positive, default=5, help="fresh compiles, of which the best counts")
    parser.add_argument("--peers", nargs="*", choices=peers.NAMES, default=peers.DEFAULT)


def run(arguments: Namespace) -> int:
    """Prints the tables and writes the rows."""
    tasks, folder = read_tasks(arguments.n), tokenizer_folder(arguments.tokenizer)
    vocabulary = read_vocabulary(folder)
    found = peers.find(arguments.peers, vocabulary, folder)
    rows = measure(tasks, vocabulary, [peer for peer in found.values() if peer], arguments.repeats)
    write_rows(arguments.out, "compile", rows)
    print(f"Compile time in ms, {len(tasks)} schemas, {arguments.tokenizer}, best of {arguments.repeats}\n")
    print(report(rows, found))
    print(f"\n{machine()}")
    return 0


def measure(tasks: Sequence[Task], vocabulary: Vocabulary, others: Sequence[Peer], repeats: int) -> list[CompileRow]:
    """Rows of every task and engine."""
    engines: dict[str, Compile] = {OURS: partial(_ours, vocabulary)}
    engines |= {peer.name: partial(_peer, peer) for peer in others}
    for compile_schema in engines.values():
        compile_schema('{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}')
    rows: list[CompileRow] = []
    for turn, task in enumerate(tasks):
        rows += _task_rows(task, engines, repeats, turn)
    return rows


def report(rows: Sequence[CompileRow], found: Mapping[str, Peer | None]) -> str:
    """Tables over the schemas that all engines compile: times, and ours in proportion to each peer's."""
    kept, times = _common(rows)
    lines = [
        _line("swyb: compile_grammar", rows, OURS, [row.compile_ms for row in kept[OURS]]),
        _line("swyb: exact search of the minimum", rows, OURS, [row.search_ms for row in kept[OURS]]),
        _line("swyb: both", rows, OURS, times[OURS]),
    ]
    for name, peer in found.items():
        lines.append(_line(peer.label, rows, name, times[name]) if peer else [name, NOT_INSTALLED, *["–"] * 4])
    header = ["engine", "refused", "p50", "p95", "max", "mean"]
    table = f"Over the {len(kept[OURS])} schemas that every engine compiles:\n\n{markdown(header, lines)}"
    return table + _ratios([name for name, peer in found.items() if peer], kept, times)


def _ratios(
    names: Sequence[str], kept: Mapping[str, Sequence[CompileRow]], times: Mapping[str, Sequence[float]]
) -> str:
    if not names or not kept[OURS]:
        return ""
    ours = {"compile_grammar": [row.compile_ms for row in kept[OURS]], "both": times[OURS]}
    lines = [[f"{part} / {name}", *_ratio(mine, times[name])] for name in names for part, mine in ours.items()]
    return "\n\n" + markdown(["swyb in proportion", "p50", "p95", "max", "schema by schema (geometric)"], lines)


def _ratio(mine: Sequence[float], theirs: Sequence[float]) -> list[str]:
    shares = (0.5, 0.95, 1.0)
    each = geometric_mean([a / b for a, b in zip(mine, theirs, strict=True)])
    return [number(quantile(mine, share) / quantile(theirs, share)) for share in shares] + [number(each)]


def _common(rows: Sequence[CompileRow]) -> tuple[dict[str, list[CompileRow]], dict[str, list[float]]]:
    refused = {row.task for row in rows if row.refusal is not None}
    kept: dict[str, list[CompileRow]] = {row.engine: [] for row in rows}
    for row in rows:
        if row.task not in refused:
            kept[row.engine].append(row)
    return kept, {engine: [row.total_ms for row in those] for engine, those in kept.items()}


def _line(label: str, rows: Sequence[CompileRow], engine: str, times: Sequence[float]) -> list[str]:
    refused = sum(row.engine == engine and row.refusal is not None for row in rows)
    if not times:
        return [label, str(refused), *["–"] * 4]
    values = [quantile(times, share) for share in (0.5, 0.95, 1.0)]
    return [label, str(refused), *map(number, [*values, sum(times) / len(times)])]


def _task_rows(task: Task, engines: Mapping[str, Compile], repeats: int, turn: int) -> list[CompileRow]:
    best: dict[str, Times] = {}
    refusals: dict[str, str] = {}
    names = list(engines)
    for repeat in range(repeats):
        # Nobody always comes first after whoever leaves the caches full.
        first = (turn + repeat) % len(names)
        for name in names[first:] + names[:first]:
            if name in refusals or sum(best.get(name, ())) > SLOW:
                continue
            try:
                times = engines[name](task.schema)
            except (GrammarError, Refused) as error:
                refusals[name] = str(error)
                continue
            best[name] = min(best.get(name, times), times, key=sum)
    return [_row(task.name, name, best.get(name, ()), refusals.get(name)) for name in names]


def _row(task: str, engine: str, times: Times, refusal: str | None) -> CompileRow:
    compile_ms, search_ms = (*times, 0.0, 0.0)[:2]
    return CompileRow(task, engine, round(compile_ms, 4), round(search_ms, 4), refusal)


def forget_all_but_json(vocabulary: Vocabulary) -> None:
    """Leaves what a server's warm-up leaves: the rules of JSON and the formats of strings solved, and nothing else."""
    vocabulary.clear_caches()
    solve_json(vocabulary)


def _ours(vocabulary: Vocabulary, schema: str) -> Times:
    forget_all_but_json(vocabulary)
    begun = perf_counter()
    grammar = compile_grammar(Constraint("json_schema", schema), vocabulary)
    compiled = perf_counter()
    _ = grammar.minimum
    return (compiled - begun) * 1000, (perf_counter() - compiled) * 1000


def _peer(peer: Peer, schema: str) -> Times:
    begun = perf_counter()
    compiled = peer.compile(schema)
    spent = (perf_counter() - begun) * 1000
    del compiled  # letting go of it is not part of its making
    return (spent,)
