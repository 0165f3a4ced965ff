"""Masks of one step of 256 requests, as an engine asks for them: with plenty left, and with a third near the end.

`python -m benchmarks rows` walks json-mode-eval's reference answers to random places, and fills 256 rows there by
cursors: at first use, and again. Beside it xgrammar fills as many rows, where it is installed.
"""

from __future__ import annotations

import random
import time
from argparse import ArgumentParser, Namespace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from benchmarks.data import read_tasks, tokenizer_folder
from benchmarks.tables import machine, markdown, number
from grammar_cache import Constraint, Cursor, GrammarError, Vocabulary, compile_grammar
from grammar_cache.warm_up import warm_up

ROWS = 256
TURNS = 7


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--tokenizer", default="llama3_1", help="one that scripts/fetch_tokenizers.sh fetches")
    parser.add_argument("--tasks", type=int, default=64, help="grammars, each in several rows")


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
        cursors = _cursors(vocabulary, texts, share)
        first = _step(cursors, words)
        warm = sorted(_step(cursors, words) for _ in range(TURNS))
        table.append([name, *(number(1000 * value) for value in (first, warm[len(warm) // 2], warm[-1]))])
    peer = _xgrammar(folder, texts, words) if find_spec("xgrammar") else None
    if peer is not None:
        table.append(["xgrammar", *(number(1000 * value) for value in peer)])
    print(markdown(("ms of 256 rows", "first use", "again, median", "again, most"), table))
    print(machine())
    return 0


def _cursors(vocabulary: Vocabulary, texts: list[tuple[str, list[int]]], tight: float) -> list[Cursor]:
    """Cursors at random places of the answers, as many tokens from the end as tokens are left where it's tight."""
    rng, found = random.Random(7), list[Cursor]()
    grammars = []
    for schema, tokens in texts:
        try:
            grammars.append((compile_grammar(Constraint("json_schema", schema), vocabulary), tokens))
        except GrammarError:
            continue
    for number_ in range(ROWS):
        grammar, tokens = grammars[number_ % len(grammars)]
        least = grammar.minimum.tokens
        spare = rng.randint(0, 6) if rng.random() < tight else 4_000
        cursor = Cursor(grammar, least + spare)
        for token in tokens[: rng.randrange(len(tokens))]:
            if not cursor.accept(token):
                break
        found.append(cursor)
    return found


def _step(cursors: list[Cursor], words: NDArray[np.int32]) -> float:
    begun = time.process_time()
    for row, cursor in zip(words, cursors, strict=True):
        cursor.fill(row)
    return time.process_time() - begun


def _xgrammar(folder: Any, texts: list[tuple[str, list[int]]], words: NDArray[np.int32]) -> tuple[float, ...] | None:
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
