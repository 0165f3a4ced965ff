"""The promise where items may not repeat: complete, valid and in budget, whatever tokens are chosen."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import CompiledGrammar, Limits
from grammar_cache.artefact.artefact import from_bytes, to_bytes
from grammar_cache.configurations.interner import DEAD
from grammar_cache.constraint import Whitespace
from grammar_cache.unique_items import leaving
from server.decoding.decoder import Decoder
from server.decoding.parameters import Parameters
from tests.grammar_cache.unique_items.schemas import OF_OBJECTS, SCHEMAS, compiled, judge, vocabulary
from tests.server.decoding.stepping import advance
from tests.strategies import examples


class Case(NamedTuple):
    """A schema, the seed of a vocabulary, white space, and tokens more than the fewest."""

    schema: dict[str, object]
    seed: int
    whitespace: Whitespace
    more: int

    def compiled(self, limits: Limits | None = None) -> CompiledGrammar:
        return compiled(self.schema, vocabulary(self.seed), self.whitespace, limits)


CASES = st.builds(
    Case,
    st.sampled_from(SCHEMAS),
    st.integers(0, 8),
    st.sampled_from(["compact", "bounded", "any"]),
    st.sampled_from([0, 1, 2, 3, 5, 8, 13, 40]),
)
WISHES = (b'ab",[]', b'a"', b',1"', b'a", ', bytes(range(256)))
"""Bytes that a hostile model wants to write and nothing else."""


def walked(
    grammar: CompiledGrammar, budget: int, rng: random.Random, look: Callable[[int, int, int, int], None] | None = None
) -> bytes:
    """Text of tokens that the masks allow. `look` is told each configuration, the tokens left, the token, and the
    configuration behind it.
    """
    at, left, text, wish = grammar.start, budget, b"", rng.choice(WISHES)
    while not grammar.ends(at):
        allowed = np.flatnonzero(grammar.mask(at, left)).tolist() if left else []
        assert allowed or grammar.accepts(at), (text, left)
        spelled = [(token, grammar.vocabulary.spelling[token]) for token in allowed]
        wanted = [token for token, data in spelled if data is not None and set(data) <= set(wish)]
        token = rng.choice(wanted if wanted and rng.random() < 0.95 else allowed) if allowed else None
        if token is None or token in grammar.vocabulary.stop_ids:
            break
        after = grammar.take(at, token)
        if look is not None:
            look(at, left, token, after)
        text += grammar.vocabulary.spelling[token] or b""
        at, left = after, left - 1
    return text


@given(CASES, st.randoms(use_true_random=False))
@examples(120)
def test_every_answer_is_valid_and_in_budget(case: Case, rng: random.Random) -> None:
    """A hostile walk along the masks, near the fewest tokens too, in vocabularies of any kind."""
    grammar = case.compiled()
    text = walked(grammar, grammar.minimum.tokens + case.more, rng)
    assert judge(case.schema, text), text


@given(CASES, st.sampled_from([0, 1, 3, 10]), st.randoms(use_true_random=False))
@examples(60)
def test_little_fuel_breaks_no_promise(case: Case, fuel: int, rng: random.Random) -> None:
    """Answers are valid, and masks the same cold and warm, though distances along earlier items are given up."""
    path: list[tuple[int, int, int]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaving, "FUEL", fuel)
        warm, cold = case.compiled(), case.compiled()
        walked(warm, warm.minimum.tokens + 8, rng)
        text = walked(
            warm, warm.minimum.tokens + case.more, rng, lambda at, left, token, _: path.append((at, left, token))
        )
        assert judge(case.schema, text), text
        here = cold.start
        for at, left, token in path:
            assert np.array_equal(cold.mask(here, left), warm.mask(at, left))
            here = cold.take(here, token)


@given(CASES, st.randoms(use_true_random=False))
@examples(60)
def test_masks_and_all_that_follows_tokens_agree(case: Case, rng: random.Random) -> None:
    """Masks allow what distances let in; one token, several, and bytes lead to one place; completions fit."""
    grammar = case.compiled()
    words, ids = grammar.vocabulary, np.arange(grammar.vocabulary.size, dtype=np.int32)

    def look(at: int, left: int, token: int, after: int) -> None:
        behind = grammar.consume_batch(np.array([at], np.int32), ids[None, :])[0]
        mask = grammar.mask(at, left).copy()
        mask[list(words.stop_ids)] = False
        assert np.array_equal(grammar.distances_behind(at, behind, left - 1) <= left - 1, mask)
        assert [DEAD if (one := grammar.consume(at, t)) is None else one for t in ids.tolist()] == behind.tolist()
        assert behind[token] == after == grammar.consume_bytes(at, words.spelling[token] or b"")
        ranking = np.array(rng.sample(ids.tolist(), len(ids)), np.int32)
        assert grammar.first_viable(at, ranking, left - 1) == next((t for t in ranking.tolist() if mask[t]), None)
        assert grammar.only_token(at, left) in (None, token)
        assert all(behind[t] != DEAD for t in grammar.proposals(at).tolist())
        way = grammar.witness(after, left - 1)
        assert len(way) < left
        assert grammar.accepts(_behind(grammar, after, way))

    walked(grammar, grammar.minimum.tokens + case.more, rng, look)


def _behind(grammar: CompiledGrammar, at: int, tokens: tuple[int, ...]) -> int:
    for token in tokens:
        at = grammar.take(at, token)
    return at


@given(CASES, st.randoms(use_true_random=False))
@examples(60)
def test_distances_are_consistent(case: Case, rng: random.Random) -> None:
    """Some token leads to where fewer tokens are needed, unless none is."""
    grammar = case.compiled()
    ids = np.arange(grammar.vocabulary.size, dtype=np.int32)[None, :]

    def look(at: int, left: int, token: int, after: int) -> None:
        needed = grammar.distance(at)
        assert needed is not None
        assert (needed == 0) == grammar.accepts(at)
        if needed:
            behind = grammar.consume_batch(np.array([at], np.int32), ids)[0]
            assert grammar.distances(behind, needed - 1).min() < needed

    walked(grammar, grammar.minimum.tokens + case.more, rng, look)


@given(CASES, st.randoms(use_true_random=False))
@examples(40)
def test_answers_are_the_same_in_tables_begun_anew_and_loaded(case: Case, rng: random.Random) -> None:
    """Masks of a cold grammar, a warm one, one that was loaded, and one that texts have moved to."""
    warm = case.compiled()
    loaded = from_bytes(to_bytes(warm), warm.vocabulary, warm.limits)
    assert to_bytes(loaded) == to_bytes(warm)
    walked(warm, warm.minimum.tokens + 8, rng)
    path: list[tuple[int, int, int]] = []
    walked(warm, warm.minimum.tokens + case.more, rng, lambda at, left, token, after: path.append((at, left, token)))
    fresh, moving = warm.anew(), case.compiled(Limits(memory_bytes=1))
    here, there = fresh.start, moving.start
    for at, left, token in path:
        grammar, [there] = moving.moved([there])
        assert isinstance(grammar, CompiledGrammar)
        moving = grammar
        for other, place in ((fresh, here), (moving, there)):
            assert np.array_equal(other.mask(place, left), warm.mask(at, left))
        here, there = fresh.take(here, token), moving.take(there, token)


@pytest.mark.parametrize("schema", [OF_OBJECTS, {**OF_OBJECTS, "minItems": 1, "maxItems": 2}])
def test_dear_bytes_lead_to_one_place(schema: dict[str, object]) -> None:
    """Tokens that are read for the witness alone lead into an array's first item, whoever asks for what is behind."""
    grammar = compiled(schema, vocabulary(1), "compact", Limits(byte_cost=1))
    at = grammar.start
    for token in grammar.witness(at):
        batch = grammar.consume_batch(np.array([at], np.int32), np.array([[token]], np.int32))
        after = grammar.take(at, token)
        assert grammar.consume(at, token) == batch[0, 0] == after
        at = after
    assert grammar.accepts(at)


