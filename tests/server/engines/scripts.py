"""Ready-made scripts for `ScriptedEngine`: models that are fair, hostile, broken, or bent on one text.

Each is a pure function of the history, the same in every process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from tests.server.engines.scripted import History, Script

PREFERENCE = 1000.0
"""Above every other logit: softmax in float32 leaves the others exactly nothing."""


class ScriptedError(RuntimeError):
    """Error that `fail_at` raises."""


def uniform(size: int) -> Script:
    """Every token is as likely as any other."""

    def script(history: History) -> NDArray[np.float32]:
        return np.zeros(size, np.float32)

    return script


def seeded(size: int, seed: int, spread: float = 4.0) -> Script:
    """Normally distributed logits of that standard deviation, drawn anew for each history."""

    def script(history: History) -> NDArray[np.float32]:
        return _generator(seed, history).standard_normal(size, dtype=np.float32) * np.float32(spread)

    return script


def hostile(size: int, preferred: Iterable[int]) -> Script:
    """All mass on `preferred`, for ever: with tokens that never close, a model that would not end."""
    logits = np.zeros(size, np.float32)
    logits[list(preferred)] = PREFERENCE

    def script(history: History) -> NDArray[np.float32]:
        return logits.copy()

    return script


def non_finite(size: int, seed: int, share: float = 0.5) -> Script:
    """Random logits of which about `share` are NaN, +inf or -inf; now and then all of one kind."""
    kinds = np.array([np.nan, np.inf, -np.inf], np.float32)

    def script(history: History) -> NDArray[np.float32]:
        generator = _generator(seed, history)
        if generator.random() < 0.25:
            return np.full(size, generator.choice(kinds), np.float32)
        logits = generator.standard_normal(size, dtype=np.float32)
        broken = generator.random(size) < share
        logits[broken] = generator.choice(kinds, int(broken.sum()))
        return logits

    return script


def follow(size: int, tokens: Sequence[int], after: int | None = None) -> Script:
    """Wants to say exactly `tokens`, then `after` (an end token, say; None: no preference).

    Away from that path, the preferences go on by position, as a model does that was pushed off its text.
    """

    def script(history: History) -> NDArray[np.float32]:
        logits = np.zeros(size, np.float32)
        wanted = tokens[len(history)] if len(history) < len(tokens) else after
        if wanted is not None:
            logits[wanted] = PREFERENCE
        return logits

    return script


def fail_at(length: int, script: Script) -> Script:
    """`script`, until a row has that many tokens: then it raises `ScriptedError`."""

    def failing(history: History) -> NDArray[np.float32]:
        if len(history) >= length:
            raise ScriptedError(f"scripted to fail after {length} tokens")
        return script(history)

    return failing


def _generator(seed: int, history: History) -> np.random.Generator:
    # Python's own hash of a tuple may differ between versions; a digest does not.
    text = np.array([seed, *history], "<i8").tobytes()
    return np.random.default_rng(int.from_bytes(blake2b(text, digest_size=16).digest(), "little"))
