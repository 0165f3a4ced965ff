"""Cost of the constraint at each step of an answer, beside the peers: reference answers, token by token.

Ours asks only after the tokens that a beam looks at: the configuration and the distance behind each of 64. Peers fill
a mask of the whole vocabulary, as ours can too. `first`: a fresh grammar, nothing seen before; `again`: the same
text once more. Of several runs the best counts, step by step.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TypeAlias

import numpy as np

from benchmarks.core.compile_time import forget_all_but_json
from benchmarks.core.walks import CANDIDATES, Walk, walks
from benchmarks.data import read_tasks, read_vocabulary, splitter, tokenizer_folder, write_rows
from benchmarks.peers import find as peers
from benchmarks.peers.peer import Peer, Refused, Session, has
from benchmarks.tables import NOT_INSTALLED, machine, markdown, number, quantile
from grammar_cache import CompiledGrammar, Constraint, GrammarError, Vocabulary, compile_grammar
from server.options.readers import positive, whole

BATCH = 256
LONGEST = 256
"""Tokens of an answer; the roomy budget, under which the exact search is not asked."""

Times: TypeAlias = list[float]
"""Microseconds of each step, as far as the engine follows the text."""
Follow: TypeAlias = Callable[[CompiledGrammar, Walk], Times]

ROOMY = f"swyb: {CANDIDATES} candidates, T = {LONGEST}"
BATCHED = f"{ROOMY}, {BATCH} at a time"
TIGHT = f"swyb: {CANDIDATES} candidates, T = the text's length"
MASK = "swyb: full mask"


@dataclass(frozen=True, slots=True)
class StepRow:
    """One walk under one measure; step by step in microseconds, or one number for a batch."""

    task: str
    measure: str
    visit: str
    microseconds: list[float]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, default=0, help="the first N tasks only (0: all)")
    parser.add_argument("--tokenizer", default="llama3_1", help="one that scripts/fetch_tokenizers.sh fetches")
    parser.add_argument("--repeats", type=positive, default=3, help="runs, of which the best counts")
    parser.add_argument("--seed", type=whole, default=0)
    parser.add_argument("--peers", nargs="*", choices=peers.NAMES, default=peers.DEFAULT)


def run(arguments: Namespace) -> int:
    """Prints the table and writes the rows."""
    tasks, folder = read_tasks(arguments.n), tokenizer_folder(arguments.tokenizer)
    vocabulary = read_vocabulary(folder)
    split = splitter(folder)
    answers = [split(task.completion) for task in tasks]
    texts = walks(tasks, answers, vocabulary, LONGEST, arguments.seed)
    found = peers.find(arguments.peers, vocabulary, folder)
    rows = measure(texts, vocabulary, [peer for peer in found.values() if peer], arguments.repeats)
    write_rows(arguments.out, "step", rows)
    print(f"Microseconds a step, {arguments.tokenizer}, best of {arguments.repeats}\n")
    print(report(rows, found))
    print(f"\n{machine()}")
    return 0


def measure(texts: Sequence[Walk], vocabulary: Vocabulary, others: Sequence[Peer], repeats: int) -> list[StepRow]:
    """Rows of every text that ours compiles, and of every peer that compiles it too."""
    rows: list[StepRow] = []
    if texts:
        list(_ours(texts[0], vocabulary, 1))  # compiles the kernels
    for text in texts:
        try:
            rows += _ours(text, vocabulary, repeats)
        except GrammarError:
            continue  # a refusal is a row of the other benchmark
        for peer in others:
            rows += _theirs(text, peer, repeats)
    return rows


def report(rows: Sequence[StepRow], found: Mapping[str, Peer | None]) -> str:
    """A table over the steps that every engine takes."""
    common = _common_steps(rows)
    columns: dict[tuple[str, str], Times] = {}
    for row in rows:
        steps = common.get(row.task, 0)
        times = columns.setdefault((row.measure, row.visit), [])
        times += row.microseconds[:steps]
    lines = [_line(found, measure, visit, times) for (measure, visit), times in columns.items()]
    for name, peer in found.items():
        if peer is None or (name, "first") not in columns:
            lines.append([name, NOT_INSTALLED if peer is None else "refuses all", *["–"] * 4])
    header = ["per configuration", "visit", "times taken", "mean", "p50", "p99"]
    title = f"Over the {sum(common.values())} steps of {len(common)} texts that every engine takes:"
    return f"{title}\n\n{markdown(header, lines)}"


def _line(found: Mapping[str, Peer | None], measure: str, visit: str, times: Times) -> list[str]:
    peer = found.get(measure)
    label = f"{peer.label}: accept + full mask" if peer else measure
    if not times:
        return [label, visit, "0", *["–"] * 3]
    values = [sum(times) / len(times), quantile(times, 0.5), quantile(times, 0.99)]
    return [label, visit, str(len(times)), *map(number, values)]


def _common_steps(rows: Sequence[StepRow]) -> dict[str, int]:
    """Number of steps that all engines follow each text for; without texts that some engine doesn't compile."""
    lengths: dict[str, list[int]] = {}
    measures = set()
    for row in rows:
        if row.measure != BATCHED:  # one number a text
            lengths.setdefault(row.task, []).append(len(row.microseconds))
            measures.add((row.measure, row.visit))
    return {task: min(each) for task, each in lengths.items() if len(each) == len(measures)}


