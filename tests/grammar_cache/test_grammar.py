"""A compiled grammar's face: single, batched and whole-vocabulary answers are one and the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.compile import compile_expression, grammar_id
from grammar_cache.distances.additive import INFINITE
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import EMPTY, Alt, Bytes, Expression, Grammar, Ref, Repeat, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from tests.grammar_cache.distances.test_additive import boundaries
from tests.strategies import NARROW, SEARCH, Case, cases, examples

A, B, C = Bytes(b"a"), Bytes(b"b"), Bytes(b"c")


def compiled(tokens: list[bytes | None], stops: list[int], start: Expression, **rules: Expression) -> CompiledGrammar:
    return compile_expression(Grammar({"s": start, **rules}, "s"), Vocabulary(tokens, stops), Limits())


def check_consume(case: Case) -> None:
    grammar, again = case.compiled(), case.compiled()
    if grammar is None or again is None:
        return
    reached = list(boundaries(grammar, case.longest, 12))
    rows = np.array([configuration for _, configuration in reached], np.int32)
    ids = np.arange(-1, case.vocabulary.size + 2, dtype=np.int32)
    batch = grammar.consume_batch(rows, np.tile(ids, (len(rows), 1)))
    for (text, configuration), after in zip(reached, batch.tolist(), strict=True):
        assert grammar.consume_bytes(grammar.start, text) == configuration
        for token, found in zip(ids.tolist(), after, strict=True):
            data = case.vocabulary.token_bytes[token] if 0 <= token < case.vocabulary.size else None
            by_bytes = None if data is None else grammar.consume_bytes(configuration, data)
            assert (None if found < 0 else found) == by_bytes
            assert grammar.consume(configuration, token) == by_bytes
    cold = again.consume_batch(np.array([again.start], np.int32), ids[None])
    assert ((cold >= 0) == (batch[:1] >= 0)).all()


@given(cases())
@examples(40)
def test_a_token_is_its_bytes_alone_or_in_a_batch(case: Case) -> None:
    """Consuming a token, its bytes one by one, or a batch of rows, cold or warm, is the same; other ids are dead."""
    check_consume(case)


@pytest.mark.full
@given(cases())
@examples(800)
def test_a_token_is_its_bytes_alone_or_in_a_batch_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    check_consume(case)


def check_mask(case: Case) -> None:
    grammar = case.compiled()
    if grammar is None:
        return
    for _, configuration in boundaries(grammar, case.longest, 10):
        for budget in (None, 0, 1, 2, 4):
            mask = grammar.mask(configuration, budget)
            left = INFINITE - 1 if budget is None else budget - 1
            expected = [
                grammar.accepts(configuration)
                if token in case.vocabulary.stop_ids
                else fits(grammar, configuration, token, left)
                for token in range(case.vocabulary.size)
            ]
            assert mask.tolist() == expected
            assert not mask.flags.writeable
            if budget is not None:
                text = [t for t in np.flatnonzero(mask).tolist() if t not in case.vocabulary.stop_ids]
                only = text[0] if len(text) == 1 and not grammar.accepts(configuration) else None
                assert grammar.only_token(configuration, budget) == only


def fits(grammar: CompiledGrammar, configuration: int, token: int, left: int) -> bool:
    after = grammar.consume(configuration, token)
    if after is None or left < 0:
        return False
    return int(grammar.distances(np.array([after], np.int32), left)[0]) <= left


@given(cases())
@examples(40)
def test_a_mask_is_what_may_be_consumed_within_the_budget(case: Case) -> None:
    """An id is set iff it is alive and the rest fits, or it is a stop id of a complete text; `only_token` agrees."""
    check_mask(case)


@pytest.mark.full
@given(cases())
@examples(800)
def test_a_mask_is_what_may_be_consumed_within_the_budget_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    check_mask(case)


def check_budget(case: Case) -> None:
    """Follows only set ids, the least one each time, within the tightest budget there is."""
    grammar = case.compiled()
    if grammar is None:
        return
    budget = grammar.minimum.tokens
    configuration, text = grammar.start, b""
    for left in range(budget, 0, -1):
        if grammar.accepts(configuration):
            break
        token = int(np.flatnonzero(grammar.mask(configuration, left))[0])
        text += case.vocabulary.text([token])
        after = grammar.consume(configuration, token)
        assert after is not None
        configuration = after
    assert grammar.accepts(configuration)
    if len(text) <= case.longest:
        assert text in case.words


@given(cases())
@examples(40)
def test_the_least_budget_always_completes(case: Case) -> None:
    """Whichever viable token is taken, the minimum number of tokens ends in an accepted text."""
    check_budget(case)


@pytest.mark.full
@given(cases())
@examples(800)
def test_the_least_budget_always_completes_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    check_budget(case)


@given(cases(), st.sampled_from([SEARCH, *NARROW]))
@examples(60)
def test_proposals_are_living_tokens(case: Case, limits: Limits) -> None:
    """Every proposed id is a token of text that the configuration lives through, and none is proposed twice."""
    grammar = case.compiled(limits)
    if grammar is None:
        return
    for _, configuration in boundaries(grammar, case.longest, 12):
        proposed = grammar.proposals(configuration).tolist()
        assert proposed == sorted(set(proposed))
        assert all(grammar.consume(configuration, token) is not None for token in proposed)


@given(cases(), st.sampled_from(NARROW))
@examples(100)
def test_proposals_are_equal_before_and_after_a_step(case: Case, limits: Limits) -> None:
    """A configuration's proposals don't depend on whether it is known yet that a byte costs too much."""
    grammar = case.compiled(limits)
    if grammar is None:
        return
    before = [grammar.proposals(configuration).tolist() for _, configuration in boundaries(grammar, case.longest, 12)]
    again = case.compiled(limits)
    assert again is not None
    reached = [configuration for _, configuration in boundaries(again, case.longest, 12)]
    assert [again.proposals(configuration).tolist() for configuration in reached] == before


@given(cases())
@examples(60)
def test_a_text_ends_where_no_byte_can_follow(case: Case) -> None:
    """A configuration is at its end iff it accepts and every byte is dead."""
    grammar = case.compiled()
    if grammar is None:
        return
    for _, configuration in boundaries(grammar, case.longest, 12):
        followed = any(grammar.consume_bytes(configuration, bytes([byte])) is not None for byte in range(256))
        assert grammar.ends(configuration) == (grammar.accepts(configuration) and not followed)
        assert followed or grammar.accepts(configuration)


def test_stop_ids_are_allowed_where_the_text_is_complete_and_never_consumed() -> None:
    """Every stop id is set iff the text may end, also one that had bytes; consuming it leads nowhere."""
    grammar = compiled([b"a", b"b", b"</s>", None], [2, 5], Seq((A, Repeat(B, 0, 1))))
    complete = grammar.consume(grammar.start, 0)
    assert complete is not None
    assert grammar.mask(grammar.start).tolist() == [True, False, False, False, False, False]
    assert grammar.mask(complete).tolist() == [False, True, True, False, False, True]
    assert grammar.mask(complete, 0).tolist() == [False, False, True, False, False, True]
    assert [grammar.consume(complete, token) for token in (2, 3, 4, 5, 6, -1)] == [None] * 6


def test_ids_with_equal_bytes_are_all_allowed_and_never_forced() -> None:
    """Two ids of the same bytes are both set, lead to one configuration, and leave a choice."""
    grammar = compiled([b"a", b"a", b"b"], [3], Seq((A, B)))
    assert grammar.mask(grammar.start).tolist() == [True, True, False, False]
    assert grammar.consume(grammar.start, 0) == grammar.consume(grammar.start, 1)
    assert grammar.only_token(grammar.start, 9) is None
    after = grammar.consume(grammar.start, 0)
    assert after is not None
    assert grammar.only_token(after, 9) == 2
    assert grammar.only_token(after, 0) is None


def test_the_horizon_forces_the_only_way_home() -> None:
    """Opening another bracket is no longer viable with as many tokens left as are needed."""
    grammar = compiled([b"[", b"]", b"x"], [3], Alt((Seq((Bytes(b"["), Ref("s"), Bytes(b"]"))), Bytes(b"x"))))
    assert grammar.mask(grammar.start, 3).tolist() == [True, False, True, False]
    assert grammar.mask(grammar.start, 2).tolist() == [False, False, True, False]
    assert grammar.only_token(grammar.start, 2) == 2
    assert grammar.mask(grammar.start, 0).tolist() == [False] * 4


def test_distances_take_any_shape_and_dead_ones() -> None:
    """Distances keep the shape that was asked, are int32, and DEAD is infinitely far."""
    grammar = compiled([b"a", b"b"], [2], Seq((A, B)))
    asked = np.array([[grammar.start, -1], [-1, grammar.start]], np.int32)
    found = grammar.distances(asked, 7)
    assert found.tolist() == [[2, INFINITE], [INFINITE, 2]]
    assert found.dtype == np.int32
    assert grammar.distances(asked[:0], 7).shape == (0, 2)
    assert grammar.distances(np.array([grammar.start]), 1).tolist() == [INFINITE]


def test_tables_out_of_memory_are_made_again() -> None:
    """Tables and masks for which there is no room are not kept, and come out the same again."""
    rules = Grammar({"s": Alt((Seq((A, Ref("s"), B)), C, EMPTY))}, "s")
    vocabulary = Vocabulary([b"a", b"ab", b"b", b"bb", b"c"], [5])
    roomy, tight = (compile_expression(rules, vocabulary, Limits(table_bytes=size)) for size in (1 << 20, 0))
    texts = (b"", b"a", b"aa", b"aacb", b"", b"a")
    for budget in (3, 30):
        for text in texts:
            masks = [g.mask(g.consume_bytes(g.start, text) or 0, budget).tolist() for g in (roomy, tight)]
            assert masks[0] == masks[1]
    assert roomy._masks is not None
    assert tight._masks is not None
    assert len(roomy._masks._masks) == len(set(texts))
    assert len(tight._tables._successors) == len(tight._tight_masks) == 0


def test_a_grammar_too_large_for_the_configurations_is_refused_when_compiled() -> None:
    """Compiling says so where even the states don't fit the limit of configurations."""
    with pytest.raises(LimitExceeded) as refusal:
        compile_expression(Grammar({"s": Bytes(b"a" * 100)}, "s"), Vocabulary([b"a"], [1]), Limits(configurations=50))
    assert refusal.value.limit == "configurations"


def test_an_id_names_texts_and_vocabulary_and_nothing_is_glued() -> None:
    """Ids differ where parts, their borders or the vocabulary differ, and are equal otherwise."""
    one, other = Vocabulary([b"a"], [1]), Vocabulary([b"b"], [1])
    ids = [
        grammar_id(("ab", "c"), one),
        grammar_id(("a", "bc"), one),
        grammar_id(("ab", "c", ""), one),
        grammar_id(("ab", "c"), other),
        grammar_id(("é", "c"), one),
        grammar_id(("\udc80", "c"), one),
    ]
    assert len(set(ids)) == len(ids)
    assert grammar_id(("ab", "c"), Vocabulary([b"a"], [1])) == ids[0]
