"""Explanations agree with masks at every token and budget, and with what brute force knows of the language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.analysis.explanation import Explanation, explain
from grammar_cache.analysis.next_texts import next_texts
from grammar_cache.grammar import CompiledGrammar
from tests.grammar_cache.distances.test_additive import boundaries
from tests.strategies import LITTLE, NARROW, SEARCH, Case, cases, examples

VOCABULARY = Vocabulary(
    [*(bytes([byte]) for byte in range(128)), b'{"', b'":', b"true", "é".encode(), None, None], [133]
)
SPECIAL = len(VOCABULARY.token_bytes) - 2


def asked(grammar: CompiledGrammar, text: bytes, token: bytes | int, budget: int | None = None) -> Explanation:
    at = grammar.consume_bytes(grammar.start, text)
    assert at is not None
    known = token if isinstance(token, int) else VOCABULARY.token_bytes.index(token)
    return explain(grammar, at, known, budget, text=text)


def check(case: Case, grammar: CompiledGrammar, text: bytes, configuration: int, budget: int | None) -> None:
    case_has_fuel = grammar.limits.step_fuel == SEARCH.step_fuel  # else completions may be unknown
    mask, free = grammar.mask(configuration, budget), grammar.mask(configuration)
    for token in range(grammar.vocabulary.size):
        told = explain(grammar, configuration, token, budget, text=text)
        assert told.allowed == mask[token]
        assert (told.reason in ("grammar", "limit")) == (not free[token])
        assert (told.distance is None) == (not free[token])
        data = grammar.vocabulary.token_bytes[token]
        if token in grammar.vocabulary.stop_ids or not data:
            continue
        truth = case.true_distance.of(text + data)
        if told.reason == "grammar" and (case_has_fuel or grammar.consume(configuration, token) is None):
            assert truth.most is None
        if told.distance is not None:
            assert truth.least <= told.distance
        if budget is not None and free[token]:
            assert told.distance is not None
            assert (told.distance < budget) == told.allowed


@given(cases(), st.sampled_from([SEARCH, LITTLE, *NARROW]))
@examples(15)
def test_explanations_are_what_masks_do(case: Case, limits: Limits) -> None:
    """Every token is allowed as masks have it, the grammar is blamed where no word goes on so, distances are sound."""
    grammar = case.compiled(limits)
    if grammar is None:
        return
    for text, configuration in boundaries(grammar, case.longest, 5):
        for budget in (None, 1, 2, 4):
            check(case, grammar, text, configuration, budget)
        told = next_texts(grammar, configuration)
        if not grammar.is_dear(configuration) and not any("–" in one for one in told):
            ways = {
                chr(byte) for byte in case.letters if any(word.startswith(text + bytes([byte])) for word in case.words)
            }
            assert ways <= {one[0] for one in told}


@pytest.mark.full
@given(cases(), st.sampled_from([SEARCH, LITTLE, *NARROW]))
@examples(600)
def test_explanations_at_length(case: Case, limits: Limits) -> None:
    """Runs the quick test on many more grammars."""
    grammar = case.compiled(limits)
    for text, configuration in [] if grammar is None else boundaries(grammar, case.longest, 8):
        assert grammar is not None
        for budget in (None, 0, 1, 2, 3, 5):
            check(case, grammar, text, configuration, budget)


OBJECT = Constraint("gbnf", r'root ::= "{\"a\":" ("true" | [0-9]+) "}"')


def test_the_grammar_is_blamed_where_it_forbids() -> None:
    """A message names the part of the token that is refused, where, and all that could come instead."""
    grammar = compile_grammar(OBJECT, VOCABULARY)
    told = asked(grammar, b'{"a', b'":')
    assert told.allowed
    told = asked(grammar, b'{"a":1', b'":', 9)
    assert (told.allowed, told.reason, told.distance) == (False, "grammar", None)
    assert told.message == 'the grammar forbids "\\":" after "{\\"a\\":1": next could be "0–9" or "}"'
    assert told.next == ("0–9", "}")
    assert asked(grammar, b"", b'{"').next == ('{"a":',)
    assert asked(grammar, b"", b"}").message == 'the grammar forbids "}" after "": next could be "{\\"a\\":"'


def test_the_budget_is_blamed_where_it_forbids() -> None:
    """A message has the tokens needed, the asked one included, and those that are left."""
    grammar = compile_grammar(OBJECT, VOCABULARY)
    told = asked(grammar, b'{"a":', b"t", 4)
    assert (told.allowed, told.reason, told.distance) == (False, "budget", 4)
    assert told.message == "fits the grammar, needs 5 tokens, 4 are left"
    assert asked(grammar, b'{"a":', b"t", 5).allowed
    assert asked(grammar, b'{"a":', b"true", 2).message == "fits the grammar, needs 2 tokens, 2 are left"
    assert asked(grammar, b'{"a":true', b"}", 1).message == "fits the grammar, needs 1 token, 1 is left"
    assert asked(grammar, b'{"a":', b"t").message == "fits the grammar, needs 5 tokens"


def test_a_limit_is_blamed_where_reading_costs_too_much() -> None:
    """A token that the grammar has and a limit leaves out isn't said to be forbidden by the grammar."""
    pairs = Constraint("gbnf", 'root ::= root root | "a" | "true"')
    dear = compile_grammar(pairs, VOCABULARY, Limits(byte_cost=1))
    way = VOCABULARY.token_bytes[dear.witness(dear.start)[0]]
    assert way is not None
    other = b"true" if way == b"a" else b"a"
    told = asked(dear, b"", other)
    assert (told.allowed, told.reason, told.distance) == (False, "limit", None)
    assert told.message.startswith(f'reading "{other.decode()}" after "" costs more than `byte_cost` allows: ')
    assert asked(compile_grammar(pairs, VOCABULARY), b"", other).allowed
    assert asked(dear, b"", b"1").reason == "limit"  # nobody has looked


def test_ends_and_special_tokens() -> None:
    """An end token is allowed where the text is complete, a special token nowhere."""
    grammar = compile_grammar(OBJECT, VOCABULARY)
    end = VOCABULARY.stop_ids[0]
    told = asked(grammar, b'{"a":1', end, 3)
    assert (told.allowed, told.reason) == (False, "grammar")
    assert told.message == 'the text isn\'t complete after "{\\"a\\":1": next could be "0–9" or "}"'
    told = asked(grammar, b'{"a":1}', end, 3)
    assert (told.allowed, told.message, told.next) == (True, "the text is complete and may end", ())
    behind = asked(grammar, b'{"a":1}', b"}", 3)
    assert behind.message == 'the grammar forbids "}" after "{\\"a\\":1}": next could be the end of the text'
    assert asked(grammar, b"", SPECIAL).message == f"token {SPECIAL} is a special one, which spells no text"
    with pytest.raises(IndexError, match="outside a vocabulary of 134"):
        explain(grammar, grammar.start, 134)


def test_long_texts_are_told_by_their_end() -> None:
    """Forty characters are enough to know the place."""
    grammar = compile_grammar(Constraint("regex", "[a-zé]*!"), VOCABULARY)
    told = asked(grammar, b"x" * 90, b"1")
    assert told.message == f'the grammar forbids "1" after "…{"x" * 40}": ' + (
        'next could be "!", "a–z" or "other characters"'
    )
