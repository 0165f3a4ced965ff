"""Masks where reading a byte costs much: tokens that cost too much to be consumed are in none of them."""

from __future__ import annotations

import numpy as np

from grammar_cache import CompiledGrammar, Constraint, Vocabulary, compile_grammar
from grammar_cache.distances.additive import INFINITE

CALLERS, CALLED = 30, 36
FIRST = [chr(0x43 + number) for number in range(CALLED)]
LAST = [chr(0xC0 + number) for number in range(CALLERS)]


def handing_on() -> tuple[Constraint, Vocabulary]:
    """A rule with many callers that calls many others at its end: each of them returns to all of those callers."""
    rules = [f"root ::= {' | '.join(f'p{number}' for number in range(CALLERS))}"]
    rules += [f'p{number} ::= r "{last}" p{number} | r "{last}"' for number, last in enumerate(LAST)]
    rules += [f'r ::= "b" ({" | ".join(f"s{number}" for number in range(CALLED))})', 's0 ::= "b" r | "!"']
    rules += [f's{i} ::= "\\x{ord(c):02x}" s{i} | "\\x{ord(c):02x}" "."' for i, c in enumerate(FIRST) if i]
    tokens = [*FIRST, *("b" * times for times in range(1, 9)), *LAST, "!", "."]
    vocabulary = Vocabulary([*(token.encode() for token in tokens), None], [len(tokens)])
    return Constraint("gbnf", "\n".join(rules)), vocabulary


def check(grammar: CompiledGrammar, configuration: int) -> tuple[list[int], int]:
    """The mask beside each token consumed by itself: what those lead to, and how many of the grammar cost too much."""
    ids = np.arange(grammar.vocabulary.size, dtype=np.int32)
    after = grammar.consume_batch(np.array([configuration], np.int32), ids[None, :])[0]
    expected = grammar.distances(after, INFINITE - 1) < INFINITE
    expected[list(grammar.vocabulary.stop_ids)] = grammar.accepts(configuration)
    assert grammar.mask(configuration).tolist() == expected.tolist()
    followed = [grammar.consume_bytes(configuration, spelling or b"\0") for spelling in grammar.vocabulary.token_bytes]
    alive = after[after >= 0].tolist()
    return alive, sum(one is not None for one in followed) - len(alive)


def test_no_token_that_costs_too_much_is_in_a_mask() -> None:
    """Masks of the first configurations, level by level."""
    grammar = compile_grammar(*handing_on())
    seen, dear = [grammar.start], 0
    for configuration in seen:
        alive, left_out = check(grammar, configuration)
        seen += [one for one in dict.fromkeys(alive) if one not in seen][: 25 - len(seen)] if len(seen) < 25 else []
        dear += left_out
    assert dear > 0
