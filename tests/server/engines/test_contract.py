"""Duties of every engine by the contract, whichever it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.engines.contract import Engine, EngineError, Forward, PromptTooLong
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import seeded

START = ((0,), ((),))


@pytest.fixture(params=["scripted", "transformers"])
def engine(request: pytest.FixtureRequest, tiny_folder: Callable[[str], Path]) -> Iterator[Engine]:
    made: Engine
    if request.param == "scripted":
        made = ScriptedEngine(Vocabulary([bytes([byte]) for byte in range(256)], [256]), seeded(257, 1))
    else:
        from server.engines.hugging_face.engine import TransformersEngine

        made = TransformersEngine(tiny_folder("llama"), threads=1, dtype="float32")
    yield made
    made.shutdown()


def test_logits_have_a_row_for_each_row(engine: Engine) -> None:
    """Each forward gets float32 logits of its rows by the vocabulary's size, in the order asked for."""
    first, second = engine.open([1, 2]), engine.open([3, 4])
    engine.step([Forward(first, *START), Forward(second, *START)])
    forwards = [Forward(second, (0, 0, 0), ((1,), (2,), (3,))), Forward(first, (0,), ((1,),))]
    results = engine.step(forwards)
    assert [type(result) for result in results] == [np.ndarray, np.ndarray]
    shapes = [(result.shape, result.dtype) for result in results if isinstance(result, np.ndarray)]
    assert shapes == [((count, engine.vocabulary.size), np.dtype(np.float32)) for count in (3, 1)]


def test_equal_texts_have_equal_logits(engine: Engine) -> None:
    """A text reached in one jump, by single steps, or through another row has the same logits."""
    jump, steps = engine.open([1, 2]), engine.open([1, 2])
    engine.step([Forward(jump, *START), Forward(steps, *START)])
    jumped = engine.step([Forward(jump, (0,), ((7, 8),))])[0]
    engine.step([Forward(steps, (0, 0), ((9,), (7,)))])
    stepped = engine.step([Forward(steps, (0, 1), ((8,), (8,)))])[0]
    assert isinstance(jumped, np.ndarray)
    assert isinstance(stepped, np.ndarray)
    np.testing.assert_allclose(stepped[1], jumped[0], atol=1e-4)
    assert np.abs(stepped[0] - jumped[0]).max() > 1e-2


@pytest.mark.parametrize(
    ("parents", "tokens"),
    [
        ((0,), ((),)),
        ((1,), ((5,),)),
        ((-1,), ((5,),)),
        ((0, 0), ((5,),)),
        ((), ()),
        ((0,), ((-1,),)),
        ((0,), ((10**6,),)),
    ],
    ids=["no token", "no such row", "negative row", "uneven", "no rows", "negative token", "no such token"],
)
def test_a_forward_that_breaks_the_contract_fails_alone(
    engine: Engine, parents: tuple[int, ...], tokens: tuple[tuple[int, ...], ...]
) -> None:
    """A forward that breaks the contract yields an EngineError with its cause and ends its sequence; the one beside it
    is unharmed.
    """
    broken, sound = engine.open([1, 2]), engine.open([1, 2])
    engine.step([Forward(broken, *START), Forward(sound, *START)])
    results = engine.step([Forward(broken, parents, tokens), Forward(sound, (0,), ((5,),))])
    assert [type(result) for result in results] == [EngineError, np.ndarray]
    assert isinstance(results[0], EngineError)
    assert results[0].__cause__ is not None
    assert isinstance(engine.step([Forward(broken, (0,), ((5,),))])[0], EngineError)
    engine.close(broken)


def test_the_first_step_is_the_prompts(engine: Engine) -> None:
    """A sequence whose first step already has tokens or several rows fails."""
    early = [Forward(engine.open([1]), (0,), ((1,),)), Forward(engine.open([1]), (0, 0), ((), ()))]
    assert [type(result) for result in engine.step(early)] == [EngineError, EngineError]


def test_a_closed_sequence_is_gone(engine: Engine) -> None:
    """Stepping it is an EngineError, closing it again is none, and its id is not given twice."""
    sequence = engine.open([1])
    engine.close(sequence)
    engine.close(sequence)
    assert isinstance(engine.step([Forward(sequence, *START)])[0], EngineError)
    assert engine.open([1]) != sequence


def test_a_sequence_takes_one_step_at_a_time(engine: Engine) -> None:
    """Two forwards of one sequence in one call contradict each other: a caller's mistake, a ValueError."""
    sequence = engine.open([1])
    with pytest.raises(ValueError, match="one step"):
        engine.step([Forward(sequence, *START), Forward(sequence, *START)])


def test_no_forwards_no_results(engine: Engine) -> None:
    """Stepping nothing yields nothing."""
    assert engine.step([]) == []


def test_texts_are_encoded_without_a_template(engine: Engine) -> None:
    """Texts get the tokenizer's marks or none, and are no longer than is wanted; names and bytes tell their tokens."""
    plain = engine.encode_text("one two", special=False)
    assert plain == engine.split("one two")
    marked = engine.encode_text("one two")
    assert [token for token in marked if token in plain] == plain
    assert len(marked) >= len(plain)
    assert engine.vocabulary.text(plain).strip() == b"one two"
    assert engine.encode_text("one two", len(marked)) == marked
    with pytest.raises(PromptTooLong):
        engine.encode_text("one two", len(marked) - 1)
    with pytest.raises(ValueError, match="at least one token"):
        engine.encode_text("", special=False)
    names = engine.token_names([*plain, *engine.vocabulary.stop_ids])
    assert len(names) == len(plain) + len(engine.vocabulary.stop_ids)
    assert all(names)
