"""The time to the first viable token of a real model's ranking, beside the full masks that peers need for it.

The embedded model reads json-mode-eval's prompts and reference answers; at every step its tokens are ranked by logit.
Ours goes down the ranking to the first token after which the rest fits the budget. `first`: a fresh grammar whose
minimum is known, nothing seen before; `again`: the same text once more.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM

from benchmarks.core.step_time import StepRow
from benchmarks.data import Task, read_tasks, splitter, write_rows
from benchmarks.peers import find as peers
from benchmarks.peers.peer import Peer, Refused, Session
from benchmarks.tables import NOT_INSTALLED, machine, markdown, number, quantile
from grammar_cache import CompiledGrammar, Constraint, GrammarError, Vocabulary, compile_grammar
from server.engines.chat import ChatEncoder
from server.engines.embedded import default_cache, ensure_embedded_model
from server.options.readers import positive, whole

RANKED = 512
"""Tokens of a ranking that are kept; what is viable lies further down on very few steps."""
LOOK = 64
BUDGET = 512


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """A reference answer, and the model's best tokens before each of its tokens: int32[steps, RANKED]."""

    task: Task
    tokens: tuple[int, ...]
    best: NDArray[np.int32]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--n", type=whole, default=0, help="the first N tasks only (0: all)")
    parser.add_argument("--repeats", type=positive, default=3, help="runs, of which the best counts, step by step")
    parser.add_argument("--peers", nargs="*", choices=peers.NAMES, default=peers.DEFAULT)


def run(arguments: Namespace) -> int:
    """Prints the table and writes the rows."""
    folder = ensure_embedded_model(default_cache(), lambda line: print(line, file=sys.stderr))
    vocabulary = Vocabulary.from_pretrained(folder)
    rankings = ranked(read_tasks(arguments.n), folder)
    found = peers.find(arguments.peers, vocabulary, folder)
    rows: list[StepRow] = []
    for ranking in [rankings[0], *rankings]:  # the first one twice: it compiles the kernels
        rows = [row for row in rows if row.task != ranking.task.name]
        try:
            rows += ours(ranking, vocabulary, arguments.repeats)
        except GrammarError:
            continue
        for peer in found.values():
            rows += theirs(ranking, peer, arguments.repeats) if peer else []
    write_rows(arguments.out, "ranking", rows)
    print(f"Microseconds to the first viable token of {folder.name}'s ranking, best of {arguments.repeats}\n")
    lines = []
    for measure, label in [("swyb", "swyb: first viable token")] + [
        (name, f"{peer.label}: accept + full mask" if peer else NOT_INSTALLED) for name, peer in found.items()
    ]:
        for visit in ("first", "again"):
            times = [t for row in rows if (row.measure, row.visit) == (measure, visit) for t in row.microseconds]
            values = [sum(times) / len(times), quantile(times, 0.5), quantile(times, 0.99)] if times else []
            lines.append([label, visit, str(len(times)), *(map(number, values) if times else ["–"] * 3)])
    print(markdown(["per step", "visit", "steps", "mean", "p50", "p99"], lines))
    print(f"\n{machine()}")
    return 0


def ranked(tasks: Sequence[Task], folder: Path) -> list[Ranking]:
    """The model's rankings along every reference answer: one pass over prompt and answer each."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True).eval()
    encode, split = ChatEncoder(folder).encode, splitter(folder)
    found = []
    for task in tasks:
        prompt, answer = encode(task.messages), split(task.completion)
        with torch.inference_mode():
            ids = torch.tensor([[*prompt, *answer]])
            logits = model(input_ids=ids, logits_to_keep=len(answer) + 1).logits[0, :-1]
            best = torch.topk(logits, RANKED, dim=-1).indices.numpy().astype(np.int32)
        found.append(Ranking(task, tuple(answer), best))
    return found


def ours(ranking: Ranking, vocabulary: Vocabulary, repeats: int) -> list[StepRow]:
    """Raises GrammarError."""
    first, again = [], []
    for _ in range(repeats):
        grammar = compile_grammar(Constraint("json_schema", ranking.task.schema), vocabulary)
        _ = grammar.minimum
        first.append(_descend(grammar, ranking))
        again.append(_descend(grammar, ranking))
    return [_row(ranking, "swyb", "first", first), _row(ranking, "swyb", "again", again)]


def _descend(grammar: CompiledGrammar, ranking: Ranking) -> list[float]:
    times: list[float] = []
    configuration = grammar.start
    for step, token in enumerate(ranking.tokens):
        begun = perf_counter_ns()
        first_viable(grammar, configuration, ranking.best[step], BUDGET - step)
        times.append((perf_counter_ns() - begun) / 1000)
        after = grammar.consume(configuration, token)
        if after is None:
            break
        configuration = after
    return times


def first_viable(grammar: CompiledGrammar, configuration: int, best: NDArray[np.int32], left: int) -> int | None:
    """The best token after which the rest fits."""
    for tokens in (best[:LOOK], best[LOOK:]):
        found = grammar.first_viable(configuration, tokens, left - 1)
        if found is not None:
            return found
    allowed = np.flatnonzero(grammar.mask(configuration, left))
    return int(allowed[0]) if len(allowed) else None


def theirs(ranking: Ranking, peer: Peer, repeats: int) -> list[StepRow]:
    """Rows of a peer, none where the peer refuses the schema."""
    first, again = [], []
    try:
        for _ in range(repeats):
            session = peer.session(peer.compile(ranking.task.schema))
            first.append(_filled(session, ranking))
            session.reset()
            again.append(_filled(session, ranking))
    except Refused:
        return []
    return [_row(ranking, peer.name, "first", first), _row(ranking, peer.name, "again", again)]


def _filled(session: Session, ranking: Ranking) -> list[float]:
    times: list[float] = []
    before: int | None = None
    for token in ranking.tokens:
        begun = perf_counter_ns()
        if before is not None:
            session.accept(before)
        session.fill()
        times.append((perf_counter_ns() - begun) / 1000)
        if not session.allows(token):
            break
        before = token
    return times


def _row(ranking: Ranking, measure: str, visit: str, runs: Sequence[list[float]]) -> StepRow:
    best = [round(min(step), 3) for step in zip(*runs, strict=True)]
    return StepRow(ranking.task.name, measure, visit, best)
