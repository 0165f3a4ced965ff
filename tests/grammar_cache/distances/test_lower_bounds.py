"""Lower bounds: no completion takes fewer tokens, by brute force, and few take more."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given

from grammar_cache.compile import compile_expression, compile_grammar
from grammar_cache.constraint import Constraint
from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.lower_bounds import LowerBounds
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Repeat, Seq
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.network import inlining
from grammar_cache.vocabulary.vocabulary import Vocabulary
from tests.grammar_cache.distances.test_additive import boundaries
from tests.grammar_cache.distances.test_retokenised_minima import Chain
from tests.strategies import Case, cases, examples


def check_bounds(case: Case) -> None:
    grammar = case.compiled()
    if grammar is None:
        return
    for text, configuration in boundaries(grammar, case.longest, 20):
        truth, found = case.true_distance.of(text), grammar.lower_bound(configuration)
        assert (found == 0) == grammar.accepts(configuration)
        assert truth.most is None or found <= truth.most


@given(cases())
@examples(50)
def test_no_completion_takes_fewer_tokens(case: Case) -> None:
    """Brute force finds no completion below the bound, from anywhere, and a bound is 0 iff a text is complete."""
    check_bounds(case)


@pytest.mark.full
@given(cases())
@examples(3000)
def test_no_completion_takes_fewer_tokens_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    check_bounds(case)


def check_chains(numbers: range) -> None:
    """Bounds of chains of rules never above the fewest tokens of their words, and a fifth below them in all at most."""
    bounds, tokens = 0, 0
    for number in numbers:
        rng = random.Random(number)
        chain = Chain.random(rng)
        if chain.least is None:
            continue
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(inlining, "INLINE_SIZE", rng.choice((-1, inlining.INLINE_SIZE)))
            grammar = compile_expression(chain.grammar, chain.vocabulary, Limits())
        found = grammar.lower_bound(grammar.start)
        assert found <= chain.least
        bounds, tokens = bounds + found, tokens + chain.least
    assert tokens > bounds > 0.8 * tokens


def test_tokens_that_span_rules_count_once() -> None:
    """Bounds of chains of rules, whose tokens span several of them."""
    check_chains(range(200))


@pytest.mark.full
def test_tokens_that_span_rules_count_once_at_length() -> None:
    """Runs the quick test on thousands of grammars."""
    check_chains(range(200, 6_200))


def test_a_search_that_the_bounds_lead_looks_at_few_configurations() -> None:
    """Nested values are no way to a short answer, and none of them is looked at: the minimum is proved at once."""
    item = Alt((Bytes(b"xa"), Seq((Ref("x"), Bytes(b"c")))))
    nested = [Seq((Bytes(opening), Ref("s"), Bytes(end))) for opening, end in ((b"(", b")"), (b"[", b"]"))]
    rules = {"x": item, "s": Alt((*nested, Repeat(Seq((Ref("x"), Bytes(b"b"))), 15, 15)))}
    vocabulary = Vocabulary([b"x", b"a", b"ab", b"b", b"(", b"[", b")", b"]"], [8])
    grammar = compile_expression(Grammar(rules, "s"), vocabulary, Limits())
    assert grammar.lower_bound(grammar.start) == grammar.minimum.tokens == 30
    assert grammar.minimum.exact
    assert grammar.size["configurations"] < 250


def test_bounds_are_the_same_whatever_was_solved_before() -> None:
    """Rules that another grammar has solved are looked up, and no bound is another one for it."""
    pattern = Constraint("gbnf", 'root ::= "{" string "," string "}"\nstring ::= "\\"" [a-z]* "\\""')
    other = Constraint("gbnf", 'root ::= string+\nstring ::= "\\"" [a-z]* "\\""')
    tokens = [*(bytes([byte]) for byte in b'{}",abc'), b'"","', b'""', b'{"', b'"}', None]
    fresh, used = Vocabulary(tokens, [12]), Vocabulary(tokens, [12])
    compile_grammar(other, used).lower_bound(0)
    first, second = compile_grammar(pattern, fresh), compile_grammar(pattern, used)
    assert (
        first._lower_bounds.of(np.arange(1, dtype=np.int32)) == second._lower_bounds.of(np.arange(1, dtype=np.int32))
    ).all()
    assert first.minimum == second.minimum


def test_bounds_without_room_for_walks_still_hold() -> None:
    """Bounds whose walks would take more than the limit say that a text that isn't complete needs a token."""
    vocabulary = Vocabulary([b"a", b"b", b"c", None], [3])
    grammar = compile_grammar(Constraint("regex", "(a|b){3}c?"), vocabulary)
    grammar._configurations.limit = 1
    bounds = LowerBounds(grammar._configurations, vocabulary, Interrupt())
    texts = [b"", b"a", b"ab", b"aba", b"abac"]
    places = [grammar.consume_bytes(grammar.start, text) for text in texts]
    assert bounds.of(np.array(places, np.int32)).tolist() == [1, 1, 1, 0, 0]


def test_what_no_text_completes_has_no_bound() -> None:
    """Bounds are infinite where the vocabulary can't spell the rest of any text."""
    grammar = compile_grammar(Constraint("regex", "a|bc"), Vocabulary([b"a", b"b", None], [2]))
    after = grammar.consume_bytes(grammar.start, b"b")
    assert after is not None
    assert grammar.lower_bound(after) == INFINITE
