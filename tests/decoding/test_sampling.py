"""Sampling is exact: the model's distribution, restricted to what is viable."""

import numpy as np
import pytest

from grammar_cache.expression import Alt, Bytes, Grammar
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary import Vocabulary
from server.decoding.parameters import Parameters
from server.decoding.sampling import draw
from server.decoding.scoring import log_softmax
from tests.decoding.grammars import DYCK, DYCK_VOCABULARY, LETTERS, compiled

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


def by_definition(
    grammar: CompiledGrammar, configuration: int, logits: np.ndarray, left: int, random: np.random.Generator
) -> tuple[int, bool]:
    """The best of all viable tokens by perturbed logits; and whether the budget alone kept a better one out."""
    perturbed = logits - np.log(np.maximum(random.standard_exponential(len(logits), dtype=np.float32), 1e-37))
    allowed, alive = grammar.mask(configuration, left), grammar.mask(configuration)
    token = int(np.where(allowed, perturbed, -np.inf).argmax())
    return token, bool((perturbed[alive & ~allowed] > perturbed[token]).any())


def test_draws_are_those_of_the_definition():
    """The first look at the best draw alone changes neither the token nor whether the budget forced it."""
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    forced, ends = 0, 0
    for seed in range(400):
        random = np.random.default_rng(seed)
        logits = random.normal(scale=3, size=4).astype(np.float32)
        text = b"(" * int(random.integers(0, 4))
        configuration = grammar.consume_bytes(grammar.start, text)
        assert configuration is not None
        left = len(text) + 1 + int(random.integers(0, 5))
        parameters = Parameters(budget=9, temperature=1.0)
        found = draw(grammar, configuration, logits, left, parameters, np.random.default_rng(seed))
        assert found == by_definition(grammar, configuration, logits, left, np.random.default_rng(seed))
        forced += found[1]
    letters = compiled(LETTERS, Vocabulary([b"a", b"b", None], [2]))
    configuration = letters.consume_bytes(letters.start, b"a")
    assert configuration is not None
    for seed in range(100):
        logits = np.zeros(3, np.float32)
        found = draw(letters, configuration, logits, 5, Parameters(5, temperature=1.0), np.random.default_rng(seed))
        assert found == by_definition(letters, configuration, logits, 5, np.random.default_rng(seed))
        ends += found[0] == 2
    assert forced > 20
    assert ends > 20


def test_the_first_draw_mostly_settles_it():
    """Where the likeliest draw is viable, no other token is looked at."""

    class Watched(CompiledGrammar):
        batches = 0

        def consume_batch(self, configurations: np.ndarray, tokens: np.ndarray) -> np.ndarray:
            self.batches += 1
            return super().consume_batch(configurations, tokens)

    watched = Watched(GRAMMAR.network, GRAMMAR.vocabulary, GRAMMAR.limits, ())
    likely = np.array([0.0, 50, 0, 0, 0, 0])
    parameters = Parameters(budget=9, temperature=1.0)
    assert draw(watched, watched.start, likely, 9, parameters, np.random.default_rng(0)) == (1, False)
    assert watched.batches == 0
    draw(watched, watched.start, np.array([50.0, 0, 0, 0, 0, 0]), 9, parameters, np.random.default_rng(0))
    assert watched.batches > 0
