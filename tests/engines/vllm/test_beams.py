"""Beams whose rows come back through the filter as log-probabilities: the same search."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch

from grammar_cache.errors import EmptyLanguage
from grammar_cache.grammar import CompiledGrammar, compile_expression
from grammar_cache.vocabulary import Vocabulary
from server.decoding.answer import Answer
from server.decoding.candidates import Place
from server.decoding.decoder import Decoder
from server.decoding.logits import ArrayRow
from server.decoding.parameters import Parameters, Promotion
from server.decoding.step import Successors, step
from server.engines.vllm.beams import log_probabilities_of, spare_token, successors_of
from server.engines.vllm.guide import Entry, Guide
from server.engines.vllm.history import History
from server.engines.vllm.registry import Registry
from server.engines.vllm.requests import RowRequest
from server.engines.vllm.row import GuidedRow
from tests.decoding.grammars import LETTERS, compiled
from tests.decoding.stepping import advance
from tests.decoding.trials import FUELS, MODELS, random_grammar, random_logits, random_parameters, random_vocabulary
from tests.expression_matcher import matches


def answered(logits: torch.Tensor, wanted: list[int]) -> list[dict[int, float]]:
    """What vLLM tells of processed rows: the best log-probabilities and that of the token it would sample."""
    found = []
    for row, count in zip(logits.log_softmax(dim=-1, dtype=torch.float32), wanted, strict=True):
        values, tokens = row.topk(min(count, len(row)))
        found.append(dict(zip(tokens.tolist(), values.tolist(), strict=True)))
        found[-1][int(row.argmax())] = float(row.max())
    return found


class Beams:
    """Rows of one request in a worker, and their way back."""

    def __init__(self, grammar: CompiledGrammar, parameters: Parameters) -> None:
        self.registry = Registry(grammar.vocabulary)
        self.registry.add("g", grammar)
        self.guide = Guide(self.registry)
        self.request = RowRequest.of("r", "g", 0, parameters)

    def steps(self, decoder: Decoder, texts: list[list[int]], logits: np.ndarray) -> list[Successors]:
        rows = [GuidedRow(self.request, self.registry, History(self.registry.ends)) for _ in texts]
        batch = [Entry(at, row, text) for at, (row, text) in enumerate(zip(rows, texts, strict=True))]
        found = self.guide.apply(torch.from_numpy(logits.copy()), batch)
        places = decoder.wanted.places
        counts = [log_probabilities_of(decoder.language, place, decoder.parameters) for place in places]
        return [
            successors_of(decoder.language, place, told, decoder.parameters)
            for place, told in zip(places, answered(found, counts), strict=True)
        ]


def search(grammar: CompiledGrammar, parameters: Parameters, number: int, model: str, *, coarse: bool) -> list[Answer]:
    """The answer of the direct way, and that of rows that travel."""
    found = []
    for far in (False, True):
        decoder, logits = Decoder(grammar, parameters), np.random.default_rng(number)
        beams, texts = Beams(grammar, parameters), [list[int]()]
        while decoder.answer is None:
            wanted = decoder.wanted
            texts = [[*texts[p], *t] for p, t in zip(wanted.parents, wanted.tokens, strict=True)]
            rows = random_logits(model, logits, grammar, len(texts))
            rows = np.round(rows * 8) / 8 if coarse else rows
            if far:
                decoder.advance(beams.steps(decoder, texts, rows))
            else:
                advance(decoder, rows)
        found.append(decoder.answer)
        assert beams.registry.collect("r").failure is None
    return found


def trial(number: int, models: tuple[str, ...], *, coarse: bool) -> tuple[list[Answer], Parameters] | None:
    rng = random.Random(number)
    expression, vocabulary = random_grammar(rng), random_vocabulary(rng)
    try:
        grammar = compile_expression(expression, vocabulary, rng.choice(FUELS))
    except EmptyLanguage:
        return None
    parameters = random_parameters(rng, number, grammar.minimum.tokens)
    parameters = replace(parameters, beam_width=rng.choice((2, 3, 4)))
    if parameters.needs_model_scores and spare_token(vocabulary) is None:
        return None
    answers = search(grammar, parameters, number, rng.choice(models), coarse=coarse)
    for answer in answers:
        assert matches(expression, answer.text)
        assert answer.tokens_used <= parameters.budget
        assert answer.complete
    return answers, parameters


WORTH: dict[str, Callable[[Answer], float]] = {
    "sum": lambda answer: answer.score,
    "normalised": lambda answer: answer.score / answer.tokens_used,
    "model": lambda answer: float("nan"),  # an answer doesn't tell it: so texts must not differ
}


def differing(numbers: range) -> tuple[int, int, list[int]]:
    """How many trials there are, in how many of them texts differ, and in which of these it is no tie."""
    trials, differ, wrong = 0, 0, []
    for number in numbers:
        made = trial(number, ("uniform", "random"), coarse=True)
        if made is None:
            continue
        (direct, far), parameters = made
        trials += 1
        if direct.text != far.text:
            differ += 1
            one, other = (WORTH[parameters.ranking](answer) for answer in (direct, far))
            if not abs(one - other) < 1e-4:
                wrong.append(number)
        else:
            assert far.score == pytest.approx(direct.score, abs=1e-3)
            assert far.budget_forced_tokens == direct.budget_forced_tokens
    return trials, differ, wrong


def test_rows_that_travel_give_the_same_answers():
    """Texts, scores and forced tokens; where texts differ, they are worth the same to float32's precision."""
    trials, differ, wrong = differing(range(500))
    assert trials > 200
    assert wrong == []
    assert differ < 0.02 * trials


