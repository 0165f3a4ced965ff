"""Attention in which the query heads that share keys and values are computed together.

`transformers` hands a step of one token to torch with all query heads apart, and repeats keys and values for each
of them where there is a mask. On a processor both read the keys and values once for each query head, which took
almost half of a step of 16 rows; here they are read once for each head of their own.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "grouped_sdpa"


def group_heads(model: Any) -> None:
    """Makes a model that uses torch's attention use `grouped_attention`."""
    AttentionInterface.register(NAME, grouped_attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    if model.config._attn_implementation == "sdpa" and model._can_set_attn_implementation():
        model.set_attn_implementation(NAME)


def grouped_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """An attention function as `transformers` wants it: queries [rows, heads, length, dimension] to
    [rows, length, heads, dimension]. What it has no part in (prompts from their start, as many key heads as query
    heads, biases) goes to the "sdpa" of `transformers`.
    """
    rows, heads, length, dimension = query.shape
    groups = heads // key.shape[1]
    from_the_start = attention_mask is None and length > 1
    special = any(options.get(name) is not None for name in ("position_bias", "softcap"))
    if groups == 1 or from_the_start or special or (attention_mask is not None and attention_mask.shape[1] != 1):
        plain, _ = sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **options)
        return plain, None
    if attention_mask is not None:
        attention_mask = attention_mask.repeat(1, 1, groups, 1)
    grouped = query.reshape(rows, key.shape[1], groups * length, dimension)
    output = scaled_dot_product_attention(grouped, key, value, attn_mask=attention_mask, scale=scaling)
    return output.reshape(rows, heads, length, -1).transpose(1, 2).contiguous(), None
