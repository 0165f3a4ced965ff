"""Prompts that begin alike: less is computed, and nothing else changes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from server.engines.contract import EngineError, Forward, SequenceId
from server.engines.hugging_face.causal_model import CausalModel
from server.engines.hugging_face.engine import SHARED_REST, TransformersEngine
from tests.server.engines.tiny import Reference

START = ((0,), ((),))
BEGINNING = tuple(random.Random(1).choices(range(280), k=40))
Calls = list[list[int]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """The chunks' lengths of each model call from now on."""
    made: Calls = []
    extend = CausalModel.extend

    def recorded(self, rows, chunks):  # type: ignore[no-untyped-def]
        made.append([len(chunk) for chunk in chunks])
        return extend(self, rows, chunks)

    monkeypatch.setattr(CausalModel, "extend", recorded)
    return made


def logits_after(engine: TransformersEngine, forwards: list[Forward]) -> list[NDArray[np.float32]]:
    results = engine.step(forwards)
    assert not any(isinstance(result, EngineError) for result in results)
    return [result for result in results if isinstance(result, np.ndarray)]


def begin(engine: TransformersEngine, prompt: tuple[int, ...]) -> tuple[SequenceId, NDArray[np.float32]]:
    sequence = engine.open(prompt)
    [logits] = logits_after(engine, [Forward(sequence, *START)])
    return sequence, logits[0]


def greedy(engine: TransformersEngine, prompts: list[tuple[int, ...]], steps: int) -> list[list[int]]:
    """The best tokens after each prompt; all of them are decoded together."""
    sequences = [engine.open(prompt) for prompt in prompts]
    forwards = [Forward(sequence, *START) for sequence in sequences]
    texts: list[list[int]] = [[] for _ in prompts]
    for _ in range(steps):
        best = [int(logits[0].argmax()) for logits in logits_after(engine, forwards)]
        for text, token in zip(texts, best, strict=True):
            text.append(token)
        forwards = [Forward(sequence, (0,), ((token,),)) for sequence, token in zip(sequences, best, strict=True)]
    return texts


@pytest.mark.parametrize("kind", ["llama", "sliding windows", "learned positions"])
def test_greedy_texts_are_those_without_the_cache(tiny_folder: Callable[[str], Path], kind: str) -> None:
    """Prompts that share beginnings of many lengths, some of them twice, go on as without the cache."""
    draw = random.Random(5)
    prompts = [(*BEGINNING[: draw.randint(1, 40)], *draw.choices(range(280), k=draw.randint(1, 9))) for _ in range(9)]
    prompts += prompts[:3]
    engines = [
        TransformersEngine(tiny_folder(kind), threads=1, dtype="float32", prefix_cache_bytes=size)
        for size in (0, 1 << 20, 4000)
    ]
    without, plenty, little = ([greedy(engine, prompts, 12) for _ in range(2)] for engine in engines)
    assert plenty == without
    assert little == without


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["llama", "sliding windows", "learned positions"])
def test_rows_after_a_known_beginning_are_what_their_texts_are(
    tiny_folder: Callable[[str], Path], kind: str, seed: int
) -> None:
    """Sequences opened, stepped in trees and closed in any order have the logits of their whole texts."""
    draw = random.Random(seed)
    folder = tiny_folder(kind)
    engine, reference = TransformersEngine(folder, threads=1, dtype="float32"), Reference(folder)
    texts: dict[SequenceId, list[tuple[int, ...]]] = {}
    started: set[SequenceId] = set()
    for _ in range(12):
        for _ in range(draw.randint(0, 3)):
            prompt = (*BEGINNING[: draw.choice([0, 20, 40])], *draw.choices(range(3), k=draw.randint(1, 4)))
            texts[engine.open(prompt)] = [prompt]
        forwards = []
        for sequence in draw.sample(sorted(texts), k=min(4, len(texts))):
            rows = range(draw.randint(1, 3)) if sequence in started else ()
            parents = tuple(draw.randrange(len(texts[sequence])) for _ in rows) or (0,)
            tokens = tuple(tuple(draw.choices(range(280), k=draw.randint(1, 2))) for _ in rows) or ((),)
            forwards.append(Forward(sequence, parents, tokens))
        for forward, logits in zip(forwards, logits_after(engine, forwards), strict=True):
            before = texts[forward.sequence]
            after = [before[parent] + tokens for parent, tokens in zip(forward.parents, forward.tokens, strict=True)]
            expected = np.stack([reference.logits(text)[: engine.vocabulary.size] for text in after])
            np.testing.assert_allclose(logits, expected, atol=1e-3, rtol=0)
            texts[forward.sequence] = after
            started.add(forward.sequence)
        for sequence in [key for key in texts if draw.random() < 0.2]:
            engine.close(sequence)
            texts.pop(sequence)


