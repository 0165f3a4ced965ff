"""`swyb precompute`: distances of all configurations of a grammar up to a stack height, kept in a store.

Pieces that exist aren't made again: a run that was stopped goes on, and others on the same store share the work.
Functions import what needs numba, which takes a second to load: help needs none of it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from multiprocessing import get_context
from pathlib import Path
from random import SystemRandom
from signal import SIG_IGN, SIGINT, signal
from time import monotonic
from typing import TYPE_CHECKING

from grammar_cache.errors import GrammarError
from grammar_cache.limits import NODES
from grammar_cache.store.contract import StoreError, StoreLimits
from server.console.models import add_model, model_folder
from server.console.options import add_constraint, add_store, constraint, print_json, report, stored
from server.console.parser import INTERRUPTED, examples
from server.console.refusals import refused
from server.engines.embedded import default_cache
from server.options.readers import positive, whole
from server.progress import Progress
from server.settings import Settings

if TYPE_CHECKING:  # all else is loaded when it runs: texts of help are there at once
    from grammar_cache import CompiledGrammar, Constraint
    from grammar_cache.offline.distance_table import DistanceTable
    from grammar_cache.offline.precompute import Coverage, Precomputation
    from grammar_cache.offline.successor_graph import SuccessorGraph
    from grammar_cache.offline.tabled_grammar import TabledGrammar
    from grammar_cache.store.database import Database

PATIENCE_SECONDS = 5.0
"""Seconds for an answer of a store that no request waits for."""
QUESTIONS = 3
"""Attempts to find the table as a server does, who may miss an answer that comes late."""
CLOSING_SECONDS = 60.0
"""Seconds for what is still to be written in the end."""


@dataclass(frozen=True, slots=True)
class Task:
    """Task of a process. `ends`: when to stop, by the clock that all processes of a machine share."""

    constraint: Constraint
    folder: Path
    height: int
    nodes: int
    ends: float
    settings: Settings


def add_arguments(parser: ArgumentParser) -> None:
    add_constraint(parser, required=True)
    add_model(parser)
    parser.add_argument("--height", type=whole, required=True, metavar="H", help="the height of the highest stacks")
    parser.add_argument(
        "--nodes", type=positive, default=NODES, metavar="N", help=f"configurations at most (default: {NODES})"
    )
    parser.add_argument(
        "--seconds", type=positive, metavar="S", help="then make a table of what is done by then (default: go on)"
    )
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="processes at work (default: 1)")
    add_store(parser)
    examples(parser, "swyb precompute --shipped sql --height 5 --store sqlite:///tmp/swyb/store.sqlite3")


def run(arguments: Namespace) -> int:
    """Prints what was found, or why nothing was (then: 1)."""
    wanted = constraint(arguments)
    assert wanted is not None, "the parser requires one"
    folder = model_folder(arguments)
    from server.console.loops import ready_loops

    ready_loops()
    begun = monotonic()
    ends = begun + (arguments.seconds or inf)
    task = Task(wanted, folder, arguments.height, arguments.nodes, ends, stored(arguments))
    try:
        told = precompute(task, arguments.workers)
    except GrammarError as error:
        refused(error, arguments, wanted.text, json=True)
        return 1
    except KeyboardInterrupt:
        report("interrupted: the same command goes on from here")
        return INTERRUPTED
    print_json({**told, "seconds": round(monotonic() - begun, 2)})
    return 0


def precompute(task: Task, workers: int = 1) -> dict[str, object]:
    """Report on the table, which servers find in the store then.

    Raises GrammarError; ValueError where there is no store, or too much is asked for, RuntimeError where the store
    doesn't take everything, or doesn't answer.
    """
    if task.nodes > most_nodes():
        raise ValueError(f"a store keeps tables of up to {most_nodes():,} configurations, so --nodes can't be more")
    grammar, grammar_id, precomputation = _prepared(task)
    first = SystemRandom().randrange(precomputation.pieces)
    progress = Progress(precomputation.pieces)

    def done(number: int) -> bool:
        progress.step(f"piece {number}")
        return monotonic() < task.ends

    with _opened(_patient(task)) as database:
        with _others(task, first, precomputation.pieces, workers - 1):
            pieces = _collected(precomputation, database, grammar_id, first, done)
        table, outcome = precomputation.table(grammar_id, pieces)
        database.keep_table(grammar_id, table.data)
    if database.counters.snapshot["dropped"]:
        raise RuntimeError("the store hasn't taken everything: perhaps not the table, or a part of the work")
    tabled = _found(task.settings, grammar, grammar_id, table)
    return _report(tabled, grammar_id, precomputation, table, outcome)


def most_nodes() -> int:
    """Configurations: the table has room in a store then, whatever is found, and for its header."""
    from grammar_cache.offline.distance_table import ENTRY_BYTES

    return StoreLimits().unpacked_bytes // ENTRY_BYTES - 1000


def work(task: Task, first: int) -> None:
    """Work of another process: it leaves pieces in the store, from that one on."""
    _, grammar_id, precomputation = _prepared(task)
    with _opened(_patient(task)) as database:
        _collected(precomputation, database, grammar_id, first, lambda _: monotonic() < task.ends)


def _prepared(task: Task) -> tuple[CompiledGrammar, str, Precomputation]:
    from grammar_cache import Vocabulary
    from grammar_cache.compile import compile_grammar, constraint_id
    from grammar_cache.offline.precompute import Precomputation

    vocabulary = Vocabulary.from_pretrained(task.folder, cache=default_cache())
    grammar = compile_grammar(task.constraint, vocabulary, task.settings.limits)
    grammar_id = constraint_id(task.constraint, vocabulary)
    return grammar, grammar_id, Precomputation(grammar, task.height, task.nodes)


def _patient(task: Task) -> Settings:
    """A server's, but for how long it waits."""
    timing = task.settings.store_timing
    longest = max(PATIENCE_SECONDS, timing.wait_most)
    return replace(task.settings, store_timing=replace(timing, wait_least=longest, wait_most=longest))


