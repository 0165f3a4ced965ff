"""Several answers of one search are several texts, as many as the language has within the budget."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, Bytes, Grammar
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.answer import Answer
from server.decoding.decoder import Decoder
from server.decoding.forced_text import ForcedText
from server.decoding.parameters import Jump, Parameters
from tests.expression_matcher import matches
from tests.server.decoding.grammars import compiled, longest_match
from tests.server.decoding.stepping import advance
from tests.server.decoding.trials.trials import MODELS, random_grammar, random_logits, random_vocabulary

JUMPS: tuple[Jump, ...] = (False, True, "text")
MOST_TEXTS = 400
"""Texts of any kind within a budget, above which a trial is left out: each is judged by brute force."""


@dataclass(frozen=True, slots=True)
class Search:
    """Result of a search: its answers, and what its beams agreed on from step to step."""

    answers: tuple[Answer, ...]
    agreed: tuple[bytes, ...]


def search(grammar: CompiledGrammar, parameters: Parameters, model: Callable[[int], np.ndarray]) -> Search:
    """`model`: logits of so many rows."""
    texts = parameters.jump_forward == "text"
    decoder = Decoder(ForcedText(grammar, longest_match(grammar.vocabulary)) if texts else grammar, parameters)
    agreed = [decoder.agreed]
    while not decoder.answers:
        advance(decoder, model(len(decoder.wanted.parents)))
        agreed.append(decoder.agreed)
    return Search(decoder.answers, tuple(agreed))


def texts_within(grammar: Grammar, vocabulary: Vocabulary, budget: int) -> frozenset[bytes] | None:
    """All texts of the language that so many tokens spell; None if there are too many texts to look at."""
    tokens = {data for data in vocabulary.token_bytes if data}
    met, last = {b""}, {b""}
    for _ in range(budget):
        last = {text + token for text in last for token in tokens} - met
        met |= last
        if len(met) > MOST_TEXTS:
            return None
    return frozenset(text for text in met if matches(grammar, text))


def faults(number: int, jump: Jump) -> list[str] | None:
    """Faults of one trial; None where the language is empty, or too large."""
    rng, logits = random.Random(number), np.random.default_rng(number)
    grammar, vocabulary = random_grammar(rng), random_vocabulary(rng)
    try:
        compiled_grammar = compile_expression(grammar, vocabulary, Limits())
    except EmptyLanguage:
        return None
    budget = compiled_grammar.minimum.tokens + rng.choice((0, 1, 2))
    texts = texts_within(grammar, vocabulary, budget)
    if texts is None:
        return None
    beams, model = rng.choice((2, 3, 4)), rng.choice(MODELS)
    parameters = Parameters(budget, beams, beams, seed=number, jump_forward=jump)
    found = search(compiled_grammar, parameters, lambda rows: random_logits(model, logits, compiled_grammar, rows))
    answers = [answer.text for answer in found.answers]
    wrong = ["equal answers"] if len(set(answers)) < len(answers) else []
    wrong += [] if texts.issuperset(answers) else ["not a text of the language within the budget"]
    wrong += [] if len(answers) == min(beams, len(texts)) else [f"{len(answers)} of {len(texts)} texts, not {beams}"]
    streamed = all(answers[0].startswith(agreed) for agreed in found.agreed)
    return wrong + ([] if streamed else ["text was taken back"])


def wrong(numbers: range) -> tuple[dict[tuple[int, Jump], list[str]], int]:
    found = {(number, jump): faults(number, jump) for number in numbers for jump in JUMPS}
    tried = {trial: wrong for trial, wrong in found.items() if wrong is not None}
    return {trial: wrong for trial, wrong in tried.items() if wrong}, len(tried)


def test_answers_are_distinct_and_as_many_as_there_are() -> None:
    """The n answers on random grammars are distinct, for every way to jump, or all texts that brute force finds within
    the budget.
    """
    found, tried = wrong(range(500))
    assert found == {}
    assert tried > 500


@pytest.mark.full
def test_ten_thousand_searches_yield_distinct_answers() -> None:
    """Runs the quick test on 9,500 grammars more."""
    found, tried = wrong(range(500, 10_000))
    assert found == {}
    assert tried > 10_000


@pytest.mark.parametrize("jump", JUMPS)
def test_what_has_no_alternative_makes_no_answers_equal(jump: Jump) -> None:
    """`abb` is one token, and what must follow `a` and then `b`'s token `bb` where no other token fits."""
    words = Alt((Bytes(b"ab"), Bytes(b"abb"), Bytes(b"aba")))
    grammar = compiled(Grammar({"root": words}, "root"), Vocabulary([b"ab", b"a", b"abb", b"bb", None], [4]))
    likes = np.array([0, 2, 2, 2, -9], np.float32)  # of ab, a, abb, bb and the end
    found = search(grammar, Parameters(4, 2, 2, jump_forward=jump), lambda rows: np.tile(likes, (rows, 1)))
    texts = [answer.text for answer in found.answers]
    assert len(set(texts)) == 2 and {b"ab", b"abb", b"aba"}.issuperset(texts)


def test_beams_are_not_spent_on_one_text_twice() -> None:
    """Two tokens that come to the same text by what must follow leave a beam for another text."""
    words = Alt((Bytes(b"abb"), Bytes(b"cc"), Bytes(b"cd")))
    vocabulary = Vocabulary([b"abb", b"ab", b"b", b"c", b"d", None], [5])
    decoder = Decoder(compiled(Grammar({"root": words}, "root"), vocabulary), Parameters(9, beam_width=2))
    advance(decoder, np.array([[3, 2, 0, 1, 0, -9]], np.float32))
    assert [len(decoder.wanted.tokens), decoder.wanted.tokens[0]] == [1, (3,)]


def test_a_wide_search_that_all_spells_one_text_finds_the_others() -> None:
    """A text is found without the only one that the model likes, which both beams begin."""
    words = Alt((Bytes(b"abc"), Bytes(b"x")))
    vocabulary = Vocabulary([b"a", b"ab", b"bc", b"c", b"b", b"x", None], [6])
    grammar = compiled(Grammar({"root": words}, "root"), vocabulary)
    likes = np.array([2, 2, 1, 1, 1, -9, 0], np.float32)
    found = search(grammar, Parameters(3, 2, 2, jump_forward=False), lambda rows: np.tile(likes, (rows, 1)))
    assert [answer.text for answer in found.answers] == [b"abc", b"x"]
    assert all(answer.complete and answer.tokens_used <= 3 for answer in found.answers)
