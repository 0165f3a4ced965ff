"""Large rules: which of their states are alike isn't asked, and neither are classes of those that call many states."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

from grammar_cache import CompiledGrammar, Constraint, Vocabulary, compile_grammar
from grammar_cache.masks import inside_walks
from grammar_cache.masks.state_equivalence import alike
from grammar_cache.successors import rule_classes
from grammar_cache.successors.part_kernels import parts
from grammar_cache.successors.rule_classes import part_classes

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def with_letters(count: int) -> CompiledGrammar:
    """A grammar of texts of at most so many letters: the states of its rule read alike, but for long texts."""
    rng = random.Random(count)
    texts = {"".join(rng.choices(LETTERS, k=rng.randint(2, 5))) for _ in range(2_000)}
    known = Vocabulary([*(bytes([byte]) for byte in range(256)), *(text.encode() for text in sorted(texts)), None], [])
    schema = {"type": "string", "pattern": f"^[a-z]{{0,{count}}}$"}
    return compile_grammar(Constraint("json_schema", json.dumps(schema)), known)


@pytest.mark.parametrize(("count", "asked"), [(30, True), (3_000, False)])
def test_states_of_large_rules_are_not_compared(count: int, asked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing takes two microseconds a state, in one step; masks are right without."""
    compared: list[int] = []

    def counting(*arguments: Any) -> Any:
        compared.append(1)
        return alike(*arguments)

    monkeypatch.setattr(inside_walks, "alike", counting)
    grammar = with_letters(count)
    assert (grammar.network.states.count > inside_walks._MOST_COMPARED) is not asked
    at = grammar.consume_bytes(grammar.start, b'"')
    assert at is not None
    mask = grammar.mask(at)
    assert bool(compared) is asked
    for token in range(0, grammar.vocabulary.size - 1, 7):
        assert mask[token] == (grammar.consume(at, token) is not None)


def test_parts_that_call_many_states_have_no_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that are called are looked through up to a number of states in all."""
    text = 'root ::= "<" r "x"* ">" root | [^<>]*\nr ::= ' + " ".join(f'"{letter}"' for letter in LETTERS)
    known = Vocabulary([bytes([byte]) for byte in range(256)], [])
    grammar = compile_grammar(Constraint("gbnf", text), known)
    rules = grammar._configurations.network_block
    part_of = parts(rules)
    own = np.flatnonzero(part_of == part_of[grammar.network.entry[0]]).astype(np.int32)
    assert part_classes(rules, part_of, own) is not None
    monkeypatch.setattr(rule_classes, "_MOST_CALLED", 5)
    assert part_classes(rules, part_of, own) is None
