"""Masks of one step of 256 requests, as an engine asks for them: with plenty left, and with a third near the end.

`python -m benchmarks rows` walks json-mode-eval's reference answers to random places, and fills 256 rows there by
cursors: at first use, and again by other cursors. Then each accepts a token, which comes behind the forward pass.
Beside it xgrammar fills as many rows, where it is installed.
"""

from __future__ import annotations

import random
import time
from argparse import ArgumentParser, Namespace
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from benchmarks.data import read_tasks, tokenizer_folder
from benchmarks.tables import machine, markdown, number
from grammar_cache import CompiledGrammar, Constraint, Cursor, GrammarError, Vocabulary, compile_grammar
from grammar_cache.warm_up import warm_up
from server.options.readers import positive

ROWS = 256
TURNS = 7


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--tokenizer", default="llama3_1", help="one that scripts/fetch_tokenizers.sh fetches")
    parser.add_argument("--tasks", type=positive, default=64, help="grammars, each in several rows")


def run(arguments: Namespace) -> int:
    """Prints milliseconds of a step's masks."""
    folder = tokenizer_folder(arguments.tokenizer)
    vocabulary, tokenizer = Vocabulary.from_pretrained(folder), Tokenizer.from_file(str(folder / "tokenizer.json"))
    warm_up(vocabulary)
    texts = [(task.schema, tokenizer.encode(task.completion, add_special_tokens=False).ids) for task in read_tasks()]
    texts = texts[: arguments.tasks]
    words = np.zeros((ROWS, -(-vocabulary.size // 32)), np.int32)
    table = []
    for name, share in (("loose", 0.0), ("a third tight", 1 / 3)):
        steps = [_step(_cursors(vocabulary, texts, share), words)]
        steps += sorted(_step(_cursors(vocabulary, texts, share), words) for _ in range(TURNS))
        accepts = sorted(accept for _, accept in steps[1:])
        values = (steps[0][0], steps[1 + TURNS // 2][0], steps[-1][0], accepts[TURNS // 2])
        table.append([name, *(number(1000 * value) for value in values)])
    peer = _xgrammar(folder, texts) if find_spec("xgrammar") else None
    if peer is not None:
        table.append(["xgrammar", *(number(1000 * value) for value in peer), ""])
    print(markdown(("ms of 256 rows", "first use", "again, median", "again, most", "accept, median"), table))
    print(machine())
    return 0


@cache
def _grammar(schema: str, vocabulary: Vocabulary) -> CompiledGrammar | None:
    try:
        return compile_grammar(Constraint("json_schema", schema), vocabulary)
    except GrammarError:
        return None


def _cursors(vocabulary: Vocabulary, texts: list[tuple[str, list[int]]], tight: float) -> list[Cursor]:
    """Cursors at random places of the answers, few tokens from the end where it's tight."""
    rng, found = random.Random(7), list[Cursor]()
    compiled = [(_grammar(schema, vocabulary), tokens) for schema, tokens in texts]
    grammars = [(grammar, tokens) for grammar, tokens in compiled if grammar is not None]
    for number_ in range(ROWS):
        grammar, tokens = grammars[number_ % len(grammars)]
        spare = rng.randint(0, 6) if rng.random() < tight else 4_000
        cursor = Cursor(grammar, grammar.minimum.tokens + spare)
        for token in tokens[: rng.randrange(len(tokens))]:
            if not cursor.accept(token):
                break
        found.append(cursor)
    return found


def _step(cursors: list[Cursor], words: NDArray[np.int32]) -> tuple[float, float]:
    """Seconds that the masks take, and accepting the middle one of each row's tokens."""
    begun = time.process_time()
    for row, cursor in zip(words, cursors, strict=True):
        cursor.fill(row)
    filled = time.process_time()
    allowed = [np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")) for row in words]
    tokens = [int(ids[len(ids) // 2]) for ids in allowed]
    chosen = time.process_time()
    if not all(cursor.accept(token) for cursor, token in zip(cursors, tokens, strict=True)):
        raise AssertionError("a token that the mask allows is refused")
    return filled - begun, time.process_time() - chosen


def _xgrammar(folder: Any, texts: list[tuple[str, list[int]]]) -> tuple[float, ...] | None:
    """Seconds of xgrammar's fills at first use, again (median) and again (most)."""
    import torch
    import xgrammar
    from transformers import AutoTokenizer

    info = xgrammar.TokenizerInfo.from_huggingface(AutoTokenizer.from_pretrained(folder))
    compiler = xgrammar.GrammarCompiler(info)
    rng, matchers = random.Random(7), []
    compiled = [(compiler.compile_json_schema(schema), tokens) for schema, tokens in texts]
    for number_ in range(ROWS):
        grammar, tokens = compiled[number_ % len(compiled)]
        matcher = xgrammar.GrammarMatcher(grammar)
        for token in tokens[: rng.randrange(len(tokens))]:
            if not matcher.accept_token(token):
                break
        matchers.append(matcher)
    rows = torch.from_numpy(np.zeros((ROWS, -(-info.vocab_size // 32)), np.int32))

    def step() -> float:
        begun = time.process_time()
        for row, matcher in enumerate(matchers):
            matcher.fill_next_token_bitmask(rows, row)
        return time.process_time() - begun

    first, again = step(), sorted(step() for _ in range(TURNS))
    return first, again[len(again) // 2], again[-1]
