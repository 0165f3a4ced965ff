"""Penalties of tokens that a text has already, and biases of single tokens: other logits, and the same viable tokens.

The order is vLLM's: biases, the repetition penalty, then frequency and presence penalties.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from server.decoding.logits import Values, finite
from server.decoding.parameters import Penalties


def penalised(
    logits: NDArray[np.floating], prompt: Sequence[int], texts: Sequence[Sequence[int]], penalties: Penalties
) -> NDArray[np.floating]:
    """Logits [rows, tokens] behind the prompt and the texts' tokens, one text a row; finite where they were changed."""
    if not any(penalties.asked.values()):
        return logits
    return np.stack([_penalised(row, prompt, text, penalties) for row, text in zip(logits, texts, strict=True)])


def _penalised(row: NDArray[np.floating], prompt: Sequence[int], text: Sequence[int], penalties: Penalties) -> Values:
    found = finite(row).astype(np.float64)
    for token, bias in penalties.bias:
        found[token] += bias
    if penalties.last >= 0:
        prompt = prompt[max(0, len(prompt) - max(0, penalties.last - len(text))) :]
        text = text[max(0, len(text) - penalties.last) :]
    if penalties.repetition != 1.0:
        met = np.array(sorted({*prompt, *text}), np.intp)
        positive = found[met] > 0
        found[met] *= np.where(positive, 1.0 / penalties.repetition, penalties.repetition)
    tokens, counts = np.unique(np.array(text, np.intp), return_counts=True)
    found[tokens] -= penalties.frequency * counts + penalties.presence
    return finite(found.clip(np.finfo(np.float32).min, np.finfo(np.float32).max))
