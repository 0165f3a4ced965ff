"""Parameters of drawing for drafts, on a processor: vLLM's kernel for it writes into a copy that nobody reads.

Drafts then had temperatures and `top_p` of whatever lay in memory. A greedy text beside a drawn one was divided by
zero, and ended in an error.
"""

from __future__ import annotations

import torch
from vllm.v1.sample import rejection_sampler


def mend() -> None:
    """Has vLLM's sampler of drafts, in this process, call `expanded`."""
    rejection_sampler.expand_batch_to_tokens = expanded


def expanded(
    x: torch.Tensor, cu_num_tokens: torch.Tensor, num_tokens: int, replace_from: float = 0, replace_to: float = 0
) -> torch.Tensor:
    """Does what vLLM's `expand_batch_to_tokens` says: the value of each request, once for each of its drafts."""
    counts = torch.diff(cu_num_tokens, prepend=cu_num_tokens.new_zeros(1))
    return x.masked_fill(x == replace_from, replace_to).repeat_interleave(counts, output_size=num_tokens)
