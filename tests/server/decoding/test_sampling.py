"""Sampling is exact: the model's distribution, restricted to what is viable."""

import random
from collections import Counter

import numpy as np
import pytest

from grammar_cache.expression import Alt, Bytes, Grammar, Repeat, Seq
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.candidates import Place
from server.decoding.decoder import Decoder
from server.decoding.logits import ArrayRow
from server.decoding.parameters import Parameters
from server.decoding.sampling import FIRST_LOOK, SECOND_LOOK, Draw, draw, noise
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, LETTERS, compiled
from tests.server.decoding.stepping import advance, log_softmax

LOGITS = np.array([2.0, 1.0, 0.5, 0.0, -1.0, 3.0])
GRAMMAR = compiled(
    Grammar({"root": Alt(tuple(Bytes(b) for b in (b"b", b"c", b"dd", b"e")))}, "root"),
    Vocabulary([b"a", b"b", b"c", b"d", b"e", None], [5]),
)
MANY = [number.to_bytes(2, "big") for number in range(3_000)]
"""Tokens, more than any look at the best of them shows."""
COUNT = 600


def draws(grammar: CompiledGrammar, logits: np.ndarray, left: int, parameters: Parameters, count: int) -> list[Draw]:
    place, row = Place(grammar.start, left), ArrayRow(logits)
    return [draw(grammar, place, row, parameters, noise(7, number)) for number in range(count)]


def token_of(drawn: Draw) -> int:
    assert drawn.token is not None
    return drawn.token


def frequencies(found: list[Draw], size: int) -> np.ndarray:
    return np.bincount([token_of(drawn) for drawn in found], minlength=size) / len(found)


def expected(logits: np.ndarray, allowed: list[int], temperature: float = 1.0) -> np.ndarray:
    found = np.zeros(len(logits))
    found[allowed] = np.exp(log_softmax(logits[allowed] / temperature))
    return found


def by_definition(grammar: CompiledGrammar, logits: np.ndarray, left: int, parameters: Parameters) -> np.ndarray:
    """The probability of each token: viable ones only, then the best top-k, then those that fill top-p."""
    viable = np.flatnonzero(grammar.mask(grammar.start, left))
    order = viable[np.lexsort((viable, -logits[viable]))][: parameters.top_k or None]
    probabilities = np.exp(log_softmax(logits[order] / parameters.temperature))
    kept = np.cumsum(probabilities) - probabilities < parameters.top_p
    return expected(logits, order[kept].tolist(), parameters.temperature)


@pytest.mark.parametrize(
    ("parameters", "tokens_left", "allowed"),
    [
        (Parameters(budget=9, temperature=1.0), 9, [1, 2, 3, 4]),
        (Parameters(budget=9, temperature=2.0), 9, [1, 2, 3, 4]),
        (Parameters(budget=1, temperature=1.0), 1, [1, 2, 4]),
        (Parameters(budget=9, temperature=1.0, top_k=2), 9, [1, 2]),
        (Parameters(budget=9, temperature=1.0, top_p=0.5), 9, [1, 2]),
        (Parameters(budget=9, temperature=1.0, min_p=0.5), 9, [1, 2]),
        (Parameters(budget=9, temperature=1.0, min_p=0.3, top_k=3), 9, [1, 2, 3]),
        (Parameters(budget=9, temperature=1.0, min_p=1.0), 9, [1]),
        (Parameters(budget=1, temperature=2.0, min_p=0.4, top_p=0.99), 1, [1, 2]),
    ],
)
def test_draws_follow_the_restricted_distribution(parameters: Parameters, tokens_left: int, allowed: list[int]) -> None:
    """Frequencies of 4,000 draws match the softmax over the viable tokens, truncation counting viable ones only."""
    found = frequencies(draws(GRAMMAR, LOGITS, tokens_left, parameters, 4_000), 6)
    assert found == pytest.approx(expected(LOGITS, allowed, parameters.temperature), abs=0.03)


def wide(words: list[bytes]) -> CompiledGrammar:
    """Language of many tokens, of which those that begin these words are alive; a word of four bytes takes two."""
    return compiled(Grammar({"root": Alt(tuple(map(Bytes, words)))}, "root"), Vocabulary([*MANY, None], [len(MANY)]))


