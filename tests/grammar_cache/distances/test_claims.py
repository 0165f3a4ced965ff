"""Claims of others: believed exactly where they can be followed, and then nothing but searches is saved."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.compile import compile_expression
from grammar_cache.configurations.content_keys import ConfigurationKeys
from grammar_cache.distances.claims import Claim, HorizonClaim, follow
from grammar_cache.expression import Alt, Bytes, Grammar, Ref, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.evaluation.methods.exploration_bound import BoundedGrammar
from tests.grammar_cache.distances.test_additive import boundaries
from tests.grammar_cache.distances.test_exact_search import Question, interviews
from tests.strategies import LITTLE, SEARCH, Case, cases, examples

NEST = Grammar({"s": Alt((Seq((Bytes(b"a"), Ref("s"), Bytes(b"b"))), Bytes(b"c")))}, "s")
LETTERS = Vocabulary([b"a", b"b", b"c", b"bb"], [4])
A, B, C, BB = range(4)


def nest() -> CompiledGrammar:
    return compile_expression(NEST, LETTERS, Limits())


def key_after(grammar: CompiledGrammar, text: bytes) -> bytes:
    return ConfigurationKeys(grammar._configurations).of(at(grammar, text))


def at(grammar: CompiledGrammar, text: bytes) -> int:
    configuration = grammar.consume_bytes(grammar.start, text)
    assert configuration is not None
    return configuration


def fits(grammar: CompiledGrammar, text: bytes, tokens: int) -> bool:
    return int(grammar.distances(np.array([at(grammar, text)], np.int32), tokens)[0]) <= tokens


@st.composite
def claimed(draw: st.DrawFn) -> tuple[Case, list[tuple[bytes, Claim]]]:
    """A case, and claims about texts in it, most of them wrong."""
    case = draw(cases())
    texts = st.lists(st.sampled_from(case.letters), max_size=3).map(bytes)
    tokens = st.lists(st.integers(-2, len(case.tokens) + 2), max_size=4).map(tuple)
    return case, draw(st.lists(st.tuples(texts, st.builds(Claim, st.integers(-1, 4), tokens)), max_size=12))


def stands(case: Case, text: bytes, claim: Claim) -> bool:
    """Whether a claim stands by enumeration: the text with the witness is a word, with less of it none, and the
    distance is enough.
    """
    texts = [text]
    for token in claim.witness:
        data = case.vocabulary.token_bytes[token] if 0 <= token < case.vocabulary.size else None
        if data is None:
            return False
        texts.append(texts[-1] + data)
    *before, whole = texts
    return whole in case.words and not case.words.intersection(before) and len(claim.witness) <= claim.distance


@given(claimed())
@examples(60)
def test_what_stands_is_what_enumeration_says(drawn: tuple[Case, list[tuple[bytes, Claim]]]) -> None:
    """All claims followed at once: each stands iff its witness completes the text, at its end and not before."""
    case, claims = drawn
    grammar = case.compiled()
    if grammar is None:
        return
    about = []
    for text, claim in claims:
        configuration = grammar.consume_bytes(grammar.start, text)
        longest = len(text) + sum(len(case.tokens[t] or b"") for t in claim.witness if 0 <= t < len(case.tokens))
        if configuration is not None and longest <= case.longest:  # enumeration knows no longer words
            about.append((text, configuration, claim))
    ways = follow(grammar._tables, case.vocabulary, [(configuration, claim) for _, configuration, claim in about])
    for (text, configuration, claim), way in zip(about, ways, strict=True):
        assert (way is not None) == stands(case, text, claim), (text, claim)
        if way is not None:
            assert way[0] == configuration
            assert len(way) == len(claim.witness) + 1


def check_sharing(interview: tuple[Case, list[Question], list[Question]]) -> None:
    case, asked, reordered = interview
    for limits in (SEARCH, LITTLE):
        alone, told = case.compiled(limits), case.compiled(limits)
        if alone is None or told is None:
            return
        answers = {question: question.answer(alone) for question in asked}
        learned = alone.learned()
        told.offer(learned)
        assert {question: question.answer(told) for question in reordered} == answers
        assert told.rejected_claims == 0
        assert learned.keys().isdisjoint(told.learned())


@given(interviews())
@examples(30)
def test_what_another_process_learned_changes_no_answer(interview: tuple[Case, list[Question], list[Question]]) -> None:
    """Questions in another order, with what was learned from them, change nothing: the same answers, and no search
    twice.
    """
    check_sharing(interview)


@pytest.mark.full
@given(interviews())
@examples(1000)
def test_what_another_process_learned_changes_no_answer_at_length(
    interview: tuple[Case, list[Question], list[Question]],
) -> None:
    """Runs the quick test on many more interviews."""
    check_sharing(interview)


@given(claimed())
@examples(40)
def test_no_claim_breaks_the_promise(drawn: tuple[Case, list[tuple[bytes, Claim]]]) -> None:
    """Whatever is claimed, of any text: what is viable can be completed, in as many tokens as are left."""
    case, claims = drawn
    grammar = case.compiled(LITTLE)
    if grammar is None:
        return
    keys = ConfigurationKeys(grammar._configurations)
    starts = {text: grammar.consume_bytes(grammar.start, text) for text, _ in claims}
    grammar.offer({keys.of(starts[text] or 0): claim for text, claim in claims})
    for text, configuration in boundaries(grammar, case.longest, 12):
        truth = case.true_distance.of(text)
        for tokens in range(6):
            distance = int(grammar.distances(np.array([configuration], np.int32), tokens)[0])
            assert distance >= truth.least
            if distance <= tokens:
                assert len(grammar.witness(configuration, tokens)) <= tokens


def test_a_claim_saves_the_search() -> None:
    """`bb` closes two: the additive distance is 4, a search finds 2, and what it learned is one claim."""
    first, second = nest(), nest()
    assert fits(first, b"aaaac", 2)
    learned = first.learned()
    assert learned == {key_after(first, b"aaaac"): Claim(2, (BB, BB))}
    assert first.learned() == {}
    second.offer(learned)
    assert fits(second, b"aaaac", 2)
    assert fits(second, b"aac", 1)  # on the way of that completion
    assert second.effort.searches - nest_searches() == 0
    assert second.learned() == {}


def nest_searches() -> int:
    """Number of searches until the fewest tokens are known."""
    grammar = nest()
    _ = grammar.minimum
    return grammar.effort.searches


@pytest.mark.parametrize(
    "claim",
    [
        Claim(1, (BB, BB)),
        Claim(2, (BB, B)),
        Claim(2, (BB,)),
        Claim(3, (BB, BB, BB)),
        Claim(2, (BB, 99)),
        Claim(2, (BB, -1)),
        Claim(2, (BB, 4)),
        Claim(2, (BB, 1 << 40)),
        Claim(0, ()),
        Claim(-1, ()),
    ],
    ids=repr,
)
def test_a_claim_that_does_not_stand_is_searched_anew(claim: Claim) -> None:
    """A witness that ends early or late, names no token, or is longer than its distance: counted and passed over."""
    grammar = nest()
    grammar.offer({key_after(grammar, b"aaaac"): claim})
    assert not fits(grammar, b"aaaac", 1)
    assert fits(grammar, b"aaaac", 2)
    assert grammar.rejected_claims == 1
    assert grammar.witness(at(grammar, b"aaaac")) == (BB, BB)


def test_claims_do_not_support_each_other() -> None:
    """Each is one token above the next, so that every step lowers the distance; followed to the end, none is right."""
    grammar = nest()
    pairs = (2, 3, 4)
    grammar.offer({key_after(grammar, b"aa" * n + b"c"): Claim(n - 1, (BB,) * (n - 1)) for n in pairs})
    assert [fits(grammar, b"aa" * n + b"c", n - 1) for n in pairs] == [False] * 3
    assert grammar.rejected_claims == 3


def test_a_claim_against_what_is_known_is_rejected() -> None:
    """A search has found the distance of a text on the way: a longer completion of it can't be a shortest one."""
    grammar = nest()
    assert fits(grammar, b"aaaac", 2)
    grammar.offer({key_after(grammar, b"aaaaac"): Claim(4, (B, B, BB, B))})
    assert fits(grammar, b"aaaaac", 3)
    assert grammar.rejected_claims == 1