@contextmanager
def _opened(settings: Settings) -> Iterator[Database]:
    from server.grammars.opening import opened_store

    database = opened_store(settings)
    if database is None:
        raise ValueError("without a store there is no place for what is computed: --store names one")
    try:
        yield database
    finally:
        database.close(CLOSING_SECONDS)


def _found(settings: Settings, grammar: CompiledGrammar, grammar_id: str, table: DistanceTable) -> TabledGrammar:
    """The grammar as a server with these settings has it from now on. Raises RuntimeError where it lacks the table."""
    from grammar_cache.offline.tabled_grammar import TabledGrammar
    from grammar_cache.store.sharing import SharedGrammars

    with _opened(settings) as database:
        shared = SharedGrammars(database, grammar.vocabulary, settings.limits)
        for _ in range(QUESTIONS):
            tabled = shared.tabled(grammar_id, grammar)
            if isinstance(tabled, TabledGrammar) and tabled.table.name == table.name:
                return tabled
    raise RuntimeError(
        "the table is written, but a server wouldn't find it: the store drops it, is too slow, or has another one now"
    )


def _collected(
    precomputation: Precomputation, database: Database, grammar_id: str, first: int, done: Callable[[int], bool]
) -> dict[int, SuccessorGraph]:
    from grammar_cache.store.precomputing import SharedPieces

    try:
        return SharedPieces(precomputation, database, grammar_id).collect(first, done)
    except StoreError as error:
        raise RuntimeError(f"the store can't keep what is computed: {error}") from error


@contextmanager
def _others(task: Task, first: int, pieces: int, count: int) -> Iterator[None]:
    """Processes beside this one, each from another piece on. They end when all pieces are there."""
    context = get_context("spawn")
    begins = [(first + pieces * (i + 1) // (count + 1)) % pieces for i in range(count)]
    processes = [context.Process(target=work, args=(task, begin), daemon=True) for begin in begins]
    # Whoever interrupts a command from a terminal interrupts them too: they leave it to this process to end them.
    before = signal(SIGINT, SIG_IGN)
    for process in processes:
        process.start()
    signal(SIGINT, before)
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.join()


def _report(
    grammar: TabledGrammar, grammar_id: str, precomputation: Precomputation, table: DistanceTable, outcome: Coverage
) -> dict[str, object]:
    enumeration = precomputation.enumeration
    return {
        "grammar_id": grammar_id,
        "table": table.name,
        "min_tokens": grammar.minimum.tokens,
        "exact": grammar.minimum.exact,
        "height": table.height,
        "height_asked": precomputation.height,
        "higher_stacks": enumeration.endless,
        "configurations": outcome.configurations,
        "configurations_by_height": enumeration.through,
        "pairs": outcome.pairs,
        "walked": outcome.walked,
        "proved_exact": outcome.exact,
        "below_additive": outcome.lower,
        "bytes": len(table.data),
    }
