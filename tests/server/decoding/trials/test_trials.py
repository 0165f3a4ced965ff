"""The promise as a whole, on random grammars, vocabularies, budgets and models."""

import numpy as np
import pytest

from grammar_cache.compile import compile_expression
from grammar_cache.distances.additive import INFINITE
from grammar_cache.expression import Bytes, Grammar, Ref, Repeat, Seq
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from tests.server.decoding.trials import lexed_trials
from tests.server.decoding.trials.trials import faults, run


def wrong(numbers: range) -> tuple[dict[int, list[str]], int]:
    found, answered = {}, 0
    for number in numbers:
        trial = run(number)
        if trial is not None:
            answered += 1
            if faults(trial):
                found[number] = faults(trial)
    return found, answered


def test_every_answer_is_complete_and_within_budget() -> None:
    """Whatever the model says, the answer belongs to the language (judged by brute force) and fits the budget."""
    found, answered = wrong(range(1_500))
    assert found == {}
    assert answered > 750


@pytest.mark.full
def test_many_thousand_answers_are_complete_and_within_budget() -> None:
    """Runs the quick test for 11,500 answers and more."""
    found, answered = wrong(range(1_500, 20_000))
    assert found == {}
    assert answered > 11_500


def lexed(numbers: range) -> tuple[dict[int, list[str]], int]:
    found = {number: lexed_trials.run(number) for number in numbers}
    answered = {number: wrong for number, wrong in found.items() if wrong is not None}
    return {number: wrong for number, wrong in answered.items() if wrong}, len(answered)


def test_every_answer_of_a_lark_grammar_is_complete_and_within_budget() -> None:
    """Answers of grammars with a lexer are complete, in both modes, judged by Lark."""
    found, answered = lexed(range(100))
    assert found == {}
    assert answered > 40


@pytest.mark.full
def test_hundreds_of_answers_of_lark_grammars() -> None:
    """Runs the quick test for 1,100 grammars more."""
    found, answered = lexed(range(100, 1_200))
    assert found == {}
    assert answered > 440


def test_without_fuel_distances_are_additive() -> None:
    """The ablation of tightening is a limit: `]]` closes two lists, which only a search finds out."""
    lists = Grammar({"root": Seq((Bytes(b"["), Repeat(Ref("root"), 0, None), Bytes(b"]")))}, "root")
    vocabulary = Vocabulary([b"[", b"]", b"]]"], [])
    found = []
    for limits in (Limits(), Limits(start_fuel=0, step_fuel=0)):
        grammar = compile_expression(lists, vocabulary, limits)
        configuration = grammar.consume_bytes(grammar.start, b"[[[[")
        assert configuration is not None
        found.append(
            [int(grammar.distances(np.array([configuration], np.int32), tokens)[0]) for tokens in (4, 3, 2, 1)]
        )
    assert found == [[4, 2, 2, INFINITE], [4, INFINITE, INFINITE, INFINITE]]
