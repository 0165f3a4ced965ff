"""Random texts of a compiled grammar: byte by byte, within a budget, as decoding would go with a model of noise."""

from __future__ import annotations

import random
from functools import cache

import numpy as np

from grammar_cache import CompiledGrammar, Constraint, Limits, Vocabulary, compile_grammar

STOP = 256


@cache
def bytewise() -> Vocabulary:
    """Every byte is a token."""
    return Vocabulary(tuple(bytes([byte]) for byte in range(STOP)), (STOP,))


def compiled(text: str) -> CompiledGrammar:
    """The grammar with little fuel for searches: near the end of the budget a walk may give up a way that would fit."""
    return compile_grammar(Constraint("gbnf", text), bytewise(), Limits(start_fuel=20_000, step_fuel=200))


def walk(grammar: CompiledGrammar, budget: int, draw: random.Random) -> str:
    """A text of at most so many bytes. Each way on is as likely as any other, however many bytes lead there."""
    configuration, text = grammar.start, bytearray()
    for left in range(budget, 0, -1):
        viable = np.flatnonzero(grammar.mask(configuration, left)[:STOP])
        if not len(viable) or (grammar.accepts(configuration) and draw.random() < 0.05):
            break
        after = grammar.consume_batch(np.array([configuration], np.int32), viable[None].astype(np.int32))[0]
        target = draw.choice(sorted(set(after.tolist())))
        text.append(int(draw.choice(viable[after == target].tolist())))
        configuration = target
    assert grammar.accepts(configuration), "a walk within the budget ends in the language"
    return text.decode()
