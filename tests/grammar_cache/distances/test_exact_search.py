"""Exact distances: the search agrees with brute force, and no answer depends on what was asked before."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.compile import compile_expression, compile_grammar
from grammar_cache.constraint import Constraint
from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.exact_search import ExactSearch
from grammar_cache.distances.lower_bounds import LowerBounds
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Repeat, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from tests.grammar_cache.distances.test_additive import boundaries
from tests.strategies import LITTLE, NARROW, SEARCH, Case, cases, examples

A, B, C = Bytes(b"a"), Bytes(b"b"), Bytes(b"c")


def distance_within(grammar: CompiledGrammar, configuration: int, tokens: int) -> int:
    return int(grammar.distances(np.array([configuration], np.int32), tokens)[0])


def check_search(case: Case) -> None:
    grammar = case.compiled()
    if grammar is None:
        return
    for text, configuration in boundaries(grammar, case.longest, 12):
        truth = case.true_distance.of(text)
        search = ExactSearch(grammar._tables, LowerBounds(grammar._configurations, case.vocabulary, Interrupt()))
        led = ExactSearch(grammar._tables, grammar._lower_bounds)
        for tokens in (3, 0, 1, 2, 4):
            found = search.within(configuration, tokens, 1_000_000)
            assert led.within(configuration, tokens, 1_000_000, led=True) == found
            if tokens < truth.least:
                assert not found
            elif truth.most is not None and truth.most <= tokens:
                assert found
        known = search.known(configuration)
        if known:
            assert truth.least <= known and (truth.most is None or known <= truth.most)
            string = case.vocabulary.strings[search.witness(configuration)]
            after = grammar.consume_bytes(configuration, string)
            assert after is not None
            assert search.known(after) == known - 1
        assert led.completions() == search.completions()


@given(cases())
@examples(40)
def test_the_search_agrees_with_brute_force(case: Case) -> None:
    """Asked for any horizon in any order, it finds a completion iff there is one, and its path leads there. Whether
    lower bounds lead it from the start makes no difference.
    """
    check_search(case)


@pytest.mark.full
@given(cases())
@examples(800)
def test_the_search_agrees_with_brute_force_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    check_search(case)


def check_horizon(case: Case) -> None:
    grammar = case.compiled()
    if grammar is None:
        return
    for text, configuration in boundaries(grammar, case.longest, 12):
        truth = case.true_distance.of(text)
        for tokens in range(-1, 6):
            distance = distance_within(grammar, configuration, tokens)
            if distance > tokens:
                assert distance in (INFINITE, 0)
                assert truth.most is None or truth.most > tokens or tokens < 0
            else:
                assert distance >= truth.least
                assert len(grammar.witness(configuration, tokens)) <= tokens


@given(cases())
@examples(40)
def test_what_is_viable_at_the_horizon_is_exact(case: Case) -> None:
    """A configuration is viable with few tokens left iff brute force completes it, and then its witness fits."""
    check_horizon(case)


@pytest.mark.full
@given(cases())
@examples(800)
def test_what_is_viable_at_the_horizon_is_exact_at_length(case: Case) -> None:
    """Runs the quick test on many more grammars and vocabularies."""
    check_horizon(case)


@dataclass(frozen=True)
class Question:
    """Something asked of a grammar after a text, with some tokens left."""

    kind: str
    text: bytes
    tokens: int

    def answer(self, grammar: CompiledGrammar) -> object:
        at = grammar.consume_bytes(grammar.start, self.text)
        if self.kind == "minimum":
            return grammar.minimum
        if at is None:
            return None
        match self.kind:
            case "distances":
                return distance_within(grammar, at, self.tokens)
            case "mask":
                return grammar.mask(at, self.tokens).tolist()
            case "any mask":
                return grammar.mask(at).tolist()
            case "only token":
                return grammar.only_token(at, self.tokens)
            case "proposals":
                return grammar.proposals(at).tolist()
            case "finite":
                return grammar.distance(at) is None
            case _:
                raise AssertionError(self.kind)


KINDS = ["distances", "distances", "mask", "any mask", "only token", "proposals", "minimum", "finite"]


@st.composite
def interviews(draw: st.DrawFn) -> tuple[Case, list[Question], list[Question]]:
    """A case, questions about it, and the same questions in another order."""
    case = draw(cases())
    texts = st.lists(st.sampled_from(case.letters), max_size=case.longest).map(bytes)
    asked = draw(
        st.lists(st.builds(Question, st.sampled_from(KINDS), texts, st.integers(0, 5)), min_size=2, max_size=12)
    )
    return case, asked, draw(st.permutations(asked))


def check_purity(interview: tuple[Case, list[Question], list[Question]]) -> None:
    case, asked, reordered = interview
    for limits in (LITTLE, Limits(start_fuel=100_000, step_fuel=100_000, table_bytes=0)):
        first, second = case.compiled(limits), case.compiled(limits)
        if first is None or second is None:
            assert first is second
            return
        answers = {question: question.answer(first) for question in asked}
        assert {question: question.answer(second) for question in reordered} == answers
        assert {question: question.answer(first) for question in reordered} == answers


@given(interviews())
@examples(40)
def test_answers_do_not_depend_on_what_was_asked_before(
    interview: tuple[Case, list[Question], list[Question]],
) -> None:
    """Answers are the same where questions come in another order, or once more, also where searches run dry."""
    check_purity(interview)


@pytest.mark.full
@given(interviews())
@examples(1000)
def test_answers_do_not_depend_on_what_was_asked_before_at_length(
    interview: tuple[Case, list[Question], list[Question]],
) -> None:
    """Runs the quick test on many more interviews."""
    check_purity(interview)


def test_what_the_search_from_the_start_found_counts_for_whatever_is_asked_first() -> None:
    """A small search that would run dry is answered from the path of the large one, which always comes before it."""
    item = Alt((Bytes(b"xa"), Seq((Ref("x"), C))))
    rules = Grammar({"s": Repeat(Seq((Ref("x"), B)), 8, 8), "x": item}, "s")
    vocabulary = Vocabulary([b"x", b"a", b"ab", b"b"], [4])

    def fresh() -> CompiledGrammar:
        return compile_expression(rules, vocabulary, Limits(start_fuel=10_000_000, step_fuel=1))

    asked_first, asked_later = fresh(), fresh()
    text = vocabulary.text(asked_later.witness(asked_later.start)[:1])
    assert asked_later.minimum.tokens == 16
    answers = [distance_within(g, g.consume_bytes(g.start, text) or 0, 15) for g in (asked_first, asked_later)]
    assert answers == [15, 15]


def test_a_search_without_fuel_finds_only_what_is_there_already() -> None:
    """No fuel: a configuration that accepts is within any horizon, and nothing else is known to be."""
    grammar = compile_expression(
        Grammar({"s": Alt((Seq((A, Ref("s"), B)), C))}, "s"), Vocabulary([b"a", b"b", b"c"], [3]), Limits()
    )
    search = ExactSearch(grammar._tables, grammar._lower_bounds)
    assert not search.within(grammar.start, 100, 0)
    assert search.known(grammar.start) is None
    end = grammar.consume_bytes(grammar.start, b"c")
    assert end is not None
    assert search.within(end, 0, 0)
    assert search.known(end) == 0


def test_a_search_runs_once() -> None:
    """A search's finding is known for every configuration on its path; asking again searches no more."""
    grammar = compile_expression(
        Grammar({"s": Alt((Seq((A, Ref("s"), B)), C))}, "s"), Vocabulary([b"a", b"b", b"c"], [3]), Limits()
    )
    deep = grammar.consume_bytes(grammar.start, b"aaaa")
    assert deep is not None
    search = ExactSearch(grammar._tables, grammar._lower_bounds)
    assert [search.within(deep, tokens, 100_000) for tokens in (4, 5, 6)] == [False, True, True]
    done = search.effort.searches
    at: int | None = deep
    for left in (5, 4, 3, 2, 1):
        assert at is not None
        assert search.known(at) == left
        at = grammar.consume_bytes(at, grammar.vocabulary.strings[search.witness(at)])
    assert not search.within(deep, 4, 100_000)
    assert search.effort.searches == done == 2