@pytest.mark.parametrize(
    ("top_k", "top_p"), [(0, 1.0), (0, 0.7), (0, 0.97), (5, 1.0), (40, 1.0), (200, 1.0), (100, 0.9)]
)
@pytest.mark.parametrize(("spread", "left"), [(0.3, 1), (1.5, 2), (6.0, 1)])
def test_draws_among_tokens_that_no_look_has_shown(spread: float, left: int, top_k: int, top_p: float) -> None:
    """The distribution is the same where the viable tokens are mostly or all beyond the best that are looked at."""
    rng = random.Random(f"{spread} {top_k}")
    ones, twos = rng.sample(MANY, 120), rng.sample(MANY, 60)
    grammar = wide([*ones, *(word + MANY[0] for word in twos)])
    logits = np.random.default_rng(5).normal(scale=spread, size=len(MANY) + 1).astype(np.float32)
    parameters = Parameters(budget=left, temperature=1.0, top_k=top_k, top_p=top_p)
    found = frequencies(draws(grammar, logits, left, parameters, COUNT), len(logits))
    truth = by_definition(grammar, logits, left, parameters)
    assert not found[truth == 0].any()
    # Neyman's distance of many small counts: its mean is one for each kind of outcome. Rare ones count as one kind.
    rare = truth * COUNT < 1
    truth, found = (np.append(shares[~rare], shares[rare].sum()) for shares in (truth, found))
    kinds = (truth > 0).sum()
    distance = COUNT * ((found - truth)[truth > 0] ** 2 / truth[truth > 0]).sum()
    assert distance < kinds + 5 * np.sqrt(2 * kinds)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "parameters",
    [
        Parameters(budget=9, temperature=1.0),
        Parameters(budget=9, temperature=0.05),
        Parameters(budget=9, temperature=1.0, top_p=0.95),
        Parameters(budget=9, temperature=0.01, top_p=0.9),
        Parameters(budget=9, temperature=0.02, top_k=20),
    ],
)
def test_what_the_model_finds_unlikely_is_drawn_by_its_share(parameters: Parameters, seed: int) -> None:
    """Viable tokens weigh less together than the sum over all tokens is off; one of them is among the best, most are
    not.
    """
    viable = list(range(100, 130))
    grammar = compiled(
        Grammar({"root": Alt(tuple(Bytes(MANY[token]) for token in viable))}, "root"),
        Vocabulary([*MANY, None], [3_000]),
    )
    logits = np.full(3_001, -12.0)
    logits[1_000:1_010] = 17.0 + np.random.default_rng(seed).normal(size=10)
    logits[1_010 : 1_000 + FIRST_LOOK - 1] = 0.0
    logits[viable] = -3.0 - 0.1 * parameters.temperature
    logits[viable[0]] = -3.0
    found = frequencies(draws(grammar, logits, 9, parameters, 3_000), 3_001)
    assert np.abs(found - by_definition(grammar, logits, 9, parameters)).max() < 0.02


@pytest.mark.parametrize("temperature", [1e-20, 1e-39, 1e-300])
def test_the_least_temperatures_take_the_best(temperature: float) -> None:
    """Logits over such a temperature have no place in a float32; the best viable token is drawn, wherever it stands."""
    logits = np.zeros(3_001)
    logits[1_000 : 1_000 + 2 * FIRST_LOOK] = 5.0
    logits[[100, 101]] = 0.5, 0.9
    texts = Alt((Bytes(MANY[100]), Bytes(MANY[101])))
    grammar = compiled(Grammar({"root": texts}, "root"), Vocabulary([*MANY, None], [3_000]))
    for parameters in (Parameters(9, temperature=temperature), Parameters(9, temperature=temperature, top_p=0.9)):
        assert {drawn.token for drawn in draws(grammar, logits, 9, parameters, 20)} == {101}


def test_long_nuclei() -> None:
    """A nucleus of more tokens than are put in order at first keeps all that it should."""
    grammar = wide(MANY)
    logits = np.zeros(len(MANY) + 1, np.float32)
    found = {token_of(drawn) for drawn in draws(grammar, logits, 1, Parameters(1, temperature=1.0, top_p=0.7), 2_500)}
    assert SECOND_LOOK < len(found) <= 0.7 * len(MANY)
    assert max(found) < 0.7 * len(MANY)


def test_how_often_the_budget_has_a_say() -> None:
    """The budget has a say as often as a draw from all that the grammar allows doesn't fit it."""
    for parameters in (Parameters(9, temperature=1.0), Parameters(9, temperature=1.0, top_k=4)):
        found = draws(GRAMMAR, LOGITS, 1, parameters, 4_000)
        share = sum(drawn.forced for drawn in found) / len(found)
        assert share == pytest.approx(expected(LOGITS, [1, 2, 3, 4])[3], abs=0.03)
        assert not any(drawn.forced for drawn in draws(GRAMMAR, LOGITS, 2, parameters, 500))


def test_the_budgets_say_beyond_the_best_tokens() -> None:
    """Budgets decide also where neither what fits nor what doesn't is among the best."""
    ones, twos = MANY[1_000:1_050], MANY[2_000:2_150]
    grammar = wide([*ones, *(word + MANY[0] for word in twos)])
    logits = np.zeros(len(MANY) + 1, np.float32)
    logits[:FIRST_LOOK] = 3.0
    found = draws(grammar, logits, 1, Parameters(1, temperature=1.0), 600)
    assert {drawn.token for drawn in found} <= set(range(1_000, 1_050))
    assert sum(drawn.forced for drawn in found) / 600 == pytest.approx(0.75, abs=0.2)


