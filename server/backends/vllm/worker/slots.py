"""The answers so far of requests that keep slots, as vLLM's newer model runner (V2) has them: on the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from server.backends.vllm.worker.batch import Seat
from server.backends.vllm.worker.guide import Entry


def entries_of(states: Any, context: Any, seats: Mapping[int, Seat]) -> list[Entry]:
    """Entries for the rows of one step.

    `states`: vLLM's `LogitsProcRequestState`; `context`: its `LogitsContext`. Without speculative decoding each
    request has one row, and the bound on its length is its length.
    """
    rows = [(index, slot) for index, slot in enumerate(context.idx_mapping_np.tolist()) if slot in seats]
    if not rows:
        return []
    begins = [seats[slot].row.request.prompt_tokens for _, slot in rows]
    ends = [int(context.seq_lens_upper_bound_np[index]) for index, _ in rows]
    tokens = _tokens(states.all_token_ids.gpu, [slot for _, slot in rows], begins, ends)
    return [Entry(index, seats[slot].row, answer) for (index, slot), answer in zip(rows, tokens, strict=True)]


def _tokens(table: torch.Tensor, slots: list[int], begins: list[int], ends: list[int]) -> list[list[int]]:
    """Tokens of some rows of int32[slots, length], from a begin to an end each, in one transfer."""
    lengths = [max(0, end - begin) for begin, end in zip(begins, ends, strict=True)]
    columns = torch.tensor(begins, device=table.device)[:, None] + torch.arange(max(lengths), device=table.device)
    rows = torch.tensor(slots, device=table.device)[:, None]
    found = table[rows, columns.clamp(max=table.shape[1] - 1)].tolist()
    return [row[:length] for row, length in zip(found, lengths, strict=True)]
