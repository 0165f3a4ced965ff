"""Answers are complete and within their budgets where a grammar's configurations are at their limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from itertools import product

import pytest

from grammar_cache import Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.errors import LimitExceeded
from grammar_cache.grammar import CompiledGrammar
from server.backends.backend import State, Work
from server.backends.loop import EngineLoop
from server.decoding.answer import Answer
from server.decoding.parameters import Parameters
from tests.server.decoding.trials import capped_trials
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import seeded

PALINDROMES = 'root ::= "a" root "a" | "b" root "b" | "c" root "c" | ""'
VOCABULARY = Vocabulary([b"a", b"b", b"c", b"ab", b"ba", b"cc", b"abc", b"cba", None], [8])

Trial = Callable[[int], tuple[list[str], bool] | None]


def wrong(trial: Trial, numbers: range) -> tuple[dict[int, list[str]], int]:
    """Faults by number, and how many trials met the limit."""
    tried = {number: found for number in numbers if (found := trial(number)) is not None}
    return {number: faults for number, (faults, _) in tried.items() if faults}, sum(full for _, full in tried.values())


def test_answers_at_the_limit_are_complete_and_within_budget() -> None:
    """Several requests share a random grammar that has no room left, or little; brute force judges."""
    found, at_limit = wrong(capped_trials.run, range(400))
    assert found == {}
    assert at_limit > 50


def test_answers_of_lark_grammars_at_the_limit() -> None:
    """Answers of grammars with a lexer end complete at the limit, judged by Lark."""
    found, at_limit = wrong(capped_trials.run_lexed, range(60))
    assert found == {}
    assert at_limit > 10


@pytest.mark.full
def test_ten_thousand_trials_at_the_limit() -> None:
    """Runs the quick test until thousands have met the limit."""
    plain, at_limit = wrong(capped_trials.run, range(400, 40_400))
    lexed, lexed_at_limit = wrong(capped_trials.run_lexed, range(60, 1_200))
    assert plain == lexed == {}
    assert at_limit + lexed_at_limit > 5_000


def palindromes(configurations: int) -> CompiledGrammar:
    return compile_grammar(Constraint("gbnf", PALINDROMES), VOCABULARY, Limits(configurations=configurations))


def fill(grammar: CompiledGrammar) -> None:
    """Fills the grammar until there is no room."""
    with suppress(LimitExceeded):
        for half in product(b"abc", repeat=9):
            grammar.consume_bytes(grammar.start, bytes(half))
    assert grammar.full


def is_palindrome(text: bytes) -> bool:
    return text == text[::-1] and len(text) % 2 == 0 and set(text) <= set(b"abc")


@pytest.mark.parametrize("beams", [1, 3])
def test_palindromes_at_the_limit(beams: int) -> None:
    """Every half has configurations of its own: soon there is no room, and each answer is completed by its witness.

    Requests that begin when there is none are answered too.
    """
    grammar = palindromes(3_000)
    works = [
        Work((1, number), grammar, Parameters(120, beams, beams, temperature=0.7, seed=number)) for number in range(8)
    ]
    answers = asyncio.run(_answers(works))
    fill(grammar)
    assert len(answers) >= len(works)
    for answer in answers:
        assert is_palindrome(answer.text) and answer.complete and answer.tokens_used <= 120
    assert any(answer.text for answer in answers)


def test_a_witness_makes_one_configuration_a_byte() -> None:
    """Beyond the limit nothing else is made, so the room that answers need there is known."""
    grammar = palindromes(3_000)
    configuration, text = grammar.start, b"abcbacbbac" * 6
    fill(grammar)
    before = grammar.size["configurations"]
    for token in text:
        configuration = grammar.take(configuration, b"abc".index(token))
    assert before < grammar.size["configurations"] <= before + len(text)
    witness = grammar.witness(configuration)
    assert VOCABULARY.text(witness) == text[::-1]
    assert grammar.size["configurations"] <= before + 2 * len(text)


def test_a_grammar_begun_anew_answers_the_same() -> None:
    """A grammar begun anew has room again, and everything that decoding uses comes out as before."""
    grammar = palindromes(200_000)
    anew = grammar.anew()
    assert (anew.minimum, anew.ignored, anew.full) == (grammar.minimum, grammar.ignored, False)
    for text in (b"", b"a", b"abc", b"abccb"):
        old, new = (one.consume_bytes(one.start, text) for one in (grammar, anew))
        assert old is not None and new is not None
        assert grammar.distance(old) == anew.distance(new)
        assert (grammar.mask(old, 5) == anew.mask(new, 5)).all()
        assert grammar.witness(old) == anew.witness(new)


async def _answers(works: list[Work]) -> list[Answer]:
    loop = EngineLoop(ScriptedEngine(VOCABULARY, seeded(VOCABULARY.size, seed=5)))
    loop.start()
    try:
        while loop.state is not State.READY:
            await asyncio.sleep(0.01)
        found = await asyncio.gather(*(_events(loop, work) for work in works[:-2]))
        found += await asyncio.gather(*(_events(loop, work) for work in works[-2:]))
    finally:
        await asyncio.to_thread(loop.stop)
    return [event for events in found for event in events if isinstance(event, Answer)]


async def _events(loop: EngineLoop, work: Work) -> list[object]:
    async with aclosing(loop.run(work)) as running:
        return [event async for event in running]