def test_the_end_is_drawn_like_any_token() -> None:
    grammar = compiled(LETTERS, Vocabulary([b"a", b"b", None], [2]))
    configuration = grammar.consume_bytes(grammar.start, b"a")
    assert configuration is not None
    row = ArrayRow(np.zeros(3))
    for parameters in (Parameters(5, temperature=1.0), Parameters(5, temperature=1.0, top_k=3)):
        found = [draw(grammar, Place(configuration, 5), row, parameters, noise(0, n)).token for n in range(900)]
        assert {token: round(count / 900, 1) for token, count in Counter(found).items()} == {0: 0.3, 1: 0.3, 2: 0.3}


@pytest.mark.parametrize("top_p", [1.0, 0.9])
def test_a_viable_token_without_any_probability_is_drawn(top_p: float) -> None:
    """A token whose probability is 0 as a float is drawn all the same, from those like it."""
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    logits = np.array([900.0, 0.0, -900.0, -np.inf])
    found = draws(grammar, logits, 1, Parameters(1, temperature=0.5, top_p=top_p), 20)
    assert {drawn.token for drawn in found} == {2}


@pytest.mark.parametrize("top_k", [0, 3])
def test_nothing_is_drawn_where_nothing_may_follow(top_k: int) -> None:
    """A complete text, and a model without end tokens."""
    grammar = compiled(Grammar({"root": Repeat(Bytes(b"a"), 0, 1)}, "root"), Vocabulary([b"a"], []))
    configuration = grammar.consume_bytes(grammar.start, b"a")
    assert configuration is not None
    parameters = Parameters(5, temperature=1.0, top_k=top_k)
    assert draw(grammar, Place(configuration, 4), ArrayRow(np.zeros(1)), parameters, noise(0, 0)) == (None, False)


def test_the_first_draw_mostly_settles_it() -> None:
    """No other token is looked at where the likeliest draw is viable."""

    class Watched(CompiledGrammar):
        batches = 0

        def consume_batch(self, configurations: np.ndarray, tokens: np.ndarray) -> np.ndarray:
            self.batches += 1
            return super().consume_batch(configurations, tokens)

    watched = Watched(GRAMMAR.network, GRAMMAR.vocabulary, GRAMMAR.limits, ())
    parameters = Parameters(budget=9, temperature=1.0)
    place = Place(watched.start, 9)
    assert draw(watched, place, ArrayRow(np.array([0.0, 50, 0, 0, 0, 0])), parameters, noise(0, 0)) == (1, False)
    assert watched.batches == 0
    draw(watched, place, ArrayRow(np.array([50.0, 0, 0, 0, 0, 0])), parameters, noise(0, 0))
    assert watched.batches > 0


def test_noise_is_uniform_and_depends_on_seed_and_position_alone() -> None:
    numbers = np.array([noise(seed, position) for seed in (0, 1, (1 << 64) - 1) for position in range(3_000)])
    assert ((numbers >= 0) & (numbers < 1)).all()
    assert len(np.unique(numbers)) == numbers.size
    assert np.quantile(numbers, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.01)
    assert abs(np.corrcoef(numbers.T) - np.eye(numbers.shape[1])).max() < 0.05
    assert noise(3, 14) == noise(3, 14) != noise(14, 3)
    assert [round(number, 6) for number in noise(3, 14)[:2]] == [0.037453, 0.099664]


def test_positions_are_drawn_independently() -> None:
    """Over many seeds, texts of two letters are as frequent as their letters say."""
    letter = Alt((Bytes(b"a"), Bytes(b"b")))
    grammar = compiled(Grammar({"root": Seq((letter, letter))}, "root"), Vocabulary([b"a", b"b", None], [2]))
    texts: Counter[bytes] = Counter()
    for seed in range(1_500):
        decoder = Decoder(grammar, Parameters(2, temperature=1.0, seed=seed))
        while decoder.answer is None:
            advance(decoder, np.array([[np.log(3.0), 0.0, 0.0]]))
        texts[decoder.answer.text] += 1
    shares = {text: count / 1_500 for text, count in texts.items()}
    assert shares == {
        b"aa": pytest.approx(9 / 16, abs=0.05),
        b"ab": pytest.approx(3 / 16, abs=0.05),
        b"ba": pytest.approx(3 / 16, abs=0.05),
        b"bb": pytest.approx(1 / 16, abs=0.05),
    }


def test_without_a_seed_one_is_drawn_at_the_start() -> None:
    """The seed is the decoder's for the whole answer, and another one's is another."""
    seeds = {Decoder(GRAMMAR, Parameters(9, temperature=1.0)).parameters.seed for _ in range(9)}
    assert None not in seeds
    assert len(seeds) == 9
    assert Decoder(GRAMMAR, Parameters(9, seed=5)).parameters.seed == 5
