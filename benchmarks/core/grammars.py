"""Costs of a grammar: from its text to ready, and at each step of real texts, beside the peers.

SQL over the gold queries of Spider, or LTL over the formulas of the drone set, as shipped, or one of `lark_grammars`.
All engines get the same text, llguidance that of GBNF by its own translation. With Lark it is said whether they take
the same texts: times of different languages mean little. One grammar serves all texts, as in a server: `first` is the
first pass over the texts with a fresh grammar, `again` the second one. A text that an engine doesn't take to its end
counts up to there, and is named in the row.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.core import lark_grammars
from benchmarks.core.walks import CANDIDATES, Candidates
from benchmarks.data import data_file, read_vocabulary, splitter, tokenizer_folder, write_rows
from benchmarks.peers import find as peers
from benchmarks.peers.peer import Peer, Refused, has
from benchmarks.tables import NOT_INSTALLED, machine, markdown, number, quantile
from grammar_cache import CompiledGrammar, Constraint, Vocabulary, compile_grammar
from grammar_cache.grammars.shipped import shipped
from grammar_cache.warm_up import warm_up
from server.options.readers import positive, whole

TEXTS = {
    "sql": (Path("spider", "questions.jsonl"), "query"),
    "ltl_drone": (Path("ltl", "drone_planning_golden.jsonl"), "raw_ltl"),
    "ltl": (Path("ltl", "drone_planning_golden.jsonl"), "raw_ltl"),
    "lark_sql": (Path("spider", "questions.jsonl"), "query"),
    "lark_dsl": (Path("ltl", "drone_planning_golden.jsonl"), "raw_ltl"),
}
"""Files with the texts of a grammar, and the field that holds them."""
ROOMY = 512
"""Tokens of budget beyond a text's own: the exact search is not asked."""

Times: TypeAlias = list[float]
"""Microseconds, step by step."""
Follow: TypeAlias = Callable[["_Text"], tuple[Times, bool]]
"""The time of each step, and whether the text was taken whole."""


@dataclass(frozen=True, slots=True)
class GrammarRow:
    """One engine and measure; `ready_ms` is the best of several compiles. `left`: texts that weren't taken whole."""

    grammar: str
    measure: str
    visit: str
    ready_ms: float
    microseconds: list[float]
    left: int
    refusal: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Text:
    tokens: tuple[int, ...]
    candidates: NDArray[np.int32]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--grammar", default="sql", choices=(*TEXTS, "lark_python"), help="which grammar")
    parser.add_argument("--n", type=whole, default=20, help="the first N different texts only (0: all)")
    parser.add_argument("--tokenizer", default="llama3_1", help="one that scripts/fetch_tokenizers.sh fetches")
    parser.add_argument("--repeats", type=positive, default=3, help="fresh compiles, of which the best counts")
    parser.add_argument("--peers", nargs="*", choices=peers.NAMES, default=peers.DEFAULT)


def run(arguments: Namespace) -> int:
    """Prints the table and writes the rows."""
    folder = tokenizer_folder(arguments.tokenizer)
    vocabulary = read_vocabulary(folder)
    wanted = read_texts(arguments.grammar, arguments.n)
    split = splitter(folder)
    answers = [split(text) for text in wanted]
    drawn = Candidates(vocabulary, answers, seed=0)
    texts = [_Text(tuple(tokens), np.array([drawn.beside(token) for token in tokens], np.int32)) for tokens in answers]
    found = peers.find(arguments.peers, vocabulary, folder)
    rows = measure(arguments.grammar, texts, vocabulary, [peer for peer in found.values() if peer], arguments.repeats)
    write_rows(arguments.out, f"grammar_{arguments.grammar}", rows)
    steps = sum(len(text.tokens) for text in texts)
    print(f"{arguments.grammar}, {arguments.tokenizer}: {len(texts)} texts of {steps} tokens, one grammar for all\n")
    print(report(rows, found))
    for peer in found.values() if arguments.grammar in lark_grammars.FILES else ():
        if peer is not None and all(row.refusal is None for row in rows if row.measure == peer.name):
            differing, of = lark_grammars.differences(arguments.grammar, peer, wanted, split)
            print(f"\n{peer.name}: {differing} of {of} verdicts on these texts and changed ones differ from ours")
    print(f"\n{machine()}")
    return 0


def read_texts(grammar: str, count: int = 0) -> list[str]:
    """The first `count` different texts of a grammar, all with 0. Raises MissingData."""
    if grammar == "lark_python":
        return lark_grammars.statements()[: count or None]
    path, field = TEXTS[grammar]
    lines = data_file(path).read_text(encoding="utf-8").splitlines()
    texts = dict.fromkeys(str(json.loads(line)[field]) for line in lines)
    return list(texts)[: count or None]


