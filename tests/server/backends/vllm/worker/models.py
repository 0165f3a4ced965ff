"""Models that are functions, for engines in miniature."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from grammar_cache.grammar import CompiledGrammar
from tests.server.decoding.trials.trials import random_logits

Model = Callable[[tuple[int, ...]], NDArray[np.float32]]
"""Function from a text in tokens, prompt included, to logits."""

LENGTH = 256


def model_of(kind: str, number: int, grammar: CompiledGrammar, padding: int) -> Model:
    """Logits by the text, and nothing else; padded as models do."""

    def model(text: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng(int.from_bytes(blake2b(f"{number} {text}".encode(), digest_size=8).digest()))
        row = random_logits(kind, rng, grammar, 1)[0]
        return np.concatenate([row, rng.normal(scale=9, size=padding).astype(np.float32)])

    return model
