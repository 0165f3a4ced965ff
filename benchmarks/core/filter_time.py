"""Time of a step inside vLLM, per row, beside the way that vLLM itself takes with xgrammar.

Reference answers, token by token, many at once. Single texts: a grammar object or a matcher takes the token before and
fills a mask of the vocabulary, in the engine core, beside the forward pass; applying it is vLLM's, and no part of this.
Beams: the filter in the workers reads logits, which put the next token first, likely ones behind it, and noise
elsewhere. They choose their own ways, with a text's logits for each of its beams, until their searches are over.
`first`: fresh grammars, nothing seen before; `again`: the same texts once more. Of several runs the best counts.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import TypeAlias

import numpy as np
import torch

from benchmarks.core.walks import Walk, walks
from benchmarks.data import read_tasks, read_vocabulary, splitter, tokenizer_folder, write_rows
from benchmarks.peers import find as peers
from benchmarks.peers.peer import Peer, Refused
from benchmarks.tables import NOT_INSTALLED, machine, markdown, number, quantile
from grammar_cache import CompiledGrammar, Constraint, GrammarError, Vocabulary, compile_grammar
from grammar_cache.hosts.vllm.budget_grammar import BudgetGrammar
from server.backends.vllm.worker.beam_search import Search, Turn
from server.backends.vllm.worker.guide import guided
from server.backends.vllm.worker.registry import Registry
from server.decoding.decoder import Decoder
from server.decoding.forced_text import Split
from server.decoding.parameters import Parameters
from server.engines.embedded import default_cache, ensure_embedded_model
from server.options.readers import positive, whole

EMBEDDED = "embedded"
"""The tokenizer of the embedded model."""

LONGEST = 256
"""Tokens of an answer, and the budget."""

FIRST_LOGIT, LIKELY_LOGIT = 24.0, 12.0

Step: TypeAlias = Callable[[torch.Tensor, Sequence[int], int], object]
"""Fills masks int32[texts, words] for the texts of these rows, which have a token of this number."""
Start: TypeAlias = Callable[[], Step]
"""Every text from its beginning."""

BEAMS = Parameters(budget=LONGEST, beam_width=4)


@dataclass(frozen=True, slots=True)
class FilterRow:
    """Times of each row and step, in microseconds: that of its batch, by the rows there."""

    vocabulary: str
    measure: str
    visit: str
    microseconds: list[float]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--tokenizers", nargs="*", default=(EMBEDDED, "llama3_1"), help=f"fetched ones, or {EMBEDDED}")
    parser.add_argument("--rows", type=positive, default=16, help="texts at once")
    parser.add_argument("--repeats", type=positive, default=3, help="runs, of which the best counts, step by step")
    parser.add_argument("--seed", type=whole, default=0)


def run(arguments: Namespace) -> int:
    """Prints the table and writes the rows."""
    rows: list[FilterRow] = []
    for tokenizer in arguments.tokenizers:
        rows += measured(tokenizer, arguments.rows, arguments.repeats, arguments.seed)
    write_rows(arguments.out, "filter", rows)
    print(f"Microseconds a row and step, {arguments.rows} texts at once, best of {arguments.repeats}\n")
    lines = [_line(row) for row in rows]
    print(markdown(["vocabulary", "per row and step", "visit", "times taken", "mean", "p50", "p99"], lines))
    print(f"\n{machine()}")
    return 0


def measured(tokenizer: str, count: int, repeats: int, seed: int) -> Iterator[FilterRow]:
    """The first texts that all take, by every way."""
    folder = _folder(tokenizer)
    vocabulary = read_vocabulary(folder)
    label = f"{tokenizer}, {vocabulary.size:,}"
    split, tasks = splitter(folder), read_tasks()
    peer = peers.find(["xgrammar-open"], vocabulary, folder)["xgrammar-open"]
    texts: list[Walk] = []
    for text in walks(tasks, [split(task.completion) for task in tasks], vocabulary, LONGEST, seed):
        if len(texts) < count and _taken(text, vocabulary, peer):
            texts.append(text)
    logits = _Logits(texts, vocabulary.size, seed)
    fresh = partial(_ours, texts, vocabulary)
    _times(fresh(), texts, vocabulary.size)  # compiles the loops
    yield from _visits(label, "swyb: masks", fresh, texts, vocabulary.size, repeats)
    yield from _beams(label, texts, vocabulary, split, logits, repeats)
    if peer is None:
        yield FilterRow(label, f"xgrammar: {NOT_INSTALLED}", "–", [])
    else:
        theirs = partial(_theirs, texts, peer)
        yield from _visits(label, f"{peer.label}: masks", theirs, texts, vocabulary.size, repeats)


def _folder(tokenizer: str) -> Path:
    if tokenizer == EMBEDDED:
        return ensure_embedded_model(default_cache(), lambda line: print(line, file=sys.stderr))
    return tokenizer_folder(tokenizer)


def _taken(text: Walk, vocabulary: Vocabulary, peer: Peer | None) -> bool:
    """Whether all engines compile its schema and follow it to its end."""
    try:
        grammar = _grammar(text, vocabulary)
        session = peer.session(peer.compile(text.schema)) if peer else None
    except (GrammarError, Refused):
        return False
    configuration: int | None = grammar.start
    for token in text.tokens:
        configuration = None if configuration is None else grammar.consume(configuration, token)
        if configuration is None or not (session is None or session.accept(token)):
            return False
    return grammar.minimum.tokens <= LONGEST


def _grammar(text: Walk, vocabulary: Vocabulary) -> CompiledGrammar:
    return compile_grammar(Constraint("json_schema", text.schema), vocabulary)


class _Logits:
    """Logits before each token of some texts."""

    def __init__(self, texts: Sequence[Walk], size: int, seed: int) -> None:
        self._texts = texts
        self._noise = torch.from_numpy(np.random.default_rng(seed).normal(size=(len(texts), size)).astype(np.float32))

    def rows(self, texts: Iterable[int], step: int) -> torch.Tensor:
        """A row for each of these texts, with the noise of its place."""
        kept = list(texts)
        logits = self._noise[torch.arange(len(kept)) % len(self._noise)]
        for row, at in zip(logits, kept, strict=True):
            text = self._texts[at]
            if step < text.steps:
                row[text.candidates[step]] += LIKELY_LOGIT
                row[text.tokens[step]] = FIRST_LOGIT
        return logits


def _visits(
    vocabulary: str, measure: str, fresh: Callable[[], Start], texts: Sequence[Walk], size: int, repeats: int
) -> Iterator[FilterRow]:
    first, again = [], []
    for _ in range(repeats):
        start = fresh()
        first.append(_times(start, texts, size))
        again.append(_times(start, texts, size))
    for visit, runs in (("first", first), ("again", again)):
        yield FilterRow(vocabulary, measure, visit, [round(min(times), 3) for times in zip(*runs, strict=True)])


def _times(start: Start, texts: Sequence[Walk], size: int) -> list[float]:
    """Microseconds of each row and step."""
    take = start()
    times: list[float] = []
    masks = torch.zeros((len(texts), -(-size // 32)), dtype=torch.int32)
    for step in range(max(text.steps for text in texts)):
        rows = [at for at, text in enumerate(texts) if step < text.steps]
        begun = perf_counter_ns()
        take(masks, rows, step)
        times += [(perf_counter_ns() - begun) / 1000 / len(rows)] * len(rows)
        following = [texts[row].tokens[step] for row in rows]
        allowed = [int(masks[row, token >> 5]) >> (token & 31) & 1 for row, token in zip(rows, following, strict=True)]
        assert all(allowed), "the text must go on"
    return times


def _registry(texts: Sequence[Walk], vocabulary: Vocabulary, split: Split) -> Registry:
    """Registry with a fresh grammar for each text, by its number."""
    registry = Registry(vocabulary, split)
    for at, text in enumerate(texts):
        grammar = _grammar(text, vocabulary)
        _ = grammar.minimum  # the server knows it before the first step
        registry.add(str(at), grammar)
    return registry


def _ours(texts: Sequence[Walk], vocabulary: Vocabulary) -> Start:
    grammars = [_grammar(text, vocabulary) for text in texts]
    for grammar in grammars:
        _ = grammar.minimum  # the server knows it before the first step
    ends = frozenset(vocabulary.stop_ids)

    def start() -> Step:
        places = [BudgetGrammar(grammar, LONGEST, ends) for grammar in grammars]

        def take(masks: torch.Tensor, rows: Sequence[int], step: int) -> None:
            for row in rows:
                place = places[row]
                if step:
                    place.commit([texts[row].tokens[step - 1]])
                place.begin_step(())
                place.fill_bitmask(masks, row)
                place.end_step()

        return take

    return start


def _beams(
    label: str, texts: Sequence[Walk], vocabulary: Vocabulary, split: Split, logits: _Logits, repeats: int
) -> Iterator[FilterRow]:
    """Times of as many searches as fill the rows. They write what they like: steps of different runs are not the same
    rows.
    """
    few = texts[: max(1, len(texts) // BEAMS.beam_width)]
    times: dict[str, list[float]] = {}
    for run in range(repeats + 1):
        registry = _registry(few, vocabulary, split)
        for visit in ("first", "again"):
            taken = _searched(registry, len(few), logits)
            if run:  # before it, loops are compiled
                times.setdefault(visit, []).extend(taken)
    for visit, taken in times.items():
        yield FilterRow(label, f"swyb: {BEAMS.beam_width} beams each", visit, [round(time, 3) for time in taken])


def _searched(registry: Registry, count: int, logits: _Logits) -> list[float]:
    """Microseconds of each row and step, until all searches are over."""
    times = list[float]()
    searches = {}
    for at in range(count):
        language = registry.language(str(at))
        [forced] = Decoder(language, BEAMS).wanted.tokens
        searches[at] = Search(language, BEAMS, forced)
    rows = dict.fromkeys(searches, 1)
    for step in range(LONGEST):
        of = [at for at, beams in rows.items() for _ in range(beams)]
        if not of:
            break
        table = logits.rows(of, step)
        places = {at: tuple(row for row, text in enumerate(of) if text == at) for at in rows}
        begun = perf_counter_ns()
        guided(table, [Turn(searches[at], places[at]) for at in rows], registry.vocabulary.size)
        times += [(perf_counter_ns() - begun) / 1000 / len(of)] * len(of)
        assert not any("failure" in searches[at].choice.news for at in rows), "no search may fail"
        rows = {at: len(searches[at].choice.parents) for at in rows if not searches[at].choice.over}
    return times


def _theirs(texts: Sequence[Walk], peer: Peer) -> Start:
    import xgrammar

    matchers = [xgrammar.GrammarMatcher(peer.compile(text.schema)) for text in texts]

    def start() -> Step:
        for matcher in matchers:
            matcher.reset()

        def take(masks: torch.Tensor, rows: Sequence[int], step: int) -> None:
            for row in rows:
                if step:
                    matchers[row].accept_token(texts[row].tokens[step - 1])
                matchers[row].fill_next_token_bitmask(masks, row)

        return take

    return start


def _line(row: FilterRow) -> list[str]:
    times = row.microseconds
    values = [sum(times) / len(times), quantile(times, 0.5), quantile(times, 0.99)] if times else []
    return [row.vocabulary, row.measure, row.visit, str(len(times)), *(map(number, values) if times else ["–"] * 3)]
