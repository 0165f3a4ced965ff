"""Inputs by name that once made a step long or a grammar large: worst step and resident memory, each in its process."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import thread_time
from typing import TypeAlias

import numpy as np

from benchmarks.core.hostile_steps import Step, steps_of
from benchmarks.data import read_vocabulary
from benchmarks.tables import markdown, number, quantile
from grammar_cache import CompiledGrammar, Constraint, GrammarError, Limits, Vocabulary, compile_grammar
from grammar_cache.grammars.shipped import shipped
from grammar_cache.warm_up import warm_up
from server.commands.garbage import keep_what_is_loaded
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from server.decoding.step import steps
from server.settings import LIMITS

REQUESTS = 64
"""Requests that decode the grammar of SQL at the same time."""
COPY_ERROR = 0.1
"""Share of tokens that are drawn where one could be copied."""

Texts: TypeAlias = Callable[[CompiledGrammar, int], Iterator[Step]]
"""Function from a grammar and a budget to the steps of one text, or of several."""


@dataclass(frozen=True, slots=True)
class InputRow:
    """One input: ms of CPU of its compiling, of its worst step and of the median one, MB that its grammar held at most,
    MB resident before and at most, and what refused it.
    """

    name: str
    budget: int
    compiling: float
    worst: float
    median: float
    megabytes: float
    before: float
    resident: float
    refused: str


def _text(grammar: CompiledGrammar, budget: int) -> Iterator[Step]:
    """A text of tokens that are drawn from all that fit."""
    return steps_of(grammar, budget, random.Random(1))


def _answers(grammar: CompiledGrammar, budget: int) -> Iterator[Step]:
    """Answers to requests that decode together, under logits that are noise: what a server's thread does for each."""
    rng = np.random.default_rng(1)
    decoders = [Decoder(grammar, Parameters(budget, temperature=1.0, seed=seed)) for seed in range(REQUESTS)]
    while running := [decoder for decoder in decoders if not decoder.answers]:
        for decoder in running:
            logits = 9 * rng.normal(size=(1, grammar.vocabulary.size))
            begun = thread_time()
            decoder.renew()
            places = decoder.wanted.places
            decoder.advance(steps(decoder.language, places, logits, decoder.parameters))
            yield Step(1000 * (thread_time() - begun), grammar.current.held_bytes / 1e6)
    if not all(answer.complete for decoder in decoders for answer in decoder.answers):
        raise AssertionError("an answer isn't complete")


def _copies(grammar: CompiledGrammar, budget: int) -> Iterator[Step]:
    """A text whose tokens are mostly those that stood behind the same ones before, and that doesn't end if it needn't:
    a mask for each.
    """
    rng, at, tokens, behind = random.Random(1), grammar.start, [-1], dict[int, list[int]]()
    while len(tokens) <= budget and not grammar.ends(at):
        begun = thread_time()
        mask = grammar.mask(at, budget + 1 - len(tokens))
        yield Step(1000 * (thread_time() - begun), grammar.held_bytes / 1e6)
        allowed = np.setdiff1d(np.flatnonzero(mask), grammar.vocabulary.stop_ids)
        copied = [token for token in behind.get(tokens[-1], []) if mask[token]]
        drawn = rng.choices(copied if copied and rng.random() > COPY_ERROR else allowed.tolist(), k=8)
        ways = ((token, grammar.take(at, token)) for token in drawn)
        token, at = next((way for way in ways if not grammar.ends(way[1])), (drawn[0], grammar.take(at, drawn[0])))
        tokens.append(token)
        behind.setdefault(tokens[-2], []).append(token)


