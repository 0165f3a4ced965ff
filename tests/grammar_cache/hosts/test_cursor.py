"""Cursors over random grammars, vocabularies and budgets, beside brute force; full grammars; several threads."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from copy import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.errors import BudgetTooSmall
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.conformance.cases import CASES, small_vocabulary
from grammar_cache.hosts.conformance.hostile_scores import HOSTILE
from grammar_cache.hosts.conformance.laws import budgets, check_place
from grammar_cache.hosts.cursor import Cursor
from tests.expression_matcher import matches
from tests.grammar_cache.hosts.generating import generated
from tests.strategies import LITTLE, SEARCH, Case, cases, examples

NESTED = Constraint("gbnf", 'root ::= "(" root ")" root | [a-z]+ | ""')


def allowed(cursor: Cursor, vocabulary: Vocabulary) -> list[int]:
    bits = np.unpackbits(cursor.bitmask(), count=vocabulary.size, bitorder="little")
    return [int(token) for token in np.flatnonzero(bits)]


def check_answers(case: Case, seed: int, limits: Limits) -> None:
    """Random allowed tokens until nothing is left: the text is a word, and nothing else was allowed."""
    grammar = case.compiled(limits)
    if grammar is None:
        return
    rng = random.Random(seed)
    for budget in budgets(grammar):
        if budget > 24:
            break
        cursor, text = Cursor(grammar, budget), b""
        while cursor.tokens_left and not cursor.is_ended:
            ways = allowed(cursor, case.vocabulary)
            if not ways:
                break
            for token in ways:
                after = text + case.vocabulary.text([token])
                assert case.true_distance.of(after).least <= cursor.tokens_left - (
                    token not in case.vocabulary.stop_ids
                )
            token = rng.choice(ways)
            text += case.vocabulary.text([token])
            assert cursor.accept(token)
        assert len(cursor.tokens) <= budget
        if len(text) <= 24:  # brute force slows down with the square of the length
            assert matches(case.grammar, text)


@given(cases(), st.integers(0, 1 << 20), st.sampled_from([SEARCH, LITTLE]))
@examples(20)
def test_answers_are_words_within_the_budget(case: Case, seed: int, limits: Limits) -> None:
    """Whatever is chosen among what a cursor allows, brute force finds the answer in the language."""
    check_answers(case, seed, limits)


@pytest.mark.full
@given(cases(), st.integers(0, 1 << 20), st.sampled_from([SEARCH, LITTLE]))
@examples(1000)
def test_answers_are_words_within_the_budget_at_length(case: Case, seed: int, limits: Limits) -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    check_answers(case, seed, limits)


@given(cases(), st.integers(0, 100))
@examples(20)
def test_places_of_random_grammars_keep_the_laws(case: Case, seed: int) -> None:
    """Rollback, forks and drafts are what the kit says, over vocabularies without single bytes too."""
    grammar = case.compiled(LITTLE)
    if grammar is not None and grammar.minimum.tokens <= 12:
        check_place(grammar, Cursor, seed)


def test_a_grammar_that_is_always_full_changes_no_answer() -> None:
    """A grammar without room is begun anew at each step, under cursors that are on their way: equal tokens."""
    vocabulary = small_vocabulary()
    for constraint in (NESTED, CASES[28].constraint):
        roomy = compile_grammar(constraint, vocabulary)
        tiny = compile_grammar(constraint, vocabulary, Limits(memory_bytes=1))
        for name in ("by chance", "always deeper"):
            model = HOSTILE[name](vocabulary)
            for budget in budgets(roomy):
                assert generated(tiny, budget, model) == generated(roomy, budget, model)
        assert tiny.full and tiny.current is not tiny


@pytest.mark.parametrize("limit", range(20, 66, 4))
def test_a_full_table_is_left_by_the_completion(limit: int) -> None:
    """Copies and completions take over from a grammar that has no room for configurations, not even for those that the
    search for the completion needs.
    """
    vocabulary = small_vocabulary()
    grammar = compile_grammar(NESTED, vocabulary, Limits(configurations=limit))
    for budget in (8, 14, 40):
        tokens = generated(grammar, budget, HOSTILE["always deeper"](vocabulary))
        text = vocabulary.text(tokens)
        assert text.count(b"(") == text.count(b")") > 0
        assert len(tokens) <= budget


def test_copies_that_are_full_are_let_go() -> None:
    """A grammar that was begun anew many times refers to its last copy, and to none between."""
    grammar = compile_grammar(NESTED, small_vocabulary(), Limits(memory_bytes=1))
    for _ in range(1_200):
        assert grammar.renewed().lock is grammar.lock
    assert grammar.current._anew is None
    assert grammar._anew is grammar.current


def test_a_rolled_back_cursor_is_found_in_a_copy() -> None:
    """Tokens can be taken back that were accepted before the grammar was begun anew."""
    vocabulary = small_vocabulary()
    check_place(compile_grammar(NESTED, vocabulary, Limits(memory_bytes=1)), Cursor)


def test_several_threads_use_one_grammar() -> None:
    """Cursors of one grammar in threads of their own give the answers that they give one after the other."""
    vocabulary = small_vocabulary()
    jobs = [(name, budget) for name in ("by chance", "always deeper", "always longer") for budget in range(12, 36, 3)]

    def answers(grammar: CompiledGrammar, workers: int) -> list[tuple[int, ...]]:
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(lambda job: tuple(generated(grammar, job[1], HOSTILE[job[0]](vocabulary))), jobs))

    constraint = CASES[28].constraint
    alone = answers(compile_grammar(constraint, vocabulary), 1)
    assert answers(compile_grammar(constraint, vocabulary), 8) == alone
    assert answers(compile_grammar(constraint, vocabulary, Limits(memory_bytes=40_000)), 8) == alone


def test_what_does_not_fit_is_refused() -> None:
    """A budget below the minimum is a typed error that tells it; a token that isn't allowed changes nothing."""
    vocabulary = small_vocabulary()
    grammar = compile_grammar(Constraint("choice", '["North", "South"]'), vocabulary)
    with pytest.raises(BudgetTooSmall) as refusal:
        Cursor(grammar, 2)
    assert (refusal.value.min_tokens, refusal.value.exact, refusal.value.code) == (5, True, "budget_too_small")
    cursor = Cursor(grammar, 6)
    for token in (-1, 0, 1 + ord("E"), 262, vocabulary.size, 1 << 40):
        assert not cursor.accept(token)
    assert cursor.tokens == () and cursor.tokens_left == 6
    with pytest.raises(ValueError, match="1 tokens can't be taken back: there are 0"):
        cursor.rollback(1)
    with pytest.raises(TypeError):
        Cursor(grammar, 6.5)  # type: ignore[arg-type]


