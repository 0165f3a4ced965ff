"""A search that keeps the text of one beam, and leaves out what the model hardly says."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.compile import compile_expression
from grammar_cache.errors import EmptyLanguage
from grammar_cache.expression import Alt, Bytes, Grammar, Seq, char_class
from grammar_cache.limits import Limits
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.answer import Answer
from server.decoding.candidates import Place
from server.decoding.decoder import Decoder
from server.decoding.language import AnyText
from server.decoding.logits import ArrayRow
from server.decoding.parameters import Parameters
from server.decoding.step import step, steps
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, compiled
from tests.server.decoding.stepping import log_softmax
from tests.server.decoding.test_unlimited import Model, seeded_model
from tests.server.decoding.trials.trials import random_grammar, random_vocabulary
from tests.strategies import examples


def searched(decoder: Decoder, model: Model) -> tuple[Answer, ...]:
    while not decoder.answers:
        logits = np.stack([model(prefix) for prefix in decoder.prefixes])
        decoder.advance(steps(decoder.language, decoder.wanted.places, logits, decoder.parameters))
    return decoder.answers


def trial(number: int) -> tuple[bytes, list[bytes]] | None:
    """The text of one beam, and all those of a search that keeps it; None where there are no texts."""
    rng = random.Random(number)
    grammar, vocabulary = random_grammar(rng), random_vocabulary(rng)
    try:
        made = compile_expression(grammar, vocabulary, Limits())
    except EmptyLanguage:
        return None
    budget, width = made.minimum.tokens + rng.choice((1, 2, 6, 20)), rng.choice((2, 3, 4))
    model = seeded_model(number, made, rng.choice((0.5, 3.0)))
    jump = rng.random() < 0.5
    [greedy] = searched(Decoder(made, Parameters(budget, seed=0, jump_forward=jump)), model)
    how = Parameters(
        budget,
        width,
        answers=width,
        alpha=0.5,
        promotion="flat",
        softmax="grammar",
        jump_forward=jump,
        keep_greedy=True,
    )
    return greedy.text, [answer.text for answer in searched(Decoder(made, how), model)]


def test_the_text_of_one_beam_is_never_lost() -> None:
    """Random grammars, vocabularies, budgets and models: greedy's text is among the M texts, which are distinct."""
    found = [each for each in map(trial, range(300)) if each is not None]
    assert len(found) > 100
    assert all(greedy in kept and len(set(kept)) == len(kept) for greedy, kept in found)


@pytest.mark.parametrize("keep_greedy", [True, False])
def test_a_search_would_else_lose_it(keep_greedy: bool) -> None:
    """Two beams: `a` is likelier than `b`, but nothing behind it is as likely as either text that begins with `b`."""
    letters = Alt((Seq((Bytes(b"a"), char_class([(99, 106)]))), Seq((Bytes(b"b"), char_class([(99, 100)])))))
    grammar = compiled(Grammar({"root": letters}, "root"), Vocabulary([bytes([97 + at]) for at in range(10)], []))
    parameters = Parameters(9, 2, answers=2, keep_greedy=keep_greedy)
    logits = np.linspace(0.1, 0, 10, dtype=np.float32)
    found = {answer.text for answer in searched(Decoder(grammar, parameters), lambda prefix: logits)}
    assert found == ({b"ac", b"bc"} if keep_greedy else {b"bc", b"bd"})


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.4])
def test_what_the_model_hardly_says_is_left_out(epsilon: float) -> None:
    """Behind `((` two tokens are viable: the likelier one stays whatever its share, the other one from epsilon on."""
    grammar = compiled(DYCK, DYCK_VOCABULARY)
    behind = grammar.consume_bytes(grammar.start, b"((")
    assert behind is not None
    at = Decoder(grammar, Parameters(9)).wanted.places[0]._replace(configuration=behind)
    parameters = Parameters(9, beam_width=4, epsilon=epsilon)
    for logits in ([2.0, 1.0, 0.0, 0.0], [1.0, 2.0, 9.0, 0.0], [0.0, 3.0, 0.0, 0.0]):
        found = {way.token for way in step(grammar, at, ArrayRow(np.array(logits)), parameters).ranked}
        share = np.exp(log_softmax(np.array(logits)))
        best = int(np.argmax(logits[:2]))
        assert found == {token for token in (0, 1) if token == best or share[token] >= epsilon}


@given(
    st.integers(0, 2**32),
    st.sampled_from([0.3, 1.5, 6.0]),
    st.sampled_from([0.0, 0.5, 2.0]),
    st.sampled_from([1e-3, 0.01, 0.2]),
    st.sampled_from([2, 20, 400]),
)
@examples(100)
def test_the_share_is_of_the_whole_vocabulary(
    seed: int, spread: float, temperature: float, epsilon: float, size: int
) -> None:
    """Random rows: a beam goes on with the tokens whose softmax by numpy is `epsilon` at least, and with the best."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=spread, size=size).astype(np.float32)
    parameters = Parameters(9, beam_width=size, candidates=size, epsilon=epsilon, temperature=temperature)
    language = AnyText(Vocabulary([b"%d" % token for token in range(size)], []))
    found = {way.token for way in step(language, Place(0, 9), ArrayRow(logits), parameters).ranked}
    share = np.exp(log_softmax(logits.astype(np.float64) / parameters.scale))
    unclear = np.flatnonzero(np.abs(share / epsilon - 1) < 1e-4)  # nearer than sums are exact
    expected = {int(logits.argmax()), *np.flatnonzero(share >= epsilon).tolist()}
    assert found ^ expected <= set(unclear.tolist())


class Unsummed(ArrayRow):
    """A row whose sum nobody asks for."""

    def mass(self, temperature: float) -> float:
        raise AssertionError("the best token alone settles it")


def test_a_row_is_not_summed_where_its_best_token_settles_the_share() -> None:
    language = AnyText(Vocabulary([b"a", b"b", b"c"], []))
    row = Unsummed(np.array([9.0, 2.0, 1.0]))
    found = step(language, Place(0, 9), row, Parameters(9, beam_width=4, epsilon=1e-3))
    assert [way.token for way in found.ranked] == [0]
    with pytest.raises(AssertionError):
        step(language, Place(0, 9), row, Parameters(9, beam_width=4, epsilon=1e-4))
