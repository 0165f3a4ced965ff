"""Tables that are begun anew, and texts that are followed at once: both give what going on token by token gives."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.core.hostile_grammars import hostile
from grammar_cache import CompiledGrammar, Limits, Vocabulary, compile_grammar
from grammar_cache import grammar as grammar_module
from grammar_cache.compile import compile_expression
from grammar_cache.configurations.interner import DEAD
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, Bytes, Expression, Grammar, Ref, Seq
from grammar_cache.network import inlining
from tests.strategies import LITTLE, NARROW, SEARCH, Case, cases, examples

LIMITS = (SEARCH, LITTLE, *NARROW)
WORDS = Vocabulary([*(bytes([byte]) for byte in range(256)), b"aa", b"bb", b"ab", b"aab", b"xa", b"cc", None], [262])
NUMBERS = (1, 5, 6, 20, 34, 43)


def compiled(case: Case, limits: Limits, **constants: int) -> CompiledGrammar | None:
    """The case with its minimum, where constants of `grammar_cache.grammar` are these."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in constants.items():
            patch.setattr(grammar_module, name, value)
        grammar = case.compiled(limits)
        _ = None if grammar is None else grammar.minimum
    return grammar


def text_of(grammar: CompiledGrammar, length: int, rng: random.Random) -> list[int]:
    """Viable tokens, drawn, up to a length."""
    at, tokens = grammar.start, list[int]()
    while len(tokens) < length:
        stops = grammar.vocabulary.stop_ids
        viable = [token for token in np.flatnonzero(grammar.mask(at)).tolist() if token not in stops]
        if not viable:
            break
        tokens.append(rng.choice(viable))
        at = grammar.take(at, tokens[-1])
    return tokens


@given(cases(), st.sampled_from(LIMITS), st.randoms(use_true_random=False))
@examples(25)
def test_tables_begun_anew_behind_the_search_tell_the_same(case: Case, limits: Limits, rng: random.Random) -> None:
    """Minima, masks and witnesses are those of tables which keep all that the search has left."""
    kept, anew = compiled(case, limits), compiled(case, limits, LEFT_SHARE=1 << 60)
    if kept is None or anew is None:
        return
    assert anew._found is not None
    assert anew.minimum == kept.minimum
    least, text = kept.minimum.tokens, text_of(kept, 5, rng)
    for length in range(len(text) + 1):
        one, other = ([g.start, *g.followed(text[:length])][-1] for g in (kept, anew))
        assert kept.accepts(one) == anew.accepts(other)
        for budget in {least - length, least - length + 1, least + 3, None}:
            assert kept.mask(one, budget).tolist() == anew.mask(other, budget).tolist()
            assert kept.is_tight(one, 9) == anew.is_tight(other, 9)
            if budget is None or kept.accepts(one) or kept.mask(one, budget).any():
                assert kept.witness(one, budget) == anew.witness(other, budget)


def test_tables_are_begun_anew_where_much_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that leaves more than its part of the memory behind leaves no more than it has found in the tables."""
    [one] = hostile(range(542, 543))
    anew = compile_grammar(one.constraint, WORDS)
    _ = anew.minimum
    monkeypatch.setattr(grammar_module, "LEFT_SHARE", 1)
    kept = compile_grammar(one.constraint, WORDS)
    assert kept.minimum == anew.minimum
    assert 2 * anew.size_bytes < kept.size_bytes > anew.limits.memory_bytes // 8
    assert kept.witness(kept.start, kept.minimum.tokens) == anew.witness(anew.start, anew.minimum.tokens)


def check_followed(grammar: CompiledGrammar, tokens: list[int]) -> None:
    """Follows a text in a fresh copy, where nothing is known, and token by token in that and in another one."""
    fresh, other = grammar.anew(), grammar.anew()
    path = fresh.followed(tokens)
    at, singly = fresh.start, list[int]()
    there = other.start
    for token in tokens:
        at = DEAD if at == DEAD else fresh.take(at, token)
        there = DEAD if there == DEAD else other.take(there, token)
        singly.append(at)
        assert (at == DEAD) == (there == DEAD)
        if at != DEAD:
            assert fresh.mask(at, 9).tolist() == other.mask(there, 9).tolist()
    assert path == singly


@given(cases(), st.sampled_from(LIMITS), st.sampled_from([1, 3, 64]), st.randoms(use_true_random=False))
@examples(25)
def test_a_text_followed_at_once_is_one_taken_token_by_token(
    case: Case, limits: Limits, together: int, rng: random.Random
) -> None:
    """Random grammars: `followed` leads where `take` does, behind texts that end nowhere too, however many tokens one
    call follows.
    """
    grammar = case.compiled(limits)
    if grammar is not None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(grammar_module, "TOGETHER", together)
            check_followed(grammar, text_of(grammar, 8, rng))
            check_followed(grammar, [rng.randrange(grammar.vocabulary.size) for _ in range(4)])


@pytest.mark.parametrize("number", NUMBERS)
def test_a_hostile_text_followed_at_once_is_one_taken_token_by_token(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hostile grammars: likewise, where bytes are dear, and tokens are cut."""
    [one] = hostile(range(number, number + 1))
    monkeypatch.setattr(grammar_module, "TOGETHER", 5)
    for limits in (Limits(start_fuel=1_000), Limits(start_fuel=1_000, byte_cost=60)):
        grammar = compile_grammar(one.constraint, WORDS, limits)
        check_followed(grammar, text_of(grammar, 20, random.Random(number)))


@given(cases(), st.sampled_from(LIMITS), st.randoms(use_true_random=False))
@examples(25)
def test_a_witness_followed_at_once_is_one_asked_for_token_by_token(
    case: Case, limits: Limits, rng: random.Random
) -> None:
    """Random grammars: a witness is the same, however many of its tokens are followed in one loop."""
    at_once, singly = case.compiled(limits), case.compiled(limits)
    if at_once is None or singly is None:
        return
    least, text = singly.minimum.tokens, text_of(singly, 4, rng)
    for budget in (least, least + 1, least + 6):
        for length in range(len(text) + 1):
            check_witness(at_once, singly, text[:length], budget)


def check_witness(at_once: CompiledGrammar, singly: CompiledGrammar, text: list[int], budget: int) -> tuple[int, ...]:
    found = []
    for grammar, long in ((at_once, 1), (singly, 1 << 30)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(grammar_module, "LONG_WITNESS", long)
            try:
                at = [grammar.start, *grammar.followed(text)][-1]
                found.append(grammar.witness(at, budget - len(text)))
            except EmptyLanguage:
                found.append((-1,))
    assert found[0] == found[1]
    return found[0]


def test_a_way_that_only_the_search_knows_is_followed_at_once() -> None:
    """A text whose tokens span the ends of rules has fewer of them than the bound says: its way is followed whole."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inlining, "INLINE_SIZE", -1)
        rules: dict[str, Expression] = {"s": Seq((Ref("r"),) * 40), "r": Alt((Bytes(b"ab"), Bytes(b"abb")))}
        grammars = [
            compile_expression(Grammar(rules, "s"), Vocabulary([b"a", b"b", b"ba", None], [3]), Limits())
            for _ in range(2)
        ]
    least = grammars[0].minimum.tokens
    assert least == 41 < grammars[0]._additive(grammars[0].start)
    assert check_witness(grammars[0], grammars[1], [], least) == (0, *[2] * 39, 1)
    ways = grammars[0]._ways
    assert len(grammars[0]._distances.follow(grammars[0].start, least, ways)[0]) == least
    assert grammars[0]._distances.follow(grammars[0].start, least - 1, ways) == ([], grammars[0].start)
