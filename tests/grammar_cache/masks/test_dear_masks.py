"""Masks where reading a byte costs much: tokens that cost too much to be consumed are in none of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from grammar_cache import CompiledGrammar, Constraint, Limits, Vocabulary, compile_grammar
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


def ending() -> tuple[Constraint, Vocabulary]:
    """Rules that end with one letter, each of which has many callers. No token goes on behind that letter. Most of the
    vocabulary goes on in the first of them, which is met by itself before.
    """
    first, behind, last = FIRST[:24], LAST[:24], [chr(0xE000 + number) for number in range(40)]
    calls = " | ".join(f'r{number} "{letter}"' for number, letter in enumerate(behind))
    rules = [f'root ::= "!" r0 "z" | "???" ({" | ".join(f"p{number}" for number in range(len(last)))})']
    rules += [f'p{number} ::= ({calls}) "{letter}" p{number} | "{letter}"' for number, letter in enumerate(last)]
    rules += [f'r{i} ::= "a" "c" | "a" "\\x{ord(c):02x}" r{i} "z"' for i, c in enumerate(first)]
    tokens = [*"acz!?", *first, *behind, *last, first[0] + "z" * 500]
    return Constraint("gbnf", "\n".join(rules)), Vocabulary([*(t.encode() for t in tokens), None], [len(tokens)])


def consumed(grammar: CompiledGrammar, configuration: int) -> NDArray[np.int32]:
    """Configurations behind each token by itself."""
    ids = np.arange(grammar.vocabulary.size, dtype=np.int32)
    after: NDArray[np.int32] = grammar.consume_batch(np.array([configuration], np.int32), ids[None, :])[0]
    return after


@pytest.mark.parametrize("case", [handing_on, ending])
def test_no_token_that_costs_too_much_is_in_a_mask(case: Callable[[], tuple[Constraint, Vocabulary]]) -> None:
    """Masks of the first configurations, level by level; without a limit on costs more tokens lead on."""
    grammar, unlimited = compile_grammar(*case()), compile_grammar(*case(), Limits(byte_cost=1 << 20))
    seen, left_out = {grammar.start: unlimited.start}, 0
    todo = [grammar.start]
    for configuration in todo:
        after, of_all = consumed(grammar, configuration), consumed(unlimited, seen[configuration])
        expected = grammar.distances(after, INFINITE - 1) < INFINITE
        expected[list(grammar.vocabulary.stop_ids)] = grammar.accepts(configuration)
        assert grammar.mask(configuration).tolist() == expected.tolist()
        left_out += int((of_all >= 0).sum()) - int((after >= 0).sum())
        for token in np.flatnonzero(after >= 0).tolist():
            if len(seen) < 25 and after[token] not in seen:
                seen[int(after[token])] = int(of_all[token])
                todo.append(int(after[token]))
    assert left_out > 0
