"""Tiny models, random or with a will of their own, and a tokenizer of single bytes, merges and special tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
from transformers.cache_utils import Cache

from grammar_cache.hosts.conformance.hostile_scores import Model
from tests.server.engines.tiny import TOKENS, save_tokenizer

PADDED = 20
"""Logits of the models beyond the tokenizer's tokens, and more."""


@cache
def tokenizer() -> Any:
    with TemporaryDirectory() as folder:
        save_tokenizer(Path(folder))
        return AutoTokenizer.from_pretrained(folder, pad_token="<|im_end|>", padding_side="left")


class Wilful(LlamaForCausalLM):  # type: ignore[misc]
    """A model whose logits are a function of the tokens behind its prompt, where it has one."""

    wants: Callable[[list[int]], torch.Tensor] | None = None
    prompt_length = 0

    def forward(self, input_ids: torch.Tensor, **more: Any) -> Any:  # the signature of what it replaces
        # By its type: transformers 5.24 renamed the argument.
        before = next((value.get_seq_length() for value in more.values() if isinstance(value, Cache)), 0)
        output = super().forward(input_ids=input_ids, **more)
        if self.wants is not None:
            if before == 0:
                self.texts = input_ids.tolist()
            else:
                self.texts = [[*text[:before], *row] for text, row in zip(self.texts, input_ids.tolist(), strict=True)]
            kept = output.logits.shape[1]
            for row, text in enumerate(self.texts):
                for back in range(kept):
                    tokens = text[: len(text) - (kept - 1 - back)]
                    output.logits[row, back] = self.wants(tokens[self.prompt_length :])
        return output


def model(seed: int = 7, wants: Model | None = None, prompt_length: int = 0) -> Wilful:
    """Model with random weights, or with logits that are told."""
    torch.manual_seed(seed)
    made: Wilful = Wilful(
        LlamaConfig(
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            vocab_size=TOKENS + PADDED,
            max_position_embeddings=160,
            initializer_range=0.5,
            eos_token_id=tokenizer().eos_token_id,
            pad_token_id=tokenizer().eos_token_id,
        )
    ).eval()
    if wants is not None:
        made.wants = lambda tokens: torch.nn.functional.pad(
            torch.from_numpy(wants(tokens)), (0, TOKENS + PADDED - len(wants(tokens))), value=50.0
        )
        made.prompt_length = prompt_length
    return made