def test_nothing_is_proved_where_a_token_is_left_out_for_its_cost() -> None:
    """A token that spans the end of a rule saves one; a grammar that may not read it says that its minimum isn't
    exact.
    """
    vocabulary = Vocabulary([b"(", b")", b"]", b"x", b"]x", None], [5])
    spanning = Constraint("gbnf", 'root ::= y "x"\ny ::= "(" y ")" | "(" y "]" | "()" | "(]"')
    found = set()
    for cost in range(1, 40):
        grammar = compile_grammar(spanning, vocabulary, Limits(byte_cost=cost))
        minimum, again = grammar.minimum, from_bytes(to_bytes(grammar), vocabulary, Limits(byte_cost=cost)).minimum
        assert minimum == again
        found.add((minimum.tokens, minimum.exact))
    assert found == {(2, True), (3, False)}


@given(cases(), st.sampled_from([*NARROW, *(replace(SEARCH, byte_cost=cost) for cost in (4, 12, 40))]))
@examples(60)
def test_an_exact_minimum_is_one(case: Case, limits: Limits) -> None:
    """A minimum that is said to be exact is the least by brute force, whatever reading may cost."""
    grammar = case.compiled(limits)
    if grammar is not None and grammar.minimum.exact:
        truth = case.true_distance.of(b"")
        assert truth.least <= grammar.minimum.tokens
        assert truth.most is None or grammar.minimum.tokens <= truth.most