def test_only_the_rest_is_computed(llama: TransformersEngine, calls: Calls) -> None:
    """The model is given what is new after a known beginning; the last token at least."""
    begin(llama, (*BEGINNING, 1, 2, 3))
    begin(llama, (*BEGINNING, 4, 5))
    begin(llama, BEGINNING)
    begin(llama, BEGINNING[:10])
    assert calls == [[43], [2], [1], [10]]


def test_an_identical_prompt_costs_nothing(llama: TransformersEngine, calls: Calls) -> None:
    """Prompts that come again have the same logits, to the bit, without a model call, and go on like the first."""
    first, logits = begin(llama, BEGINNING)
    again, same = begin(llama, BEGINNING)
    np.testing.assert_array_equal(same, logits)
    assert calls == [[40]]
    forwards = [Forward(first, (0,), ((7,),)), Forward(again, (0,), ((7,),))]
    one, other = logits_after(llama, forwards)
    np.testing.assert_allclose(other, one, atol=1e-5)


def test_prompts_of_one_step_learn_from_each_other(llama: TransformersEngine, calls: Calls) -> None:
    """Common prompts of sequences that begin together are computed by the first, and the others compute what differs,
    at once.
    """
    prompts = [(*BEGINNING, 1), (*BEGINNING, 2, 3), (*BEGINNING, 3), (*BEGINNING, 1)]
    results = logits_after(llama, [Forward(llama.open(prompt), *START) for prompt in prompts])
    assert calls == [[41], [2, 1]]
    np.testing.assert_array_equal(results[3], results[0])


def test_a_long_rest_is_computed_alone(llama: TransformersEngine, calls: Calls) -> None:
    """A long rest is computed before the next prompt is looked up, which may begin with it."""
    begin(llama, BEGINNING[:20])
    long = (*BEGINNING[:20], *(9,) * (SHARED_REST + 1))
    logits_after(llama, [Forward(llama.open((*long, end)), *START) for end in (1, 2)])
    assert calls == [[20], [SHARED_REST + 2], [1]]


def test_sequences_never_write_into_what_is_kept(llama: TransformersEngine) -> None:
    """Sequences that start from the same prompt and go different ways leave it as it was."""
    _, logits = begin(llama, BEGINNING)
    for token in (1, 2):
        sequence, _ = begin(llama, BEGINNING)
        logits_after(llama, [Forward(sequence, (0, 0), ((token, 5), (token,)))])
        state = llama._sequences[sequence].rows
        assert state is not None
        with torch.inference_mode():
            for tensor in (tensor for layer in state.layers for tensor in layer):
                tensor.zero_()
    sequence, again = begin(llama, BEGINNING)
    np.testing.assert_array_equal(again, logits)
    fresh = logits_after(llama, [Forward(sequence, (0,), ((3,),))])[0]
    expected = begin(llama, (*BEGINNING, 3))[1]
    np.testing.assert_allclose(fresh[0], expected, atol=1e-4)


def test_without_the_cache_every_prompt_is_computed(tiny_folder: Callable[[str], Path], calls: Calls) -> None:
    """0 bytes turn it off."""
    engine = TransformersEngine(tiny_folder("llama"), threads=1, dtype="float32", prefix_cache_bytes=0)
    calls.clear()
    begin(engine, BEGINNING)
    begin(engine, BEGINNING)
    assert calls == [[40], [40]]


def test_a_rest_that_fails_harms_no_other(llama: TransformersEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors meet only the one of the prompts whose rests share a call which the model fails at."""
    begin(llama, BEGINNING)
    extend = CausalModel.extend

    def fragile(self, rows, chunks):  # type: ignore[no-untyped-def]
        if any(13 in chunk for chunk in chunks):
            raise MemoryError("no room for 13")
        return extend(self, rows, chunks)

    monkeypatch.setattr(CausalModel, "extend", fragile)
    results = llama.step([Forward(llama.open((*BEGINNING, token)), *START) for token in (1, 13, 2)])
    assert [type(result) for result in results] == [np.ndarray, EngineError, np.ndarray]
    assert isinstance(llama.step([Forward(llama.open((*BEGINNING, 13)), *START)])[0], EngineError)
