"""Penalties and biases: vLLM's formulas, and whatever their values, finite logits."""

from __future__ import annotations

import numpy as np
import pytest

from server.decoding.parameters import NO_PENALTIES, Penalties
from server.decoding.penalties import penalised

LOGITS = np.array([[2.0, -1.0, 0.5, 3.0]], np.float32)


@pytest.mark.parametrize(
    ("penalties", "expected"),
    [
        (NO_PENALTIES, [2.0, -1.0, 0.5, 3.0]),
        (Penalties(presence=1.0), [1.0, -2.0, 0.5, 3.0]),
        (Penalties(frequency=1.0), [0.0, -2.0, 0.5, 3.0]),
        (Penalties(presence=-2.0, frequency=0.5), [3.0, 0.5, 0.5, 3.0]),
        (Penalties(repetition=2.0), [1.0, -2.0, 0.5, 1.5]),
        (Penalties(repetition=0.5), [4.0, -0.5, 0.5, 6.0]),
        (Penalties(bias=((2, 100.0), (3, -100.0))), [2.0, -1.0, 100.5, -97.0]),
        (Penalties(frequency=1.0, repetition=2.0, last=2), [0.0, -3.0, 0.5, 3.0]),
        (Penalties(frequency=1.0, repetition=2.0, last=3), [-1.0, -3.0, 0.5, 3.0]),
        (Penalties(frequency=1.0, repetition=2.0, last=4), [-1.0, -3.0, 0.5, 1.5]),
        (Penalties(frequency=1.0, repetition=2.0, last=99), [-1.0, -3.0, 0.5, 1.5]),
        (Penalties(presence=2.0, repetition=2.0, last=0), [2.0, -1.0, 0.5, 3.0]),
        (Penalties(last=1), [2.0, -1.0, 0.5, 3.0]),
        (Penalties(bias=((1, 3.0),), repetition=2.0, presence=1.0), [0.0, 0.0, 0.5, 1.5]),
    ],
)
def test_what_is_taken_off(penalties: Penalties, expected: list[float]) -> None:
    """Behind the prompt 3 and the text 0, 0, 1: only repetition looks at the prompt."""
    assert penalised(LOGITS, (3,), [(0, 0, 1)], penalties)[0] == pytest.approx(expected)


def test_rows_have_their_own_texts() -> None:
    """Each beam pays for its own tokens."""
    found = penalised(np.zeros((2, 3), np.float32), (), [(0,), (2, 2)], Penalties(frequency=1.0))
    assert found.tolist() == [[-1.0, 0.0, 0.0], [0.0, 0.0, -2.0]]


def test_hostile_logits_stay_comparable() -> None:
    """NaN and infinities are finite behind any penalty."""
    row = np.array([[np.nan, np.inf, -np.inf, 1e30]], np.float32)
    for repetition in (0.01, 100.0):
        penalties = Penalties(2.0, 2.0, repetition, ((0, 100.0), (2, -100.0)))
        assert np.isfinite(penalised(row, (0, 1, 2, 3), [(0, 1, 2, 3) * 50], penalties)).all()
