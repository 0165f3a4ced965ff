"""Masks where most of the vocabulary leads on, and rules may end amid a token: the same as token by token."""

from __future__ import annotations

import random

import numpy as np
import pytest

from grammar_cache import CompiledGrammar, Constraint, GrammarError, Limits, Vocabulary, compile_grammar

RUNS = [character * times for character in (" ", "a", "z", "\n ") for times in (2, 3, 5, 17, 33, 40, 90)]
PAIRS = [first + second for first in "aeqst(" for second in "aeqz;( "]
TOKENS = [*map(chr, range(32, 127)), "\n", *PAIRS, *RUNS, "the", "then", "(the", "he;", "ize", "azz(", "e e e e e"]
VOCABULARY = Vocabulary([token.encode() for token in TOKENS], [len(TOKENS)])
ENDINGS = """root ::= k "z" [a-z]*
k ::= "p" ( [^z()] m | r ) | "q" [^z()] m
m ::= [^z();]* ";"
r ::= [a-y] | "(" r ")"
"""
"""A rule that may end behind a letter after `p`, and may not after `q`, though both lead to one state."""
CHARACTERS = [
    *("[^z]", '[^q"]', "[^xyz();]", "[a-y]", "[^z]*", "[^q;]*", '[^e"]*', "[a-z0-9 ]*", "[a-z0-9 ]{1,40}"),
    *('"z"', '"the"', '"e"', '" "', '"("', "[st]", "[a-z ]", "[^a ]"),
]
MISTAKEN = (85, 190, 252, 368, 465, 496, 538, 582)
"""Seeds of random grammars that had a wrong mask once."""


def consumed(grammar: CompiledGrammar, configuration: int) -> list[bool]:
    """Ids that lead on, each consumed by itself; the stop id if the text is complete."""
    ids = np.arange(grammar.vocabulary.size, dtype=np.int32)
    found = (grammar.consume_batch(np.array([configuration], np.int32), ids[None, :])[0] >= 0).tolist()
    for stop in grammar.vocabulary.stop_ids:
        found[stop] = grammar.accepts(configuration)
    return [bool(one) for one in found]


def random_grammar(rng: random.Random) -> str:
    """Rules that are too large, or recursive, to be inlined, with wide classes that overlap."""

    def characters() -> str:
        return rng.choice(CHARACTERS)

    def expression(depth: int) -> str:
        kind = rng.randrange(7)
        if depth == 0 or kind < 2:
            return characters()
        if kind == 2:
            return rng.choice("abcd")
        if kind == 3:
            return f"({expression(depth - 1)})?"
        if kind == 4:
            return f"({expression(depth - 1)} | {expression(depth - 1)})"
        return " ".join(expression(depth - 1) for _ in range(rng.randint(2, 3)))

    rules = [f'{name} ::= {expression(2)} | {expression(2)} | "(" {rng.choice(name + "abcd")} ")"' for name in "abcd"]
    return "\n".join([f"root ::= {expression(3)} | {expression(3)}", *rules]) + "\n"


def reached(grammar: CompiledGrammar, rng: random.Random) -> list[int]:
    """Some configurations behind texts of up to six tokens, in any order."""
    found = [grammar.start]
    for _ in range(4):
        configuration = grammar.start
        for _ in range(rng.randint(1, 6)):
            alive = [token for token, leads in enumerate(consumed(grammar, configuration)) if leads]
            after = grammar.consume(configuration, rng.choice(alive)) if alive else None
            if after is None:
                break
            configuration = after
            found.append(configuration)
    rng.shuffle(found)
    return found[:8]


@pytest.mark.parametrize("texts", [(b"p", b"q"), (b"q", b"p")])
def test_a_state_where_a_rule_may_end_is_unlike_itself_where_it_may_not(texts: tuple[bytes, bytes]) -> None:
    """Masks had tokens of the other one: `az` behind `q`."""
    grammar = compile_grammar(Constraint("gbnf", ENDINGS), VOCABULARY)
    for text in texts:
        configuration = grammar.consume_bytes(grammar.start, text)
        assert configuration is not None
        assert grammar.mask(configuration).tolist() == consumed(grammar, configuration)


@pytest.mark.parametrize("seed", [*range(20), *MISTAKEN])
@pytest.mark.parametrize("byte_cost", [90, 900])
def test_masks_are_what_may_be_consumed(seed: int, byte_cost: int) -> None:
    rng = random.Random(seed)
    try:
        grammar = compile_grammar(Constraint("gbnf", random_grammar(rng)), VOCABULARY, Limits(byte_cost=byte_cost))
    except GrammarError:
        return  # no text belongs, or none that is known to end
    for configuration in reached(grammar, rng):
        assert grammar.mask(configuration).tolist() == consumed(grammar, configuration)