def test_ids_outside_the_vocabulary_lead_nowhere() -> None:
    """Logits may be longer than the vocabulary."""
    grammar = compiled(SCHEMAS[0], vocabulary(0))
    at, size = grammar.take_bytes(grammar.start, b'["a","'), grammar.vocabulary.size
    ids = np.array([[size, -1, size - 1]], np.int32)
    assert grammar.consume_batch(np.array([at], np.int32), ids).tolist() == [[DEAD, DEAD, DEAD]]
    assert grammar.first_viable(at, ids[0], 20) is None
    assert grammar.consume(at, size) is None


def test_what_texts_have_led_to_is_counted() -> None:
    """A long item, and many items: the memory that they take is about what is told, so that tables begin anew."""
    texts = [json.dumps(["x" * 3000]), json.dumps([str(number) for number in range(1500)])]
    for text in texts:
        grammar = compiled(SCHEMAS[0], vocabulary(0))
        before, at = grammar.size_bytes, grammar.start
        tracemalloc.start()
        for byte in text.encode():
            at = grammar.take_bytes(at, bytes((byte,)))
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert taken / 2 < grammar.size_bytes - before < 3 * taken


def test_masks_are_asked_for_anew_in_a_full_grammar() -> None:
    """A host that holds numbers of tables which were begun anew is told of no mask there."""
    grammar = compiled(SCHEMAS[0], vocabulary(0), limits=Limits(memory_bytes=1))
    grammar.token_mask(grammar.start, 20)
    assert grammar.known_mask(grammar.start, 20) is not None
    assert grammar.moved([grammar.start])[0] is not grammar
    assert grammar.known_mask(grammar.start, 20) is None


@given(CASES, st.integers(0, 99), st.sampled_from([1, 3]), st.sampled_from([0.0, 1.0]))
@examples(60)
def test_decoded_answers_are_valid(case: Case, seed: int, beams: int, temperature: float) -> None:
    """Beams and draws over random logits."""
    grammar = case.compiled()
    rng = np.random.default_rng(seed)
    budget = grammar.minimum.tokens + case.more
    heat = temperature if beams == 1 else 0.0
    parameters = Parameters(budget=budget, beam_width=beams, temperature=heat, seed=seed)
    decoder = Decoder(grammar, parameters)
    while not decoder.answers:
        rows = len(decoder.wanted.places)
        advance(decoder, (3 * rng.standard_normal((rows, grammar.vocabulary.size))).astype(np.float32))
    for answer in decoder.answers:
        assert answer.complete
        assert len(answer.tokens) <= budget
        assert judge(case.schema, answer.text), answer.text
