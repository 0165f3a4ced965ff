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
from grammar_cache.distances.searched_distances import Minimum
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
@examples(25)
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


def fewest_tokens(places: list[bytes], words: list[bytes]) -> int | None:
    """Fewest of the words that spell any text with one of so many bytes at each place, by dynamic programming."""
    ahead: list[int | None] = [*[None] * len(places), 0]
    for at in range(len(places) - 1, -1, -1):
        fitting = [
            w for w in words if len(w) <= len(places) - at and all(w[i] in places[at + i] for i in range(len(w)))
        ]
        behind = [left for w in fitting if (left := ahead[at + len(w)]) is not None]
        ahead[at] = 1 + min(behind) if behind else None
    return ahead[0]


def check_digits(numbers: range) -> None:
    """Bounds of texts like dates are never above the fewest tokens, and below them in few."""
    tight, known = 0, 0
    for number in numbers:
        rng = random.Random(number)
        kinds = [b"0123456789", b"01", b"3456", b"-", b"0123", b":"]
        texts = [[rng.choice(kinds) for _ in range(rng.randint(1, 11))] for _ in range(rng.randint(1, 3))]
        words = [
            b"%0*d" % (size, rng.randrange(10**size)) for size in (1, 2, 2, 3, 3, 3) for _ in range(rng.randint(9, 60))
        ]
        joined = [rng.choice(words)[-1:] + mark + rng.choice(words)[:1] for mark in (b"-", b":") for _ in range(5)]
        words = sorted({*words, *joined, *(bytes([byte]) for byte in b"0123456789-:")})
        fewest = min(found for text in texts if (found := fewest_tokens(text, words)) is not None)
        pattern = "|".join("".join(f"[{place.decode()}]" for place in text) for text in texts)
        grammar = compile_grammar(Constraint("regex", pattern), Vocabulary([*words, None], [len(words)]))
        assert grammar.lower_bound(grammar.start) <= fewest
        assert grammar.minimum == Minimum(fewest, True)
        tight, known = tight + (grammar.lower_bound(grammar.start) == fewest), known + 1
    assert tight > 0.95 * known


def test_digits_are_counted_as_tokens_have_them() -> None:
    """Bounds of digits and dates, whose tokens end in the same states, are the minima of most."""
    check_digits(range(60))


@pytest.mark.full
def test_digits_are_counted_as_tokens_have_them_at_length() -> None:
    """Runs the quick test on thousands of patterns."""
    check_digits(range(60, 3_060))


def test_the_fewest_tokens_of_dates_are_proved_without_a_search() -> None:
    """Bounds of a list of dates are its minimum, where tokens have three digits at most."""
    digits = [b"%0*d" % (size, number) for size in (1, 2, 3) for number in range(10**size)]
    vocabulary = Vocabulary([*digits, b"-", b",", b"T", None], [len(digits) + 3])
    grammar = compile_grammar(Constraint("regex", r"(\d{4}-[01]\d-[0-3]\d,){2}\d{4}-\d{3}T?"), vocabulary)
    assert grammar.lower_bound(grammar.start) == 18
    assert grammar.minimum == Minimum(18, True)
    assert grammar.size["configurations"] < 40


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
