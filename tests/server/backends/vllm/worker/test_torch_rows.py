"""Rows of a tensor: read together they are what they are one by one, in whatever precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from server.backends.vllm.worker.torch_rows import choose, gathered, rows_of, scatter
from server.backends.vllm.worker.wish import Wish
from server.decoding.logits import LARGEST, ArrayRow
from tests.strategies import examples

SIZE = 300


def random_logits(seed: int, kind: str, width: int) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=5, size=(5, width)).astype(np.float32)
    if kind == "tied":
        logits = np.round(logits)
    if kind == "odd":
        odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e-30], np.float32)
        logits = rng.choice(odd, size=logits.shape)
    return torch.from_numpy(logits)


@given(
    st.integers(0, 999),
    st.sampled_from(["plain", "tied", "odd"]),
    st.sampled_from([SIZE - 7, SIZE, SIZE + 9]),
    st.sampled_from([torch.float32, torch.bfloat16, torch.float16]),
    st.sampled_from([1, 3, 64, 999]),
)
@examples(80)
def test_read_together_or_alone(seed: int, kind: str, width: int, dtype: torch.dtype, count: int) -> None:
    """The best and their order, some known tokens, others, the mass at another temperature: all the same."""
    logits = random_logits(seed, kind, width).to(dtype)
    rng = np.random.default_rng(seed)
    indices = [4, 0, 2]
    wishes = [Wish(count, rng.integers(0, SIZE, n).astype(np.int32), t) for n, t in ((0, 1.0), (3, 0.5), (9, 1.0))]
    together = gathered(logits, indices, wishes, SIZE)
    alone = rows_of(logits, indices, lambda: wishes, SIZE)
    padded = np.full((5, max(width, SIZE)), -np.inf, np.float32)
    padded[:, :width] = logits.float().numpy()
    for index, wish, one, other in zip(indices, wishes, together, alone, strict=True):
        truth = ArrayRow(padded[index, :SIZE])
        for row in (one, other):
            assert row.size == SIZE
            assert row.best() == truth.best()
            for asked in (1, count, count + 5, SIZE):
                for found, expected in zip(row.highest(asked), truth.highest(asked), strict=True):
                    assert found.tolist() == expected.tolist()
            some = np.array([1, SIZE - 1, 77], np.int32)
            for tokens in (wish.tokens, some, truth.highest(3)[0]):
                assert row.at(tokens).tolist() == truth.at(tokens).tolist()
            for temperature in (wish.temperature, 2.0):
                assert row.mass(temperature) == pytest.approx(truth.mass(temperature), rel=1e-5)
            assert row.whole().tolist() == truth.whole().tolist()


def test_nothing_is_read_where_nothing_is_wished() -> None:
    assert rows_of(torch.zeros(2, 9), [], lambda: [], 9) == []


@pytest.mark.parametrize("temperature", [1e-5, 1.0, 100.0])
@pytest.mark.parametrize("kind", ["plain", "tied", "odd", "large", "impossible"])
def test_a_row_draws_what_is_chosen_whatever_its_logits(kind: str, temperature: float) -> None:
    """A row draws the best, or by shares: of rows that were read, of others, and on a device. Nobody reads the last
    logits.
    """
    logits = random_logits(3, kind, SIZE)
    if kind == "large":
        logits = torch.full((5, SIZE), LARGEST) * random_logits(4, "plain", SIZE).sign()
    if kind == "impossible":
        logits[:] = -float("inf")
    logits = torch.cat([logits, torch.tensor([[float("inf"), float("nan"), 0.0]] * 5)], dim=1)
    for way in ("read", "unread", "scattered"):
        found, chosen = logits.clone(), {4: 0, 0: SIZE - 1, 2: 77}
        rows = rows_of(found, [4, 0], lambda: [], SIZE)
        assert [bool(row.highest(9)[0].size) and row.ordinary for row in rows] == [kind != "odd"] * 2
        if way == "scattered":
            scatter(found, chosen)
        else:
            choose(found, chosen, dict(zip([4, 0], rows, strict=True)) if way == "read" else {})
        for index, row in enumerate(found):
            if index in chosen:
                assert row.argmax() == chosen[index]
                shares = (row / temperature).softmax(0)
                assert torch.equal(shares, torch.eye(len(row))[chosen[index]])
            else:
                assert torch.equal(row.nan_to_num(7), logits[index].nan_to_num(7))
