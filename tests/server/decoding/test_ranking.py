"""Ranking of complete texts: by brute force over all texts, and where rankings part."""

import itertools
import random
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import pytest

from grammar_cache.expression import Alt, Bytes, Grammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.parameters import Parameters, Ranking, Softmax
from tests.server.decoding.grammars import compiled
from tests.server.decoding.stepping import log_softmax
from tests.server.decoding.test_decoder import always, decode, tabled

VOCABULARY = Vocabulary([b"a", b"b", b"c", None], [3])
END = 3


@dataclass(frozen=True)
class Outcome:
    """A complete text, the sum of its scores, the model's own, and the tokens that it took."""

    text: bytes
    guided: float
    model: float
    used: int


def outcomes(words: set[bytes], table: np.ndarray, budget: int, softmax: Softmax) -> list[Outcome]:
    """All ways to end, from the definitions: a token is viable if some word behind it fits the budget."""
    found: list[Outcome] = []

    def follow(at: Outcome) -> None:
        left = budget - at.used
        longer = [w for w in words if w.startswith(at.text) and w != at.text]
        if left == 0 or not longer:
            found.append(at)
            return
        viable = [t for t in range(3) if any(w.startswith(at.text + b"abc"[t : t + 1]) for w in fitting(at.text, left))]
        allowed = [t for t in range(3) if any(w.startswith(at.text + b"abc"[t : t + 1]) for w in words)]
        end = [END] if at.text in words else []
        viable, allowed = viable + end, allowed + end
        logits = table[number(at.text)]
        model = log_softmax(logits)[viable]
        over = {"viable": viable, "grammar": allowed, "vocabulary": list(range(len(logits)))}[softmax]
        guided = logits[viable] - np.log(np.exp(logits[over]).sum())
        for token, g, m in zip(viable, guided, model, strict=True):
            after = at.text + (b"" if token == END else b"abc"[token : token + 1])
            made = Outcome(after, at.guided + g, at.model + m, at.used + 1)
            if token == END:
                found.append(made)
            else:
                follow(made)

    def fitting(text: bytes, left: int) -> list[bytes]:
        return [w for w in words if len(w) - len(text) <= left]

    follow(Outcome(b"", 0.0, 0.0, 0))
    return found


def number(text: bytes) -> int:
    return int(sum(4**i * (letter - 96) for i, letter in enumerate(text))) % 512


WORTH = {
    "sum": lambda outcome: outcome.guided,
    "normalised": lambda outcome: outcome.guided / outcome.used,
    "model": lambda outcome: outcome.model,
}


@pytest.mark.parametrize("ranking", get_args(Ranking))
@pytest.mark.parametrize("softmax", get_args(Softmax))
def test_a_beam_wide_enough_finds_the_best_text(ranking: Ranking, softmax: Softmax) -> None:
    """The answer with room for every prefix is the best of all texts: nothing is decided before it can't change."""
    lengths = set()
    for seed in range(60):
        rng = random.Random(seed)
        every = [bytes(w) for n in range(1, 5) for w in itertools.product(b"abc", repeat=n)]
        words = set(rng.sample(every, 12))
        grammar = compiled(Grammar({"root": Alt(tuple(map(Bytes, sorted(words))))}, "root"), VOCABULARY)
        table = np.random.default_rng(seed).normal(scale=2, size=(512, 4))
        budget = rng.choice((grammar.minimum.tokens, 3, 9))
        expected = max(outcomes(words, table, budget, softmax), key=WORTH[ranking])
        parameters = Parameters(
            budget=budget, beam_width=200, promotion="none", softmax=softmax, ranking=ranking, jump_forward=False
        )
        found, _, _ = decode(grammar, parameters, tabled(table, number))
        assert found.text == expected.text
        assert found.score == pytest.approx(expected.guided, abs=1e-4)
        lengths.add(len(found.text))
    assert len(lengths) > 1


GRAMMAR = compiled(Grammar({"root": Alt((Bytes(b"ab"), Bytes(b"ac"), Bytes(b"ba")))}, "root"), VOCABULARY)


def unlikely_corner(text: bytes) -> list[float]:
    """The model begins with `b` a little less often than with `a`, and would hardly write the `a` that must follow."""
    return [-6.0, 0.0, 0.0, 0.0] if text == b"b" else [0.0, -0.2, -0.2, -9.0]


def test_forced_tokens_are_free_unless_the_model_is_asked() -> None:
    """Renormalised, a corner with one way out costs nothing; by the model's own log-probability it is dear."""
    plain = Parameters(budget=2, beam_width=3, promotion="none", jump_forward=False)
    for parameters, expected in (
        (plain, b"ba"),
        (replace(plain, ranking="model"), b"ab"),
        (replace(plain, softmax="vocabulary"), b"ab"),
    ):
        assert decode(GRAMMAR, parameters, unlikely_corner)[0].text == expected


def test_normalised_sums_let_long_texts_win() -> None:
    """`c` costs one token of -1.1, `abab` four of less: the sum takes the short one, the mean the long one."""
    grammar = compiled(Grammar({"root": Alt((Bytes(b"c"), Bytes(b"abab"), Bytes(b"acac")))}, "root"), VOCABULARY)
    model = always(0.0, -0.5, -0.6, -9.0)
    texts = {
        ranking: decode(grammar, Parameters(budget=9, beam_width=4, promotion="none", ranking=ranking), model)[0].text
        for ranking in ("sum", "normalised")
    }
    assert texts == {"sum": b"c", "normalised": b"abab"}