def _used_up(grammar: CompiledGrammar, budget: int) -> Iterator[Step]:
    """A mask behind almost all of the listed words, in tables that know nothing of the text."""
    words = _listed()
    for left in (1, 2, 10, len(words) // 4):
        fresh = grammar.anew()
        text = json.dumps(words[: len(words) - left], separators=(",", ":"))[:-1]
        at = fresh.take_bytes(fresh.start, text.encode())
        begun = thread_time()
        mask = fresh.mask(at, budget)
        yield Step(1000 * (thread_time() - begun), fresh.held_bytes / 1e6)
        comma = fresh.vocabulary.spelling.index(b",")
        if not mask[comma]:
            raise AssertionError(f"{left} words are left, and none may follow")


def _words_in_a_row(grammar: CompiledGrammar, budget: int) -> Iterator[Step]:
    """Words that are tokens, no two alike, as many as fit: a mask for each token, and the tables begun anew when they
    are full.
    """
    spelling, rng, at, left = grammar.vocabulary.spelling, random.Random(1), grammar.start, budget
    words = [token for token, data in enumerate(spelling) if data is not None and data.isalpha() and data.isascii()]
    distinct = {spelling[token]: token for token in words}
    chosen = rng.sample(sorted(distinct.values()), min(len(distinct), budget // 4 - 1))
    bracket, quotes, comma = (spelling.index(mark) for mark in (b"[", b'"', b","))
    for token in [bracket, *(token for word in chosen for token in (quotes, word, quotes, comma))][:-1]:
        begun = thread_time()
        if not grammar.mask(at, left)[token]:
            raise AssertionError("a word that wasn't there before may not follow")
        grammar, [at] = grammar.moved([grammar.take(at, token)])
        yield Step(1000 * (thread_time() - begun), grammar.held_bytes / 1e6)
        left -= 1


def _once_each(least: int = 0) -> Constraint:
    schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": least}
    return Constraint("json_schema", json.dumps(schema))


def _listed() -> list[str]:
    rng = random.Random(1)
    return sorted({"".join(rng.choices("abcdefghij", k=12)) for _ in range(1_000)})


def _words_once_each() -> Constraint:
    schema = {"type": "array", "items": {"enum": _listed()}, "uniqueItems": True}
    return Constraint("json_schema", json.dumps(schema))


def _rules(count: int, rule: Callable[[int], str], last: str) -> Constraint:
    lines = ["root ::= r0", *(f"r{i} ::= {rule(i)}" for i in range(count)), last]
    return Constraint("gbnf", "\n".join(lines))


def _calling(i: int) -> str:
    return " | ".join(f'r{(i * j + j) % 300} r{(i + j * j) % 300} "a"' for j in range(1, 10)) + ' | "x"'


def _terminals(count: int) -> Constraint:
    names = " | ".join(f"X{i}" for i in range(count))
    return Constraint("lark", "\n".join([f"start: {names}", *(f"X{i}: /x{i}[a-z]+/" for i in range(count))]))


def _wide(count: int, body: Callable[[int, str], str]) -> Constraint:
    """Rules that each read most letters, at one place."""
    rng = random.Random(1)
    letters = ["".join(rng.sample("abcdefghijklmnopqrstuvwxyz0123456789", 5)) for _ in range(count)]
    root = "root ::= " + " | ".join(f"r{i}" for i in range(count))
    return Constraint("gbnf", "\n".join([root, *(f"r{i} ::= {body(i, f'[^{of}]')}" for i, of in enumerate(letters))]))


def _words(count: int) -> Constraint:
    """Words that a sign may follow, or any other text without that sign."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(6, 14))) for _ in range(count)]
    known = " | ".join(f'"{word}" ":" [0-9]' for word in words)
    return Constraint("gbnf", f'root ::= "(" ({known} | [^":]*) ")"')


_TREE = """{"$ref": "#/$defs/tree", "$defs": {"tree": {
  "type": "object",
  "properties": {
    "name": {"type": "string"},
    "of": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "uniqueItems": true}
  },
  "additionalProperties": false
}}}"""

INPUTS: dict[str, tuple[Callable[[], Constraint], int, Texts]] = {
    "300 rules that call each other first": (lambda: _rules(300, _calling, ""), 120, _text),
    "a text doubled 25 times": (lambda: _rules(25, lambda i: f'r{i + 1} r{i + 1} | "b"', "r25 ::= [a-z]"), 120, _text),
    "all readings of a list": (lambda: Constraint("gbnf", 'root ::= s\ns ::= s s | "a" | ""'), 800, _text),
    "a letter 1,000 before the end": (lambda: Constraint("regex", ".*a.{1000}"), 1_100, _text),
    "3,000 terminals": (lambda: _terminals(3_000), 40, _text),
    "a chain of 40,000 rules": (lambda: _rules(40_000, lambda i: f"r{i + 1}", 'r40000 ::= "z"'), 40, _text),
    "40 rules for any texts but five letters": (
        lambda: _wide(40, lambda i, letter: f'{letter}* "<" r{i} ">" {letter}* | {letter}+ "{i}"'),
        400,
        _text,
    ),
    "40 rules for any twelve letters but five": (
        lambda: _wide(40, lambda i, letter: f'{" ".join([letter] * 12)} ("(" r{i} ")")? {letter}'),
        400,
        _text,
    ),
    "5,000 words, or any other text": (lambda: _words(5_000), 60, _text),
    "trees whose branches differ": (lambda: Constraint("json_schema", _TREE), 1_500, _copies),
    "1,000 listed words, almost all of them written": (_words_once_each, 10_000, _used_up),
    "2,000 words, no two alike": (_once_each, 8_004, _words_in_a_row),
    "2,000 words, no two alike, of which 64 are required": (lambda: _once_each(64), 8_004, _words_in_a_row),
    "SQL, 64 requests of noise": (lambda: shipped("sql"), 120, _answers),
}


def rows(folder: Path) -> list[InputRow]:
    """Rows of all inputs, with the vocabulary of a folder. Each has a process of its own."""
    context = get_context("spawn")
    found = []
    for name in INPUTS:
        with ProcessPoolExecutor(1, mp_context=context) as process:
            found.append(process.submit(_alone, name, folder).result())
    return found


def _alone(name: str, folder: Path) -> InputRow:
    vocabulary = read_vocabulary(folder)
    warm_up(vocabulary)
    keep_what_is_loaded()  # as a server does
    return measured(name, vocabulary, LIMITS)


def measured(name: str, vocabulary: Vocabulary, limits: Limits) -> InputRow:
    """Row of one input, here."""
    made, budget, texts = INPUTS[name]
    before, begun = _resident(), thread_time()
    try:
        grammar = compile_grammar(made(), vocabulary, limits)
        least = grammar.minimum.tokens
    except GrammarError as error:
        spent = 1000 * (thread_time() - begun)
        return InputRow(name, budget, spent, 0.0, 0.0, 0.0, before, _resident(), type(error).__name__)
    compiling, budget = 1000 * (thread_time() - begun), max(budget, least)
    times, sizes = zip(*texts(grammar, budget), strict=True)
    return InputRow(name, budget, compiling, max(times), quantile(times, 0.5), max(sizes), before, _resident(), "")


def report(found: Sequence[InputRow]) -> str:
    """Table of the inputs."""
    header = ["input", "T", "compile, ms", "worst step, ms", "p50", "MB held", "MB resident before", "at most"]
    lines = [
        [row.name, str(row.budget), number(row.compiling), row.refused or number(row.worst)]
        + [number(value) for value in (row.median, row.megabytes, row.before, row.resident)]
        for row in found
    ]
    return markdown(header, lines)


def _resident() -> float:
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024
