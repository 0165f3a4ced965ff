"""Configurations that are moved to another table have the numbers there that following their text leads to."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.core.hostile_grammars import hostile
from grammar_cache import CompiledGrammar, Constraint, Limits, compile_grammar
from grammar_cache.configurations.interner import DEAD
from grammar_cache.configurations.moving import moved
from grammar_cache.hosts.conformance.cases import small_vocabulary
from grammar_cache.hosts.cursor import DRAFTED, Cursor
from tests.grammar_cache.test_begun_anew import LIMITS, WORDS, text_of
from tests.strategies import Case, cases, examples

NUMBERS = (0, 1, 2, 5, 6, 8, 20, 34, 43)


def check_moved(grammar: CompiledGrammar, tokens: list[int]) -> None:
    """Moves the way of a text to a copy where nothing is known, and to one where it is known already; the text is taken
    in the copies before or behind, and what may follow is the same.
    """
    path = [grammar.start, *grammar.followed(tokens)]
    fresh, other = grammar.anew(), grammar.anew()
    there = [other.start, *other.followed(tokens)]
    nodes = other.size["nodes"]
    assert moved([*path, DEAD], grammar._configurations, other._configurations) == [*there, DEAD]
    assert other.size["nodes"] == nodes
    last = moved(path[-1:], grammar._configurations, fresh._configurations)
    arrived = moved(path, grammar._configurations, fresh._configurations)
    assert arrived[-1:] == last
    for place, here in zip(arrived, there, strict=True):
        assert fresh.accepts(place) == other.accepts(here)
        assert fresh.mask(place, 9).tolist() == other.mask(here, 9).tolist()
    assert [fresh.start, *fresh.followed(tokens)] == arrived
    back = moved(arrived, fresh._configurations, grammar._configurations)
    assert back == path


@given(cases(), st.sampled_from(LIMITS), st.randoms(use_true_random=False))
@examples(60)
def test_configurations_are_those_that_the_text_leads_to(case: Case, limits: Limits, rng: random.Random) -> None:
    """Random grammars: left recursion and bytes that cost too much among them."""
    grammar = case.compiled(limits)
    if grammar is not None:
        check_moved(grammar, text_of(grammar, 8, rng))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("byte_cost", [60, Limits().byte_cost])
def test_hostile_configurations_are_those_that_the_text_leads_to(number: int, byte_cost: int) -> None:
    """Hostile grammars, with room that has to grow on the way."""
    [one] = hostile(range(number, number + 1))
    grammar = compile_grammar(one.constraint, WORDS, Limits(start_fuel=1_000, byte_cost=byte_cost))
    check_moved(grammar, text_of(grammar, 40, random.Random(number)))


@pytest.mark.parametrize("count", [1, DRAFTED - 1, DRAFTED, DRAFTED + 1, 2 * DRAFTED])
def test_a_cursor_goes_back_behind_what_was_moved(count: int) -> None:
    """Tokens are taken back, few and many, by a cursor whose grammar is begun anew at each step."""
    vocabulary = small_vocabulary()
    nested = Constraint("gbnf", 'root ::= "(" root ")" | ""')
    grammar, roomy = (compile_grammar(nested, vocabulary, Limits(memory_bytes=size)) for size in (1, 1 << 30))
    opening, length = vocabulary.token_bytes.index(b"("), 2 * DRAFTED + 9
    one, other = Cursor(grammar, 4 * length), Cursor(roomy, 4 * length)
    for cursor in (one, other):
        for _ in range(length):
            assert cursor.accept(opening)
        cursor.rollback(count)
        assert cursor.tokens == (opening,) * (length - count)
    assert one.bitmask().tolist() == other.bitmask().tolist()
    assert one.completion() == other.completion()
    assert len(one.completion()) == length - count