def measure(
    grammar: str, texts: Sequence[_Text], vocabulary: Vocabulary, others: Sequence[Peer], repeats: int
) -> list[GrammarRow]:
    """Rows of ours by two measures, and of every peer by the time of its masks."""
    constraint = lark_grammars.lark_grammar(grammar) if grammar in lark_grammars.FILES else shipped(grammar)
    warm_up(vocabulary)  # as a server does
    rows: list[GrammarRow] = []
    for label, follow in ((f"swyb: {CANDIDATES} candidates", _candidates), ("swyb: full mask", _masks)):
        best = float("inf")
        for _ in range(repeats):
            begun = perf_counter()
            compiled = _ready(constraint, vocabulary)
            best = min(best, (perf_counter() - begun) * 1000)
        rows += _passes(grammar, label, best, texts, partial(follow, compiled))
    for peer in others:
        rows += _theirs(grammar, constraint, peer, texts, repeats)
    return rows


def report(rows: Sequence[GrammarRow], found: Mapping[str, Peer | None]) -> str:
    """One line for each engine, measure and visit."""
    lines = []
    for row in rows:
        peer = found.get(row.measure)
        label = f"{peer.label}: accept + full mask" if peer else row.measure
        if row.refusal is not None:
            lines.append([label, "refused", *["–"] * 6])
            continue
        times = row.microseconds
        values = [sum(times) / len(times), quantile(times, 0.5), quantile(times, 0.99), max(times)]
        lines.append([label, row.visit, number(row.ready_ms), *map(number, values), str(row.left)])
    lines += [[name, NOT_INSTALLED, *["–"] * 6] for name, peer in found.items() if peer is None]
    header = ["µs a step", "visit", "ready, ms", "mean", "p50", "p99", "max", "texts left"]
    return markdown(header, lines)


def _ready(constraint: Constraint, vocabulary: Vocabulary) -> CompiledGrammar:
    """Grammar as the server has it before the first step: the minimum is known."""
    grammar = compile_grammar(constraint, vocabulary)
    _ = grammar.minimum
    return grammar


def _passes(grammar: str, label: str, ready: float, texts: Sequence[_Text], follow: Follow) -> list[GrammarRow]:
    rows = []
    for visit in ("first", "again"):
        followed = [follow(text) for text in texts]
        times = [round(step, 3) for steps, _ in followed for step in steps]
        rows.append(GrammarRow(grammar, label, visit, round(ready, 3), times, sum(not whole for _, whole in followed)))
    return rows


def _candidates(grammar: CompiledGrammar, text: _Text) -> tuple[Times, bool]:
    """The configuration and the distance behind each of the tokens that a beam looks at."""
    times: Times = []
    configuration = grammar.start
    for step in range(len(text.tokens)):
        here, tokens = np.array([configuration], np.int32), text.candidates[step : step + 1]
        begun = perf_counter_ns()
        after = grammar.consume_batch(here, tokens)
        grammar.distances(after, ROOMY)
        times.append((perf_counter_ns() - begun) / 1000)
        configuration = int(after[0, 0])
        if configuration < 0:
            return times, False
    return times, grammar.accepts(configuration)


def _masks(grammar: CompiledGrammar, text: _Text) -> tuple[Times, bool]:
    times: Times = []
    configuration: int | None = grammar.start
    for token in text.tokens:
        assert configuration is not None, "the mask before had this token"
        begun = perf_counter_ns()
        mask = grammar.bitmask(configuration)
        after = grammar.consume(configuration, token)
        times.append((perf_counter_ns() - begun) / 1000)
        if not has(mask.view(np.int32), token):
            return times, False
        configuration = after
    return times, configuration is not None and grammar.accepts(configuration)


def _theirs(grammar: str, constraint: Constraint, peer: Peer, texts: Sequence[_Text], repeats: int) -> list[GrammarRow]:
    best = float("inf")
    try:
        for _ in range(repeats):
            begun = perf_counter()
            compiled = (peer.compile_lark if constraint.kind == "lark" else peer.compile_gbnf)(constraint.text)
            best = min(best, (perf_counter() - begun) * 1000)
    except Refused as refusal:
        return [GrammarRow(grammar, peer.name, "first", 0.0, [], 0, str(refusal))]

    def follow(wanted: _Text) -> tuple[Times, bool]:
        session = peer.session(compiled)
        times: Times = []
        for token in wanted.tokens:
            begun = perf_counter_ns()
            session.fill()
            taken = session.allows(token) and session.accept(token)
            times.append((perf_counter_ns() - begun) / 1000)
            if not taken:
                return times, False
        return times, session.accepts()

    return _passes(grammar, peer.name, best, texts, follow)
