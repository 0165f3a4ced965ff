"""Sampling is exact: the model's distribution, restricted to what is viable."""

import numpy as np
import pytest

from grammar_cache.expression import Alt, Bytes, Grammar
from grammar_cache.vocabulary import Vocabulary
from server.decoding.parameters import Parameters
from server.decoding.sampling import draw
from server.decoding.scoring import guided, log_softmax
from tests.decoding.grammars import compiled

LOGITS = np.array([2.0, 1.0, 0.5, 0.0, -1.0, 3.0])
GRAMMAR = compiled(
    Grammar({"root": Alt(tuple(Bytes(b) for b in (b"b", b"c", b"dd", b"e")))}, "root"),
    Vocabulary([b"a", b"b", b"c", b"d", b"e", None], [5]),
)


def frequencies(parameters: Parameters, tokens_left: int) -> np.ndarray:
    random = np.random.default_rng(0)
    draws = [draw(GRAMMAR, GRAMMAR.start, LOGITS, tokens_left, parameters, random)[0] for _ in range(4_000)]
    return np.bincount(draws, minlength=6) / len(draws)


def expected(allowed: list[int], temperature: float = 1.0) -> np.ndarray:
    found = np.zeros(6)
    found[allowed] = np.exp(log_softmax(LOGITS[allowed] / temperature))
    return found


@pytest.mark.parametrize(
    ("parameters", "tokens_left", "allowed"),
    [
        (Parameters(budget=9, temperature=1.0), 9, [1, 2, 3, 4]),
        (Parameters(budget=9, temperature=2.0), 9, [1, 2, 3, 4]),
        (Parameters(budget=1, temperature=1.0), 1, [1, 2, 4]),
        (Parameters(budget=9, temperature=1.0, top_k=2), 9, [1, 2]),
        (Parameters(budget=9, temperature=1.0, top_p=0.5), 9, [1, 2]),
    ],
)
def test_draws_follow_the_restricted_distribution(parameters: Parameters, tokens_left: int, allowed: list[int]):
    """Frequencies of 4,000 draws match the softmax over the viable tokens, truncation counting viable ones only."""
    found = frequencies(parameters, tokens_left)
    assert found == pytest.approx(expected(allowed, parameters.temperature), abs=0.03)


def test_guided_scores_of_equations_14_to_16():
    """r = D / (K - 1), α = α_min + (1 - α_min) r, z̃ = (1 - α) z + α max z, then log softmax."""
    logits, distances = np.array([1.0, -1.0]), np.array([4, 1], np.int32)
    mixed = np.array([1.0, 0.6 * 0.75 * -1.0 + (1 - 0.6 * 0.75) * 1.0])
    scores = guided(logits, distances, tokens_left=5, alpha=0.4)
    assert scores == pytest.approx(log_softmax(mixed))


def test_guided_scores_at_zero_slack_are_uniform():
    """Where every candidate needs all that is left, the model's taste no longer counts."""
    scores = guided(np.array([5.0, -5.0]), np.array([3, 3], np.int32), tokens_left=4, alpha=0.0)
    assert scores == pytest.approx(np.log([0.5, 0.5]))
