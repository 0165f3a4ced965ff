"""Processor of logits that somebody else has loaded: it leaves end tokens alone, whatever a mask allows."""

from __future__ import annotations

from typing import Any

import torch
from vllm.v1.sample.logits_processor.interface import LogitsProcessor


class Silencing(LogitsProcessor):  # type: ignore[misc]
    """See vLLM's interface."""

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None:
        self._end = 2

    def is_argmax_invariant(self) -> bool:
        return False

    def update_state(self, batch_update: Any) -> None:
        """Needs no state."""

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        end = logits[:, self._end].clone()
        logits.fill_(float("-inf"))
        logits[:, self._end] = end
        return logits