def test_nothing_is_told_of_the_start() -> None:
    """The search at the start has more fuel and is part of the grammar: neither told, nor taken from others."""
    grammar = nest()
    assert grammar.minimum.tokens == 1
    assert grammar.learned() == {}
    grammar.offer({key_after(grammar, b""): Claim(3, (A, C, B))})
    assert grammar.minimum.tokens == 1
    assert grammar.distance(grammar.start) == 1


def test_a_bounded_grammar_tells_nothing() -> None:
    """A bounded grammar's findings hold for the items that it keeps, not for the whole grammar: none is told."""
    bounded = BoundedGrammar(nest(), 1)
    assert fits(bounded, b"aaaac", 2)
    assert bounded.learned() == {}


def viable(grammar: CompiledGrammar, text: bytes, budget: int) -> list[int]:
    """Ids that a step lets in behind a text."""
    return [int(token) for token in np.flatnonzero(grammar.mask(at(grammar, text), budget)) if token != 4]


def test_a_horizon_that_was_told_saves_the_search() -> None:
    """A step behind `aaaac` with two tokens left searches, and finds that `bb` fits and `b` doesn't: one claim."""
    first, second = nest(), nest()
    assert viable(first, b"aaaac", 2) == [BB]
    [(key, claim)] = first.learned().items()
    assert claim == HorizonClaim(1, ((BB, BB),))
    assert first.learned() == {}
    second.offer({key: claim})
    before = second.effort.searches
    assert viable(second, b"aaaac", 2) == [BB]
    assert second.effort.searches == before < first.effort.searches
    assert second.learned() == {}
    assert second.rejected_claims == 0


