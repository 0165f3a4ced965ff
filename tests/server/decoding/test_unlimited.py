"""Answers that the budget changed: false is never wrong, by the same request with a budget that forces nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from grammar_cache.compile import compile_expression, compile_grammar
from grammar_cache.constraint import Constraint
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, Bytes, Grammar, Repeat, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.backends.backend import Work
from server.backends.request import Decoding
from server.decoding.answer import Answer
from server.decoding.decoder import Decoder
from server.decoding.forced_text import ForcedText
from server.decoding.language import AnyText, Language
from server.decoding.parameters import UNLIMITED, Parameters, Penalties, Promotion, Ranking, Softmax
from server.decoding.step import steps
from tests.server.decoding.grammars import LETTERS, compiled, longest_match
from tests.server.decoding.trials.trials import random_grammar, random_vocabulary

Model = Callable[[tuple[int, ...]], NDArray[np.float32]]
LONGEST = 60
"""Tokens after which a model wants to end, so that texts without a budget do."""


def decoded(language: Language, parameters: Parameters, model: Model, most: int = 1 << 20) -> tuple[Answer, ...]:
    """The answers, or none if they take more steps."""
    decoding = Decoding(Work((), language, parameters), AnyText(language.vocabulary))
    for _ in range(most):
        if answers := decoding.answers:
            return answers
        decoding.step(np.stack([model(prefix) for prefix in decoding.decoder.prefixes]))
    return ()


def seeded_model(seed: int, language: CompiledGrammar, spread: float) -> Model:
    stops = list(language.vocabulary.stop_ids)

    def model(prefix: tuple[int, ...]) -> NDArray[np.float32]:
        generator = np.random.default_rng([seed, *prefix])
        logits = generator.normal(scale=spread, size=language.vocabulary.size).round(1).astype(np.float32)
        logits[stops] += 30.0 if len(prefix) > LONGEST else 1.0
        return logits

    return model


def random_parameters(rng: random.Random, minimum: int) -> Parameters:
    width = rng.choice((1, 1, 2, 3))
    return Parameters(
        budget=minimum + rng.choice((0, 1, 2, 4, 8, 20)),
        beam_width=width,
        answers=rng.randint(1, width),
        alpha=rng.choice((0.0, 0.5)),
        candidates=rng.choice((1, 3, 64)),
        temperature=rng.choice((0.0, 1.0)),
        top_p=rng.choice((1.0, 0.8)),
        top_k=rng.choice((0, 0, 3)),
        min_p=rng.choice((0.0, 0.0, 0.3)),
        min_tokens=rng.choice((0, 0, 2)),
        penalties=Penalties(frequency=rng.choice((0.0, 0.0, 1.5)), bias=rng.choice(((), ((0, 2.0),)))),
        seed=rng.randrange(1 << 32),
        jump_forward=rng.choice((True, False)),
        promotion=rng.choice(get_args(Promotion)),
        softmax=rng.choice(get_args(Softmax)),
        ranking=rng.choice(get_args(Ranking)),
        keep_greedy=rng.choice((True, False)),
        epsilon=rng.choice((0.0, 0.01, 0.3)),
    )


def trial(number: int) -> tuple[int, int, int]:
    """Counts of false that is wrong, of false, and of true where the text is the same."""
    rng = random.Random(number)
    grammar, vocabulary = random_grammar(rng), random_vocabulary(rng)
    try:
        made = compile_expression(grammar, vocabulary, Limits())
    except EmptyLanguage:
        return 0, 0, 0
    parameters = random_parameters(rng, made.minimum.tokens)
    language = ForcedText(made, longest_match(vocabulary)) if rng.random() < 0.3 else made
    if isinstance(language, ForcedText):
        parameters = replace(parameters, jump_forward="text")
    model = seeded_model(number, made, rng.choice((0.5, 3.0)))
    answers = decoded(language, parameters, model)
    free = decoded(language, replace(parameters, budget=UNLIMITED), model, 2 * LONGEST)
    texts = [answer.text for answer in free] + [None] * len(answers)
    same = [answer.text == text for answer, text in zip(answers, texts, strict=False)]
    told = [answer.budget_affected for answer in answers]
    assert None not in told
    pairs = list(zip(told, same, strict=True))
    return pairs.count((False, False)), told.count(False), pairs.count((True, True))


def counted(numbers: range) -> tuple[int, int, int]:
    wrong, kept, needless = (sum(column) for column in zip(*map(trial, numbers), strict=True))
    return wrong, kept, needless


def test_false_is_never_wrong() -> None:
    """Random grammars, vocabularies, budgets, models and ways to decode, ties among logits included."""
    wrong, kept, needless = counted(range(500))
    assert wrong == 0
    assert kept > 100
    assert needless < kept


@pytest.mark.full
def test_false_is_never_wrong_in_thousands_of_answers() -> None:
    """Runs the quick test for 5,000 grammars more."""
    wrong, kept, _ = counted(range(500, 5_500))
    assert wrong == 0
    assert kept > 1_000


PAIRS = compiled(
    Grammar({"root": Alt((Bytes(b"b"), Seq((Bytes(b"a"), Repeat(Bytes(b"a"), 2, None)))))}, "root"),
    Vocabulary([b"a", b"b", b"c", None], [3]),
)
"""`b`, or three or more of `a`."""


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize(("budget", "text", "affected"), [(1, b"b", True), (2, b"b", True), (9, b"aaa", False)])
def test_what_the_budget_keeps_out(width: int, budget: int, text: bytes, affected: bool) -> None:
    """A model that would write three `a` and end, and may not in one or two tokens."""
    row = {0: [9, 0, 0, 0], 1: [9, 0, 0, 0], 2: [9, 0, 0, 0]}

    def model(prefix: tuple[int, ...]) -> NDArray[np.float32]:
        return np.array(row.get(len(prefix), [0, 0, 0, 9]), np.float32)

    [answer] = decoded(PAIRS, Parameters(budget, beam_width=width), model)
    assert (answer.text, answer.budget_affected) == (text, affected)
    assert bool(answer.forced_at) == (affected and width == 1) or width > 1
    assert answer.budget_forced_tokens == len(answer.forced_at)


def test_the_end_of_the_budget_is_an_end_that_it_chose() -> None:
    """A complete text that might go on, with no token left, may have been longer; one that ended may not."""
    grammar = compiled(LETTERS, Vocabulary([b"a", b"b", None], [2]))
    always_a = lambda prefix: np.array([9.0, 0, 0 if len(prefix) < 3 else 99.0], np.float32)
    for budget, affected in ((2, True), (3, True), (4, False), (9, False)):
        [answer] = decoded(grammar, Parameters(budget), always_a)
        assert (answer.text, answer.budget_affected) == (b"a" * min(budget, 3), affected)


def test_plain_text_that_the_budget_cuts() -> None:
    """Plain text that the budget cuts says that it was changed."""
    language = AnyText(Vocabulary([b"a", None], [1]))
    for budget, affected in ((2, True), (4, False)):
        decoding = Decoding(Work((), None, Parameters(budget)), language)
        while not decoding.answers:
            [prefix] = decoding.decoder.prefixes
            decoding.step(np.array([[0.0, 9.0 if len(prefix) == 3 else -9.0]], np.float32))
        assert decoding.answers[0].budget_affected is affected


def test_texts_that_the_search_lacked_promise_nothing_beside_what_was_left_behind() -> None:
    """A search that a budget keeps small fills up with a text that it never scored; without a budget there is a better
    one, of which the search knows no more than that it was left behind.
    """
    spelled = [b"x", b"y", b"z", b"yz", b"b", b"d", b"e", b"c", b"cc"]
    text = 'root ::= "xyz" | "b" [de] [de] [de] [de] [de] | "c"'
    grammar = compile_grammar(Constraint("gbnf", text), Vocabulary([*spelled, None], [9]))
    row = np.array([5, 4, 3, 2, 1, 1, 1, -1, -9, 0], np.float32)
    fields: dict[str, Any] = {"beam_width": 2, "answers": 2, "keep_greedy": True, "epsilon": 0.001}
    short, free = (decoded(grammar, Parameters(budget, **fields), lambda _: row) for budget in (3, 60))
    for ours, theirs in zip(short, free, strict=True):
        assert ours.budget_affected or ours.text == theirs.text


def test_plain_beams_behind_one_that_the_budget_cuts() -> None:
    """A text that it would have become may stand before those behind it; what stands before it stays there."""
    language = AnyText(Vocabulary([b"a", b"b", b"c", None], [3]))
    shares = ([0.85, 0.01, 0.01, 0.13], [0.01, 0.49, 0.49, 0.01], [0.001, 0.001, 0.001, 0.997])

    def answers(budget: int, first: list[float]) -> list[tuple[bytes, bool | None]]:
        decoder = Decoder(language, Parameters(budget, beam_width=2, answers=2))
        while not decoder.answers:
            rows = [(first, *shares[1:])[min(len(prefix), 2)] for prefix in decoder.prefixes]
            logits = np.log(np.array(rows, np.float32))
            decoder.advance(steps(language, decoder.wanted.places, logits, decoder.parameters))
        return [(answer.text, answer.budget_affected) for answer in decoder.answers]

    assert answers(1, shares[0]) == [(b"a", True), (b"", True)]
    assert [text for text, _ in answers(9, shares[0])] == [b"ab", b"ac"]
    assert answers(1, [0.13, 0.01, 0.01, 0.85]) == [(b"", False), (b"a", True)]


def test_interrupted_answers_promise_nothing() -> None:
    """Interrupted answers promise nothing: what they would have become isn't known."""
    decoding = Decoding(Work((), PAIRS, Parameters(9)), AnyText(PAIRS.vocabulary))
    decoding.finish_by_witness("shutdown")
    assert decoding.answers[0].budget_affected is None
