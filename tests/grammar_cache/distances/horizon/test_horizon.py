"""Tokens that may follow with few tokens left: one set, whoever asks and in whatever order, and never a dead end."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.grammar import CompiledGrammar
from tests.grammar_cache.distances.test_additive import boundaries
from tests.strategies import LITTLE, NARROW, SEARCH, Case, cases, examples


def viable(grammar: CompiledGrammar, configuration: int, budget: int) -> list[int]:
    """Ids that the candidates' filter lets in."""
    ids = np.arange(grammar.vocabulary.size, dtype=np.int32)
    after = grammar.consume_batch(np.array([configuration], np.int32), ids[None, :])[0]
    found = np.flatnonzero(grammar.distances_behind(configuration, after, budget - 1) < budget).tolist()
    return [token for token in found if token not in grammar.vocabulary.stop_ids]


def masked(grammar: CompiledGrammar, configuration: int, budget: int) -> list[int]:
    allowed = np.flatnonzero(grammar.mask(configuration, budget)).tolist()
    return [token for token in allowed if token not in grammar.vocabulary.stop_ids]


def check_sets(case: Case, limits: Limits) -> None:
    grammar = case.compiled(limits)
    if grammar is None:
        return
    for text, configuration in boundaries(grammar, case.longest, 8):
        truth = case.true_distance.of(text)
        for budget in range(6):
            found = viable(grammar, configuration, budget)
            assert masked(grammar, configuration, budget) == found
            first = grammar.first_viable(configuration, np.arange(grammar.vocabulary.size, dtype=np.int32), budget - 1)
            assert first == (found[0] if found else None)
            assert not found or truth.least <= budget
            for token in found:
                after = grammar.take(configuration, token)
                assert grammar.accepts(after) or viable(grammar, after, budget - 1)
                assert len(grammar.witness(after, budget - 1)) < budget


@given(cases(), st.sampled_from([SEARCH, LITTLE, replace(SEARCH, step_fuel=0)]))
@examples(60)
def test_masks_and_filter_agree_and_no_viable_token_leads_to_a_dead_end(case: Case, limits: Limits) -> None:
    """Brute force completes what a token fits behind, and behind each viable token there are viable ones again."""
    check_sets(case, limits)


@given(cases(), st.sampled_from(NARROW))
@examples(60)
def test_where_a_byte_costs_too_much_the_witness_goes_on(case: Case, limits: Limits) -> None:
    """Sets stay sound and agree where configurations are cut for their cost."""
    check_sets(case, limits)


@pytest.mark.full
@given(cases(), st.sampled_from([SEARCH, LITTLE, replace(SEARCH, step_fuel=0), *NARROW]))
@examples(1500)
def test_viable_sets_at_length(case: Case, limits: Limits) -> None:
    """Runs the quick tests on many more grammars and vocabularies."""
    check_sets(case, limits)


def answers(grammar: CompiledGrammar, asked: list[tuple[bytes, int]]) -> dict[tuple[bytes, int], object]:
    found: dict[tuple[bytes, int], object] = {}
    for text, budget in asked:
        at = grammar.consume_bytes(grammar.start, text)
        if at is not None:
            witness = grammar.witness(at, budget) if grammar.accepts(at) or viable(grammar, at, budget) else None
            found[text, budget] = viable(grammar, at, budget), masked(grammar, at, budget), witness
    return found


def check_orders(case: Case, limits: Limits, number: int) -> None:
    cold = case.compiled(limits)
    if cold is None:
        return
    asked = [(text, budget) for text, _ in boundaries(cold, case.longest, 8) for budget in range(5)]
    expected = answers(cold, asked)
    random.Random(number).shuffle(asked)
    loaded = from_bytes(to_bytes(cold), cold.vocabulary, limits)
    other = case.compiled(replace(limits, table_bytes=0))
    assert other is not None
    for grammar in (cold, cold.anew(), loaded, other):
        assert answers(grammar, asked) == expected


@given(cases(), st.sampled_from([SEARCH, LITTLE, *NARROW]), st.integers(0, 99))
@examples(40)
def test_sets_are_equal_cold_warm_loaded_and_begun_anew(case: Case, limits: Limits, number: int) -> None:
    """Sets and witnesses are those of configuration and budget, in any order, with caches and without."""
    check_orders(case, limits, number)


@pytest.mark.full
@given(cases(), st.sampled_from([SEARCH, LITTLE, *NARROW]), st.integers(0, 99))
@examples(800)
def test_sets_are_equal_at_length(case: Case, limits: Limits, number: int) -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    check_orders(case, limits, number)


@given(cases(), st.sampled_from([SEARCH, LITTLE]))
@examples(40)
def test_lower_bounds_leave_out_nothing_that_fits(case: Case, limits: Limits) -> None:
    """Searches that look at all they could find no more than those that lower bounds lead."""
    led, blind = case.compiled(limits), case.compiled(limits)
    if led is None or blind is None:
        return
    blind._horizon_search._least_of = blind._lower_bounds.of_none
    for text, configuration in boundaries(led, case.longest, 8):
        other = blind.consume_bytes(blind.start, text)
        assert other is not None
        for budget in range(6):
            assert set(viable(led, configuration, budget)) >= set(viable(blind, other, budget))


PALINDROMES = Constraint("gbnf", 'root ::= "a" root "a" | "b" root "b" | ""')
LETTERS = Vocabulary([b"a", b"b", b"ab", b"ba", b"aa", None], [5])


def test_a_full_grammar_is_begun_anew_and_nothing_needs_more_tokens() -> None:
    """The copy has room, what fits is what did, the same for all who ask, and distances are no larger."""
    grammar = compile_grammar(PALINDROMES, LETTERS, Limits(memory_bytes=60_000))
    texts = [bytes(random.Random(number).choices(b"ab", k=9)) for number in range(400)]
    for text in texts:
        grammar.consume_bytes(grammar.start, text)
    assert grammar.full and grammar.size_bytes > 60_000
    anew = grammar.renewed()
    assert anew is grammar.renewed() is grammar.current and anew is not grammar and not anew.full
    for text in texts[:40]:
        old, new = (one.consume_bytes(one.start, text) for one in (grammar, anew))
        assert old is not None and new is not None
        for budget in (6, 8, 9, 12):
            assert viable(grammar, old, budget) == viable(anew, new, budget)
        before, after = grammar.distance(old), anew.distance(new)
        assert before is not None and after is not None and after <= before