def test_a_copy_goes_its_own_way() -> None:
    """Copies are forks, as whoever copies objects expects."""
    cursor = Cursor(compile_grammar(Constraint("regex", "[a-z]+"), small_vocabulary()), 3)
    other = copy(cursor)
    assert other.accept(1 + ord("a"))
    assert (cursor.tokens, other.tokens) == ((), (1 + ord("a"),))


def test_a_row_of_a_host_may_be_wider_than_the_vocabulary_and_not_narrower_than_a_token() -> None:
    """Padded ids get 0, whatever the row held; a row that has no room for an allowed token is refused."""
    vocabulary = small_vocabulary()
    cursor = Cursor(compile_grammar(Constraint("regex", "[a-z]+"), vocabulary), 3)
    row = np.full(20, -1, np.int32)
    cursor.fill(row)
    words = cursor.bitmask().view(np.int32)
    assert row[: len(words)].tolist() == words.tolist() and not row[len(words) :].any()
    with pytest.raises(ValueError, match="has no room"):
        cursor.fill(np.zeros(2, np.int32))


def test_the_certificate_counts_what_the_budget_did() -> None:
    """Steps are tight where the mask without a budget allows more."""
    vocabulary = small_vocabulary()
    grammar = compile_grammar(Constraint("json_schema", '{"type": "array", "items": {"type": "integer"}}'), vocabulary)
    model = HOSTILE["always longer"](vocabulary)
    for budget in (2, 8, 30):
        cursor, tight, configuration = Cursor(grammar, budget), 0, grammar.start
        for token in generated(grammar, budget, model):
            tight += (grammar.mask(configuration, cursor.tokens_left) != grammar.mask(configuration)).any()
            assert cursor.accept(token)
            configuration = configuration if cursor.is_ended else grammar.take(configuration, token)
        told = cursor.certificate()
        assert told.complete and told.tight_steps == tight and (told.budget, told.min_tokens) == (budget, 2)
        assert told.tokens_used == len(cursor.tokens)
