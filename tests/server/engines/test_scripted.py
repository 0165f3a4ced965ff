"""The scripted engine follows rows as any engine, and its scripts are pure functions."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.engines.contract import EngineError, Forward
from tests.server.engines.scripted import History, Script, ScriptedEngine
from tests.server.engines.scripts import ScriptedError, fail_at, follow, hostile, non_finite, seeded, uniform

VOCABULARY = Vocabulary([b"a", b"b", b"ab", b"abc", b"\n", None], [5])
SIZE = VOCABULARY.size
START = ((0,), ((),))


def recording(seen: list[History]) -> Script:
    def script(history: History) -> NDArray[np.float32]:
        seen.append(history)
        return np.full(SIZE, len(history), np.float32)

    return script


def test_histories_follow_parents_and_tokens() -> None:
    """Row i's history is its parent's with its tokens; the prompt is no part of it."""
    seen: list[History] = []
    engine = ScriptedEngine(VOCABULARY, recording(seen))
    sequence = engine.open([3, 3, 3])
    engine.step([Forward(sequence, *START)])
    engine.step([Forward(sequence, (0, 0), ((1,), (2, 3)))])
    logits = engine.step([Forward(sequence, (1, 0, 1), ((4,), (4, 4), (0,)))])[0]
    assert seen == [(), (1,), (2, 3), (2, 3, 4), (1, 4, 4), (2, 3, 0)]
    assert isinstance(logits, np.ndarray)
    assert (logits.dtype, logits.tolist()) == (np.dtype(np.float32), [[3.0] * SIZE] * 3)


def test_steps_and_rows_are_counted() -> None:
    """`steps` and `rows_computed` tell what was asked, `open_sequences` what is still held."""
    engine = ScriptedEngine(VOCABULARY, uniform(SIZE))
    assert (engine.steps, engine.rows_computed, engine.open_sequences) == (0, 0, 0)
    first, second = engine.open([1]), engine.open([1])
    engine.step([Forward(first, *START), Forward(second, *START)])
    engine.step([Forward(first, (0, 0), ((1,), (2,)))])
    assert (engine.steps, engine.rows_computed, engine.open_sequences) == (2, 4, 2)
    engine.close(first)
    engine.close(first)
    assert engine.open_sequences == 1


def test_a_script_that_fails_ends_its_sequence_only() -> None:
    """A sequence whose row is long enough to fail gets the error as its cause; the others go on."""
    engine = ScriptedEngine(VOCABULARY, fail_at(2, uniform(SIZE)))
    long, short = engine.open([1]), engine.open([1])
    engine.step([Forward(long, *START), Forward(short, *START)])
    failed, fine = engine.step([Forward(long, (0,), ((1, 1),)), Forward(short, (0,), ((1,),))])
    assert isinstance(failed, EngineError)
    assert isinstance(failed.__cause__, ScriptedError)
    assert isinstance(fine, np.ndarray)
    assert isinstance(engine.step([Forward(long, (0,), ((1,),))])[0], EngineError)


@pytest.mark.parametrize(
    "logits", [np.zeros(SIZE + 1, np.float32), np.zeros(SIZE, np.float64), np.zeros((1, SIZE), np.float32)]
)
def test_a_script_of_the_wrong_shape_is_an_error(logits: NDArray[np.float32]) -> None:
    """Logits that are not float32 of the vocabulary's size are no answer."""
    engine = ScriptedEngine(VOCABULARY, lambda _: logits)
    assert isinstance(engine.step([Forward(engine.open([1]), *START)])[0], EngineError)


@pytest.mark.parametrize(("text", "expected"), [("abcab", [3, 2]), ("ba", [1, 0]), ("é", [0, 0]), ("aab", [0, 2])])
def test_encode_matches_greedily(text: str, expected: list[int]) -> None:
    """The longest token wins, and a byte that nothing spells is token 0."""
    engine = ScriptedEngine(VOCABULARY, uniform(SIZE))
    assert engine.encode([{"role": "user", "content": text}]) == expected


def test_an_empty_prompt_is_refused() -> None:
    """A chat of no token raises ValueError; the empty text itself has none."""
    engine = ScriptedEngine(VOCABULARY, uniform(SIZE))
    assert engine.split("") == []
    with pytest.raises(ValueError, match="token"):
        engine.encode([{"role": "user", "content": ""}])


@pytest.mark.parametrize("chat", [[], [{"role": "user"}], [{"content": "a"}]])
def test_an_incomplete_chat_is_refused(chat: list[dict[str, str]]) -> None:
    """A chat without messages, or a message without its parts, raises ValueError."""
    with pytest.raises(ValueError, match="chat"):
        ScriptedEngine(VOCABULARY, uniform(SIZE)).encode(chat)


@pytest.mark.parametrize("script", [seeded(40, 3), non_finite(40, 3)], ids=["seeded", "non-finite"])
def test_random_scripts_are_pure(script: Script) -> None:
    """Equal histories give equal logits, another history others."""
    histories = [(), (1,), (1, 2), (2, 1), (12,)]
    first = [script(history) for history in histories]
    again = [script(history) for history in reversed(histories)][::-1]
    np.testing.assert_array_equal(np.stack(first), np.stack(again))
    assert len({logits.tobytes() for logits in first}) == len(histories)


def test_seeds_differ_and_processes_agree() -> None:
    """Another seed gives other logits; another process gives the same."""
    module = "tests.server.engines.scripts"
    program = f"import sys; from {module} import seeded; sys.stdout.buffer.write(seeded(9, 5)((4, 2)).tobytes())"
    elsewhere = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout
    assert elsewhere == seeded(9, 5)((4, 2)).tobytes()
    assert elsewhere != seeded(9, 6)((4, 2)).tobytes()


def test_non_finite_scripts_hold_every_kind() -> None:
    """Over some histories there are NaN, both infinities, finite numbers, and answers of one kind alone."""
    logits = np.stack([non_finite(30, 1)((number,)) for number in range(60)])
    assert np.isnan(logits).any()
    assert (logits == np.inf).any()
    assert (logits == -np.inf).any()
    assert np.isfinite(logits).any()
    assert any(np.isnan(row).all() for row in logits)


def test_hostile_scripts_leave_nothing_for_others() -> None:
    """The preferred tokens hold all of the softmax in float32, after any text."""
    logits = hostile(6, [1, 4])((1, 1, 4))
    weights = np.exp(logits - logits.max())
    assert (weights / weights.sum()).tolist() == [0, 0.5, 0, 0, 0.5, 0]


def test_follow_prefers_its_text_and_then_the_end() -> None:
    """Each position prefers its token of the text, then `after`, or nothing without it."""
    script = follow(6, [2, 0, 3], after=5)
    histories = [(), (2,), (2, 0), (2, 0, 3), (1, 1, 1, 1)]
    assert [int(script(history).argmax()) for history in histories] == [2, 0, 3, 5, 5]
    assert follow(6, [2])((2,)).tolist() == [0] * 6
