"""Log-probabilities of given tokens against the model without a cache."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from server.engines.contract import EngineError
from server.engines.hugging_face.causal_model import CausalModel
from server.engines.hugging_face.engine import TransformersEngine
from tests.server.engines.tiny import CONTEXT_WINDOW, TOKENS


def plain_log_probabilities(folder: Path, prompt: list[int], tokens: list[int]) -> np.ndarray:
    """The whole text in one pass of `transformers`, in float64."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, local_files_only=True).eval()
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[*prompt, *tokens]]), use_cache=False).logits[0].double()
    table = torch.log_softmax(logits, dim=-1)
    return np.array([float(table[len(prompt) - 1 + place, token]) for place, token in enumerate(tokens)])


@pytest.mark.parametrize("kind", ["llama", "sliding windows", "learned positions"])
@pytest.mark.parametrize("number", [1, 2, 30])
def test_they_are_those_of_the_plain_model(tiny_folder: Callable[[str], Path], kind: str, number: int) -> None:
    """Whether the prompt is new, known, or begins like a known one."""
    draw = random.Random(number)
    folder = tiny_folder(kind)
    prompt, tokens = draw.choices(range(TOKENS), k=33), draw.choices(range(TOKENS), k=number)
    engine = TransformersEngine(folder, threads=1, dtype="float32")
    for asked in (prompt, prompt, [*prompt[:-5], 4, 2]):
        scores = engine.log_probabilities(asked, tokens)
        assert (scores.dtype, scores.shape) == (np.dtype(np.float64), (number,))
        np.testing.assert_allclose(scores, plain_log_probabilities(folder, asked, tokens), atol=1e-4)


def test_all_tokens_together_are_certain(llama: TransformersEngine) -> None:
    """The probabilities of all of the model's tokens at one place add up to 1."""
    scores = [llama.log_probabilities([1, 2, 3], [token])[0] for token in range(TOKENS)]
    assert np.exp(scores).sum() == pytest.approx(1, abs=1e-9)


def test_the_tokens_take_one_call(llama: TransformersEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for the prompt, if it isn't known, and one for the tokens but the last, after which nothing is asked."""
    calls: list[list[int]] = []
    call = CausalModel._call

    def recorded(self, rows, chunks, places):  # type: ignore[no-untyped-def]
        calls.append([len(chunk) for chunk in chunks])
        return call(self, rows, chunks, places)

    monkeypatch.setattr(CausalModel, "_call", recorded)
    llama.log_probabilities([5] * 20, [1, 2, 3])
    llama.log_probabilities([5] * 20, [3, 2])
    llama.log_probabilities([5] * 20, [3])
    assert calls == [[20], [2], [1]]


def test_no_tokens_no_scores(llama: TransformersEngine) -> None:
    """An empty answer has no log-probabilities."""
    assert llama.log_probabilities([1, 2], []).shape == (0,)


@pytest.mark.parametrize(
    ("prompt", "tokens"),
    [([], [1]), ([TOKENS], [1]), ([1], [TOKENS]), ([1], [-1]), ([1], [1] * CONTEXT_WINDOW)],
    ids=["no prompt", "unknown in the prompt", "unknown", "negative", "beyond the window"],
)
def test_impossible_texts_are_refused(llama: TransformersEngine, prompt: list[int], tokens: list[int]) -> None:
    """A text that the model can't read is a ValueError."""
    with pytest.raises(ValueError, match=r"prompt|token|window"):
        llama.log_probabilities(prompt, tokens)


def test_the_whole_window_can_be_scored(llama: TransformersEngine) -> None:
    """A text may fill the context window to its last token."""
    assert np.isfinite(llama.log_probabilities([1], [2] * (CONTEXT_WINDOW - 1))).all()


@pytest.mark.parametrize("poison", [9, 13])
def test_a_failing_model_is_an_engine_error(
    llama: TransformersEngine, monkeypatch: pytest.MonkeyPatch, poison: int
) -> None:
    """A model may fail at the prompt as at the tokens; nothing stays open, and the next one is scored."""
    call = CausalModel._call

    def fragile(self, rows, chunks, places):  # type: ignore[no-untyped-def]
        if poison in chunks[0]:
            raise MemoryError("no room")
        return call(self, rows, chunks, places)

    monkeypatch.setattr(CausalModel, "_call", fragile)
    with pytest.raises(EngineError):
        llama.log_probabilities([1, 9], [2, 13, 3])
    assert llama._sequences == {}
    assert llama.log_probabilities([1, 2], [3, 4]).shape == (2,)
