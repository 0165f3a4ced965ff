"""The conformance kit: the cursor passes it, and hosts that break a law are found out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from grammar_cache import compile_grammar
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.hosts.conformance.cases import CASES, ConformanceCase, small_vocabulary
from grammar_cache.hosts.conformance.hostile_scores import HOSTILE
from grammar_cache.hosts.conformance.laws import ConformanceError, check_answers, check_place
from grammar_cache.hosts.cursor import Cursor
from grammar_cache.vocabulary.token_set import Bits
from tests.grammar_cache.hosts.generating import generated

VOCABULARY = small_vocabulary()
OBJECT = next(case for case in CASES if "additionalProperties" in case.constraint.text)


def few_models(number: int) -> list[str]:
    """Two of the models for each case, so that each is used with many."""
    names = list(HOSTILE)
    return [names[number % len(names)], names[(3 * number + 1) % len(names)]]


def test_there_are_fifty_two_cases() -> None:
    """Fifty-two constraints, all different, of all dialects."""
    assert len({case.constraint for case in CASES}) == 52
    assert {case.constraint.kind for case in CASES} == {"json_schema", "regex", "choice", "lark", "gbnf"}


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_cursor_passes(number: int) -> None:
    """A cursor keeps the laws of places and answers in each case."""
    case = CASES[number]
    grammar = compile_grammar(case.constraint, VOCABULARY)
    assert check_place(grammar, Cursor) >= 4
    assert check_answers(case, grammar, generated, few_models(number)) == 8


@pytest.mark.full
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.constraint.text[:30])
def test_the_cursor_passes_with_every_model(case: ConformanceCase) -> None:
    """Runs the quick test with all models, and along more answers."""
    grammar = compile_grammar(case.constraint, VOCABULARY)
    for seed in range(5):
        check_place(grammar, Cursor, seed)
    check_answers(case, grammar, generated)


class Unbounded(Cursor):
    """A host that knows no budget."""

    def bitmask(self) -> Bits:
        return self._grammar.bitmask(self._path[-1])


class Forgetful(Cursor):
    """A host that takes one token too few back."""

    def rollback(self, count: int) -> None:
        super().rollback(max(0, count - 1))


class Shared(Cursor):
    """A host whose forks are itself."""

    def fork(self) -> Cursor:
        return self


class Credulous(Cursor):
    """A host that accepts whatever its grammar has, whether it fits or not."""

    def allows(self, token: int) -> bool:
        return self._grammar.consume(self._path[-1], token) is not None or super().allows(token)


class Generous(Cursor):
    """A host that begins whatever it's asked for."""

    def __init__(self, grammar: CompiledGrammar, budget: int) -> None:
        super().__init__(grammar, max(budget, grammar.minimum.tokens))


class Draftless(Cursor):
    """A host that asks for the masks of all drafts as if none were there."""

    @property
    def tokens_left(self) -> int:
        return self.budget


@pytest.mark.parametrize("broken", [Unbounded, Forgetful, Shared, Credulous, Generous, Draftless])
def test_a_broken_place_is_found_out(broken: type[Cursor]) -> None:
    """A host that breaks one law doesn't pass."""
    grammar = compile_grammar(OBJECT.constraint, VOCABULARY)
    with pytest.raises(ConformanceError):
        check_place(grammar, broken)


def cut(grammar: CompiledGrammar, budget: int, model: Callable[..., np.ndarray]) -> list[int]:
    return list(generated(grammar, budget, model))[:-2]


def padded(grammar: CompiledGrammar, budget: int, model: Callable[..., np.ndarray]) -> list[int]:
    return [*generated(grammar, budget, model), 0, 1 + ord(" ")]


def unasked(grammar: CompiledGrammar, budget: int, model: Callable[..., np.ndarray]) -> list[int]:
    return list(generated(grammar, max(budget, grammar.minimum.tokens), model))


@pytest.mark.parametrize("broken", [cut, padded, unasked])
def test_a_broken_answer_is_found_out(broken: Callable[..., list[int]]) -> None:
    """A host whose answers are cut, go on behind their end, or are given where none fits, doesn't pass."""
    grammar = compile_grammar(OBJECT.constraint, VOCABULARY)
    with pytest.raises(ConformanceError):
        check_answers(OBJECT, grammar, broken, ["by chance"])


def test_judges_tell_words_from_others() -> None:
    """Each case's judge knows some complete text, and refuses that text with a byte of no language behind it."""
    for case in CASES:
        grammar = compile_grammar(case.constraint, VOCABULARY)
        text = VOCABULARY.text(grammar.witness(grammar.start)).decode()
        assert case.judge(text) and not case.judge(text + "\x01")