@pytest.mark.parametrize(
    "ways",
    [
        ((BB,),),
        ((BB, B),),
        ((BB, BB), (BB, BB)),
        ((BB, BB), (B, BB)),
        ((BB, 99),),
        ((BB, -1),),
        ((BB, 4),),
        ((BB, 1 << 40),),
        ((C, BB),),
        ((),),
    ],
    ids=repr,
)
def test_a_horizon_that_does_not_stand_is_searched_anew(ways: tuple[tuple[int, ...], ...]) -> None:
    """Ways that end early, come twice, lead nowhere or to where the rest doesn't fit: counted and passed over."""
    first, grammar = nest(), nest()
    viable(first, b"aaaac", 2)
    [key] = first.learned()
    grammar.offer({key: HorizonClaim(1, ways)})
    assert viable(grammar, b"aaaac", 2) == [BB]
    assert grammar.rejected_claims == 1


def test_findings_reach_and_leave_a_grammar_that_was_begun_anew() -> None:
    """Claims offered to the one or the other are there in the copy, and what the copy finds is told by the first."""
    first = compile_expression(NEST, LETTERS, Limits(memory_bytes=3_000))
    for depth in range(30):
        first.consume_bytes(first.start, b"a" * depth)
    anew = first.renewed()
    assert anew is not first
    assert viable(anew, b"aaaac", 2) == [BB]
    found = first.learned()
    assert list(found.values()) == [HorizonClaim(1, ((BB, BB),))]
    assert anew.learned() == {}
    other = compile_expression(NEST, LETTERS, Limits(memory_bytes=3_000))
    other.offer(found)
    for depth in range(30):
        other.consume_bytes(other.start, b"a" * depth)
    copy = other.renewed()
    before = copy.effort.searches
    assert viable(copy, b"aaaac", 2) == [BB]
    assert copy.effort.searches == before


def test_a_horizon_that_no_search_would_find_can_be_followed_to_the_end() -> None:
    """Ways of several tokens, told to a grammar without fuel to search for them: each step goes on along them."""
    finder, told = nest(), compile_expression(NEST, LETTERS, Limits(step_fuel=0))
    assert viable(finder, b"aaaaaac", 3) == [BB]
    told.offer(finder.learned())
    assert [viable(told, b"aaaaaac" + b"bb" * step, 3 - step) for step in range(3)] == [[BB]] * 3
    assert told.witness(at(told, b"aaaaaacbb"), 2) == (BB, BB)


@st.composite
def bent_horizons(draw: st.DrawFn) -> tuple[Case, int]:
    """A case, and a number that decides how what one process finds is bent for another."""
    return draw(cases()), draw(st.integers(0, 1 << 20))


@given(bent_horizons())
@examples(40)
def test_no_horizon_claim_breaks_the_promise(drawn: tuple[Case, int]) -> None:
    """Whatever is claimed to fit: behind each viable token there are viable ones again, until the text is complete."""
    case, number = drawn
    finder, told = case.compiled(), case.compiled(replace(LITTLE, step_fuel=0))
    if finder is None or told is None:
        return
    texts = [text for text, _ in boundaries(finder, case.longest, 8)]
    for text in texts:
        for budget in range(6):
            finder.mask(finder.consume_bytes(finder.start, text) or 0, budget)
    rng = random.Random(number)
    bent = {}
    for key, claim in finder.learned().items():
        if isinstance(claim, HorizonClaim):
            ways = [(*way[: rng.randint(1, len(way))], *rng.choices(range(len(case.tokens)), k=rng.randrange(2)))
                    if rng.random() < 0.3 else way for way in claim.ways if rng.random() < 0.9]  # fmt: skip
            bent[key] = HorizonClaim(claim.tokens, tuple(ways))
    told.offer(bent)
    for text in texts:
        truth, configuration = case.true_distance.of(text), told.consume_bytes(told.start, text)
        for budget in range(6) if configuration is not None else ():
            assert configuration is not None
            allowed = [token for token in np.flatnonzero(told.mask(configuration, budget)).tolist()
                       if token not in told.vocabulary.stop_ids]  # fmt: skip
            assert not allowed or truth.least <= budget
            for token in allowed:
                after = told.take(configuration, token)
                assert told.accepts(after) or told.mask(after, budget - 1).any()
                assert len(told.witness(after, budget - 1)) < budget
