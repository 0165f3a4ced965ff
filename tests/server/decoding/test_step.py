"""One step of one row: the single token of M = 1 and the successors of beams."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.expression import Alt, Bytes, Grammar, Repeat
from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.decoding.candidates import Place, candidates
from server.decoding.logits import ArrayRow
from server.decoding.parameters import UNLIMITED, Parameters, Promotion
from server.decoding.sampling import Draw
from server.decoding.step import Successors, drawn, step, steps, successors, taken
from tests.server.decoding.grammars import DYCK, DYCK_VOCABULARY, LETTERS, compiled
from tests.strategies import examples

GRAMMAR = compiled(DYCK, DYCK_VOCABULARY)
ROWS = st.lists(st.sampled_from([-2.0, 0.0, 0.5, 0.5, 3.0, np.nan, np.inf]), min_size=4, max_size=4)


def place(text: bytes, more: int) -> Place:
    configuration = GRAMMAR.consume_bytes(GRAMMAR.start, text)
    assert configuration is not None
    return Place(configuration, (GRAMMAR.distance(configuration) or 0) + more)


@given(ROWS, st.integers(0, 3), st.integers(0, 4), st.sampled_from(get_args(Promotion)), st.sampled_from([0.0, 0.9]))
@examples(300)
def test_greedy_takes_the_best_successor(
    logits: list[float], depth: int, more: int, rule: Promotion, alpha: float
) -> None:
    """The look at the best logit alone never changes which one that is. The budget forced it iff without one another
    would be.
    """
    parameters = Parameters(99, alpha=alpha, promotion=rule)
    at, row = place(b"(" * depth, more), ArrayRow(np.array(logits))
    whole = successors(GRAMMAR, candidates(GRAMMAR, at, row, parameters), parameters, 0.0)
    unlimited = at._replace(tokens_left=UNLIMITED)
    free = successors(GRAMMAR, candidates(GRAMMAR, unlimited, row, parameters), parameters, 0.0)
    token = whole.ranked[0].token
    assert drawn(GRAMMAR, at, row, parameters) == (token, token != free.ranked[0].token)
    [way] = step(GRAMMAR, at, row, parameters).ranked
    assert (way.token, way.configuration) == whole.ranked[0][:2]
    assert tuple(way.scores) == (0.0, 0.0, 0.0)


@given(ROWS, st.integers(0, 3), st.integers(0, 4), st.sampled_from([1, 2, 5]), st.integers(0, 99))
@examples(200)
def test_one_token_whatever_is_asked(logits: list[float], depth: int, more: int, top_k: int, seed: int) -> None:
    """M = 1 has one way on, viable, drawn or not; the same row and place draw the same."""
    at, row = place(b"(" * depth, more), np.array(logits)
    for parameters in (Parameters(99), Parameters(99, temperature=0.7, top_k=top_k, seed=seed)):
        [found] = steps(GRAMMAR, [at], row[None], parameters)
        [way] = found.ranked
        assert GRAMMAR.mask(at.configuration, at.tokens_left)[way.token]
        assert steps(GRAMMAR, [at, at], np.stack([row, row]), parameters) == [found, found]


def test_draws_depend_on_the_place_in_the_answer() -> None:
    """Texts of one seed with a uniform row go on differently at different places, and alike at the same."""
    parameters = Parameters(64, temperature=1.0, seed=4)
    row = ArrayRow(np.zeros(4))
    found = [drawn(GRAMMAR, Place(GRAMMAR.start, left), row, parameters).token for left in range(4, 64)]
    assert found == [drawn(GRAMMAR, Place(GRAMMAR.start, left), row, parameters).token for left in range(4, 64)]
    assert len(set(found)) == 2
    other = replace(parameters, seed=5)
    assert found != [drawn(GRAMMAR, Place(GRAMMAR.start, left), row, other).token for left in range(4, 64)]


def test_successors_are_twice_the_beams_best_first() -> None:
    vocabulary = Vocabulary([*(bytes([97 + n]) for n in range(9)), None], [9])
    letters = Grammar({"root": Repeat(Alt(tuple(Bytes(bytes([97 + n])) for n in range(9))), 1, None)}, "root")
    grammar = compiled(letters, vocabulary)
    logits = np.random.default_rng(0).normal(size=10)
    found = step(grammar, Place(grammar.start, 5), ArrayRow(logits), Parameters(5, beam_width=3))
    assert [way.token for way in found.ranked] == np.argsort(-logits[:9])[:6].tolist()
    assert [way.scores.guided for way in found.ranked] == sorted((w.scores.guided for w in found.ranked), reverse=True)
    assert not found.forced


@pytest.mark.parametrize(
    "parameters", [Parameters(5), Parameters(5, beam_width=2), Parameters(5, temperature=1.0, seed=1)]
)
def test_nothing_follows_a_whole_text_without_an_end_token(parameters: Parameters) -> None:
    grammar = compiled(LETTERS, Vocabulary([b"a"], []))
    configuration = grammar.consume_bytes(grammar.start, b"a")
    assert configuration is not None
    assert step(grammar, Place(configuration, 0), ArrayRow(np.zeros(1)), parameters) == Successors((), False)
    assert taken(grammar, Place(configuration, 0), Draw(None, True)) == Successors((), False)
