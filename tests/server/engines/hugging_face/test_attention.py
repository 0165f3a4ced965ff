"""Attention with grouped heads against attention head by head."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from server.engines.hugging_face.attention import NAME, grouped_attention
from server.engines.hugging_face.causal_model import CausalModel

ROWS, KEY_HEADS, COLUMNS, DIMENSION = 3, 2, 11, 8


def head_by_head(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, visible: torch.Tensor) -> np.ndarray:
    """The definition, in float64: [rows, length, heads, dimension]."""
    q, k, v = (tensor.double().numpy() for tensor in (query, key, value))
    rows, heads, length, dimension = q.shape
    output = np.zeros((rows, length, heads, dimension))
    for row in range(rows):
        for head in range(heads):
            shared = head * k.shape[1] // heads
            for place in range(length):
                weights = np.exp(k[row, shared] @ q[row, head, place] * dimension**-0.5)
                weights *= visible[row, 0, place].numpy()
                output[row, place, head] = weights @ v[row, shared] / weights.sum()
    return output


@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("masked", [False, True])
def test_each_query_head_meets_its_keys(length: int, groups: int, masked: bool) -> None:
    """Query heads attend with and without padding, for one token and for several, as each head alone would."""
    torch.manual_seed(length * 10 + groups)
    query = torch.randn(ROWS, KEY_HEADS * groups, length, DIMENSION)
    key, value = (torch.randn(ROWS, KEY_HEADS, COLUMNS, DIMENSION) for _ in range(2))
    ends = COLUMNS - length + torch.arange(length)[:, None]
    visible = (torch.arange(COLUMNS)[None, :] <= ends)[None, None].repeat(ROWS, 1, 1, 1)
    if masked:
        visible[1, :, :, :5] = False
    module = torch.nn.Module()
    module.num_key_value_groups = groups
    # `transformers` leaves the mask out where one token sees everything.
    mask = visible if masked or length > 1 else None
    output, weights = grouped_attention(module, query, key, value, mask, scaling=DIMENSION**-0.5)
    assert weights is None
    np.testing.assert_allclose(output.numpy(), head_by_head(query, key, value, visible), atol=1e-5)


def test_a_prompt_from_its_start_sees_no_future() -> None:
    """The tokens of a prompt see those up to their own where there is no mask."""
    torch.manual_seed(0)
    query = torch.randn(1, 4, 6, DIMENSION)
    key, value = (torch.randn(1, 2, 6, DIMENSION) for _ in range(2))
    module = torch.nn.Module()
    module.num_key_value_groups = 2
    output, _ = grouped_attention(module, query, key, value, None, scaling=DIMENSION**-0.5)
    causal = torch.ones(1, 1, 6, 6, dtype=torch.bool).tril()
    np.testing.assert_allclose(output.numpy(), head_by_head(query, key, value, causal), atol=1e-5)


def test_models_with_shared_heads_use_it(tiny_folder: Callable[[str], Path]) -> None:
    """A model that would call torch's attention calls this one."""
    model = CausalModel(tiny_folder("llama"), torch.float32, torch.device("cpu"))
    assert model._model.config._attn_implementation == NAME