def _ours(text: Walk, vocabulary: Vocabulary, repeats: int) -> Iterator[StepRow]:
    """Raises GrammarError."""
    for measure, follow in ((ROOMY, _roomy), (TIGHT, _tight), (MASK, _masks)):
        first, again = [], []
        for _ in range(repeats):
            grammar = _fresh(text.schema, vocabulary)
            first.append(follow(grammar, text))
            again.append(follow(grammar, text))
        yield _row(text, measure, "first", first)
        yield _row(text, measure, "again", again)
        if follow is _roomy:
            yield _row(text, BATCHED, "again", [_batched(grammar, text) for _ in range(repeats + 1)])


def _fresh(schema: str, vocabulary: Vocabulary) -> CompiledGrammar:
    """Grammar as the server has it before the first step: the minimum is known, and nothing of such a grammar before.

    Grammars of a vocabulary share what they solve: without forgetting, a second run would find all of the first one.
    """
    forget_all_but_json(vocabulary)
    grammar = compile_grammar(Constraint("json_schema", schema), vocabulary)
    _ = grammar.minimum
    return grammar


def _row(text: Walk, measure: str, visit: str, runs: Sequence[Times]) -> StepRow:
    return StepRow(text.task, measure, visit, [round(min(step), 3) for step in zip(*runs, strict=True)])


def _roomy(grammar: CompiledGrammar, text: Walk) -> Times:
    return _candidates(grammar, text, LONGEST)


def _tight(grammar: CompiledGrammar, text: Walk) -> Times:
    return _candidates(grammar, text, text.steps)


def _candidates(grammar: CompiledGrammar, text: Walk, budget: int) -> Times:
    times: Times = []
    configuration = grammar.start
    for step in range(text.steps):
        here, tokens = np.array([configuration], np.int32), text.candidates[step : step + 1]
        begun = perf_counter_ns()
        after = grammar.consume_batch(here, tokens)
        grammar.distances(after, budget - step - 1)
        times.append((perf_counter_ns() - begun) / 1000)
        configuration = int(after[0, 0])
        if configuration < 0:
            return times[:-1]
    return times


def _batched(grammar: CompiledGrammar, text: Walk) -> Times:
    """One number: the text's configurations, over and over up to a full batch, per configuration."""
    configurations = [grammar.start]
    for token in text.tokens[:-1]:
        after = grammar.consume(configurations[-1], token)
        if after is None:
            break
        configurations.append(after)
    places = np.arange(BATCH) % len(configurations)
    here, tokens = np.array(configurations, np.int32)[places], text.candidates[places]
    begun = perf_counter_ns()
    grammar.distances(grammar.consume_batch(here, tokens), LONGEST - text.steps)
    return [(perf_counter_ns() - begun) / 1000 / BATCH]


def _masks(grammar: CompiledGrammar, text: Walk) -> Times:
    times: Times = []
    configuration = grammar.start
    before: int | None = None
    for token in text.tokens:
        begun = perf_counter_ns()
        if before is not None:
            configuration = _after(grammar, configuration, before)
        mask = grammar.bitmask(configuration)
        times.append((perf_counter_ns() - begun) / 1000)
        if not has(mask.view(np.int32), token):
            return times[:-1]
        before = token
    return times


def _after(grammar: CompiledGrammar, configuration: int, token: int) -> int:
    after = grammar.consume(configuration, token)
    assert after is not None, "the mask before had this token"
    return after


def _theirs(text: Walk, peer: Peer, repeats: int) -> Iterator[StepRow]:
    """Rows of a peer, none where the peer refuses the schema."""
    first, again = [], []
    try:
        for _ in range(repeats):
            session = peer.session(peer.compile(text.schema))
            first.append(_follow(session, text))
            session.reset()
            again.append(_follow(session, text))
    except Refused:
        return
    yield _row(text, peer.name, "first", first)
    yield _row(text, peer.name, "again", again)


def _follow(session: Session, text: Walk) -> Times:
    times: Times = []
    before: int | None = None
    for token in text.tokens:
        begun = perf_counter_ns()
        if before is not None:
            session.accept(before)
        session.fill()
        times.append((perf_counter_ns() - begun) / 1000)
        if not session.allows(token):
            return times[:-1]
        before = token
    return times
