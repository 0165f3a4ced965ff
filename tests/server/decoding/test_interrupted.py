"""Searches that are ended before their time: every text is complete, in budget, and goes on from what was told."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.decoder import Decoder
from server.decoding.language import AnyText
from server.decoding.parameters import Parameters
from tests.expression_matcher import matches
from tests.server.decoding.stepping import advance
from tests.server.decoding.trials import trials

TRIALS = 400


def interrupted(number: int) -> bool:
    """One trial, judged; whether it was interrupted under way."""
    rng, generator = random.Random(number), np.random.default_rng(number)
    rules = trials.random_grammar(rng)
    try:
        grammar = compile_expression(rules, trials.random_vocabulary(rng), rng.choice(trials.FUELS))
    except EmptyLanguage:
        return False
    parameters = trials.random_parameters(rng, number, grammar.minimum.tokens)
    more, wanted = rng.choice((0, 2, 20)), rng.randint(1, parameters.beam_width)
    parameters = replace(parameters, budget=grammar.minimum.tokens + more, answers=wanted)
    model, steps = rng.choice(trials.MODELS), rng.randint(0, 3)
    decoder = Decoder(grammar, parameters)
    while not decoder.answers and steps:
        steps -= 1
        advance(decoder, trials.random_logits(model, generator, grammar, len(decoder.wanted.places)))
    if decoder.answers:
        return False
    told = decoder.agreed
    best = decoder.best
    decoder.finish_by_witness("shutdown")
    answers = decoder.answers
    assert 1 <= len(answers) <= parameters.answers
    assert len({answer.text for answer in answers}) == len(answers) == len({*answers})
    assert parameters.answers > 1 or answers[0].text.startswith(told)
    for answer in answers:
        assert matches(rules, answer.text)
        assert answer.tokens_used <= parameters.budget
        assert grammar.vocabulary.text(answer.tokens) == answer.text
        assert (answer.complete, answer.finish_reason, answer.interrupted) == (True, "stop", "shutdown")
        assert any(answer.tokens[: len(tokens)] == tokens for tokens in best)
    return True


def test_random_searches_are_completed() -> None:
    """Random grammars, vocabularies, budgets, models and places to stop; single texts, draws, and all of n beams."""
    assert sum(map(interrupted, range(TRIALS))) > TRIALS // 10


@pytest.mark.parametrize("width", [1, 3])
def test_plain_text_is_cut_and_says_so(width: int) -> None:
    """Plain text that was told is kept, and nothing is added to it."""
    language = AnyText(Vocabulary([b"a", b"b", None], [2]))
    decoder = Decoder(language, Parameters(budget=9, beam_width=width))
    for _ in range(3):
        advance(decoder, np.array([[3.0, 1.0, -9.0]] * len(decoder.wanted.places), np.float32))
    told = decoder.agreed
    decoder.finish_by_witness("shutdown")
    [answer] = decoder.answers
    assert answer.text.startswith(told) and len(answer.tokens) == 3
    assert (answer.complete, answer.finish_reason, answer.interrupted) == (False, "length", "shutdown")