@pytest.mark.full
def test_many_rows_that_travel_give_the_same_answers():
    trials, differ, wrong = differing(range(500, 8_000))
    assert (trials > 3_000, wrong) == (True, [])
    assert differ < 0.02 * trials


def test_whatever_the_model_says_beams_end_well():
    """Hostile logits, infinite ones and NaN: complete and within the budget on the way that travels too."""
    assert sum(trial(number, MODELS, coarse=False) is not None for number in range(300)) > 120


LETTER_GRAMMAR = compiled(LETTERS, Vocabulary([b"a", b"b", None, None], [2]))


@pytest.mark.parametrize("promotion", get_args(Promotion))
@pytest.mark.parametrize("left", [1, 2, 9])
def test_one_step_there_and_back(promotion: Promotion, left: int):
    """Order, tokens and scores, also at zero slack, where guided scores tie and the viable ones decide."""
    parameters = Parameters(left + 1, 2, alpha=0.3, seed=0, promotion=promotion, softmax="vocabulary", ranking="model")
    configuration = LETTER_GRAMMAR.consume(LETTER_GRAMMAR.start, 0)
    assert configuration is not None
    place = Place(configuration, left)
    for logits in ([0.5, 2.0, -1.0, 3.0], [2.0, 0.5, 4.0, 1.0], [1.0, 1.0, 1.0, 1.0]):
        row, beams = np.array(logits, np.float32), Beams(LETTER_GRAMMAR, parameters)
        direct = step(LETTER_GRAMMAR, place, ArrayRow(row), parameters)
        guided = GuidedRow(beams.request, beams.registry, History(beams.registry.ends))
        found = beams.guide.apply(torch.from_numpy(row[None].copy()), [Entry(0, guided, [0])])
        [told] = answered(found, [log_probabilities_of(LETTER_GRAMMAR, place, parameters)])
        far = successors_of(LETTER_GRAMMAR, place, told, parameters)
        assert far.forced == direct.forced
        assert [way[:2] for way in far.ranked] == [way[:2] for way in direct.ranked]
        for one, other in zip(far.ranked, direct.ranked, strict=True):
            assert one.scores == pytest.approx(other.scores, abs=1e-5)


def test_scores_of_the_model_need_a_token_that_no_text_has():
    """Where a vocabulary has none, they are refused before the model runs."""
    full = Vocabulary([b"a", b"b", None], [2])
    assert spare_token(full) is None
    assert spare_token(LETTER_GRAMMAR.vocabulary) == 3
    grammar = compiled(LETTERS, full)
    place = Place(grammar.start, 5)
    assert log_probabilities_of(grammar, place, Parameters(5, beam_width=2)) >= 64 + 3
    with pytest.raises(ValueError, match="no text has"):
        log_probabilities_of(grammar, place, Parameters(5, beam_width=2, ranking="model"))
