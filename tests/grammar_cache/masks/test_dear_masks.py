"""Masks where reading a byte costs much: tokens that cost too much to be consumed are in none, but for the witness's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest

from grammar_cache import CompiledGrammar, Constraint, Vocabulary, compile_grammar
from grammar_cache.distances.additive import INFINITE

Case: TypeAlias = tuple[Constraint, Vocabulary, list[int]]
"""A grammar, and a text by its tokens."""
CALLERS, CALLED = 30, 36
FIRST = [chr(0x43 + number) for number in range(CALLED)]
LAST = [chr(0xC0 + number) for number in range(CALLERS)]


def handing_on() -> Case:
    """A rule with many callers that calls many others at its end: each of them returns to all of those callers."""
    rules = [f"root ::= {' | '.join(f'p{number}' for number in range(CALLERS))}"]
    rules += [f'p{number} ::= r "{last}" p{number} | r "{last}"' for number, last in enumerate(LAST)]
    rules += [f'r ::= "b" ({" | ".join(f"s{number}" for number in range(CALLED))})', 's0 ::= "b" r | "!"']
    rules += [f's{i} ::= "\\x{ord(c):02x}" s{i} | "\\x{ord(c):02x}" "."' for i, c in enumerate(FIRST) if i]
    tokens = [*FIRST, *("b" * times for times in range(1, 9)), *LAST, "!", "."]
    vocabulary = Vocabulary([*(token.encode() for token in tokens), None], [len(tokens)])
    return Constraint("gbnf", "\n".join(rules)), vocabulary, [tokens.index("b")] * 4


def ending() -> Case:
    """Dozens of rules that end with the same letter, each of them called by many."""
    text = """
        start: /b+/ | start x~2 (()) | ()
        x: T0 | T0? x | _y+ T0~2
        _y: T0 start x? |
        T0.2: /b+/
        %ignore / +/
        %ignore /c+/ | " "
    """
    tokens = [b"a", b"b", b"c", b" ", b"A", b"B", b" b", b"accb", b"c ", b"ca", b"ca ", None]
    return Constraint("lark", text), Vocabulary(tokens, [11]), [1, 6, 6, 6, 6, 6, 6, 6, 6, 2, 1, 2, 1, 2]


def check(grammar: CompiledGrammar, configuration: int) -> int:
    """The mask beside each token consumed by itself: how many tokens of the grammar cost too much."""
    ids = np.arange(grammar.vocabulary.size, dtype=np.int32)
    after = grammar.consume_batch(np.array([configuration], np.int32), ids[None, :])[0]
    expected = grammar.distances(after, INFINITE - 1) < INFINITE
    expected[list(grammar.vocabulary.stop_ids)] = grammar.accepts(configuration)
    assert grammar.mask(configuration).tolist() == expected.tolist()
    followed = [grammar.consume_bytes(configuration, spelling or b"\0") for spelling in grammar.vocabulary.token_bytes]
    return sum(one is not None for one in followed) - int((after >= 0).sum())


@pytest.mark.parametrize("case", [handing_on, ending])
def test_no_token_that_costs_too_much_is_in_a_mask(case: Callable[[], Case]) -> None:
    """Masks along a text, where some tokens of the grammar do."""
    constraint, vocabulary, text = case()
    grammar = compile_grammar(constraint, vocabulary)
    configuration, dear = grammar.start, 0
    for token in text:
        dear += check(grammar, configuration)
        configuration = grammar.take(configuration, token)
    assert dear > 0
