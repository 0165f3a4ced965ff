"""Grammars that made single steps long or large: each step is bounded now, and texts are completed all the same."""

from __future__ import annotations

import random
import tracemalloc
from time import process_time

import numpy as np
import pytest

from grammar_cache import Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.warm_up import letters, warm_up
from tests.cached import tokenizer_folder
from tests.timing import slowness

SHORT = Vocabulary(
    [*(bytes([byte]) for byte in range(97, 123)), b"aa", b"aaaa", b"xx", b"xa", b"ab", b"bb", None], [32]
)
RULES = "\n".join(
    f"r{i} ::= " + " | ".join(f'r{(i * j + j) % 300} r{(i + j * j) % 300} "a"' for j in range(1, 10)) + ' | "x"'
    for i in range(300)
)
DOUBLING = "\n".join(f'r{i} ::= r{i + 1} r{i + 1} | "b"' for i in range(25))
CHAIN = "\n".join(f'r{i} ::= r{i + 1} | "a" r{i + 1}' for i in range(5_000))
HOSTILE = {
    "300 rules that call each other first": (Constraint("gbnf", f"root ::= r0\n{RULES}"), 40),
    "a text doubled 25 times": (Constraint("gbnf", f"root ::= r0\n{DOUBLING}\nr25 ::= [a-z]"), 120),
    "all readings of a list": (Constraint("gbnf", 'root ::= s\ns ::= s s | "a" | ""'), 300),
    "a letter 1,000 before the end": (Constraint("regex", ".*a.{1000}"), 1_100),
    "a chain of rules": (Constraint("gbnf", f'root ::= r0\n{CHAIN}\nr5000 ::= "z"'), 30),
}
SECONDS = 0.5
"""CPU time of a step, on a slow machine: before there was a bound these took 6 to 57."""
BYTES = 256 << 20


@pytest.fixture(scope="module", autouse=True)
def compiled_loops() -> None:
    """Loops are compiled before steps are timed."""
    warm_up(letters())


def step(grammar: CompiledGrammar, tokens: list[int], budget: int, rng: random.Random) -> CompiledGrammar:
    """Adds a viable token to a text, as a decoder does: in a copy of the grammar, if it is full."""
    grammar = grammar.renewed()
    configuration = grammar.start
    for token in tokens:
        configuration = grammar.take(configuration, token)
    left = budget - len(tokens)
    stops = grammar.vocabulary.stop_ids
    allowed = [token for token in np.flatnonzero(grammar.mask(configuration, left)).tolist() if token not in stops]
    assert allowed or grammar.accepts(configuration)
    grammar.proposals(configuration)
    grammar.only_token(configuration, left)
    if not grammar.ends(configuration):
        assert len(grammar.witness(configuration, left)) <= left
    if allowed and left:
        tokens.append(rng.choice(allowed))
    return grammar


def check(constraint: Constraint, vocabulary: Vocabulary, budget: int) -> None:
    grammar = compile_grammar(constraint, vocabulary, Limits(start_fuel=200_000))
    warm, tokens, rng = grammar.minimum, list[int](), random.Random(1)
    assert warm.tokens <= budget
    step(grammar, [], budget, rng)  # reads the loops, or compiles what is left
    slower, spent = slowness(), list[float]()  # not while memory is traced, which slows down Python many times
    tracemalloc.start()
    try:
        for number in range(0, budget, max(1, budget // 12)):
            tokens = _followed(grammar, number, tokens, budget, rng)
            begun = process_time()
            grammar = step(grammar, tokens, budget, rng)
            spent.append(process_time() - begun)
        assert tracemalloc.get_traced_memory()[1] < BYTES
    finally:
        tracemalloc.stop()
    assert max(spent) < SECONDS * max(slower, slowness()), spent


def _followed(grammar: CompiledGrammar, length: int, tokens: list[int], budget: int, rng: random.Random) -> list[int]:
    """The text with viable tokens up to a length, or to its end."""
    configuration = grammar.start
    for token in tokens:
        configuration = grammar.take(configuration, token)
    while len(tokens) < length:
        ids = np.array(sorted(rng.sample(grammar.vocabulary.token_list.tolist(), 8)), np.int32)
        viable = grammar.first_viable(configuration, ids, budget - len(tokens) - 1)
        if viable is None:
            witness = grammar.witness(configuration, budget - len(tokens))
            if not witness:
                break
            viable = witness[0]
        tokens.append(viable)
        configuration = grammar.take(configuration, viable)
    return tokens


@pytest.mark.parametrize("name", HOSTILE)
def test_no_step_is_long_or_large(name: str) -> None:
    """A step's CPU time and all memory stay below a bound, from the start to the end of the budget."""
    check(HOSTILE[name][0], SHORT, HOSTILE[name][1])


@pytest.mark.full
@pytest.mark.parametrize("name", HOSTILE)
def test_no_step_is_long_or_large_with_a_real_vocabulary(name: str) -> None:
    """A real vocabulary has tokens that go through many configurations."""
    vocabulary = Vocabulary.from_pretrained(tokenizer_folder("SmolLM2-135M-Instruct"))
    check(HOSTILE[name][0], vocabulary, HOSTILE[name][1])
