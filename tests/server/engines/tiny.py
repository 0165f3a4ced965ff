"""Tiny models with random weights, in folders as `transformers` saves them, and what they must answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    OpenAIGPTConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
)

CONTEXT_WINDOW = 96
TOKENS = 300
"""Tokens of the models: more than the tokenizer has."""

TEMPLATE = (
    "{% for message in messages %}"
    "{% if message.role not in ['system', 'user', 'assistant'] %}"
    "{{ raise_exception('unknown role ' + message.role) }}{% endif %}"
    "<|im_start|>{{ message.role + '\n' + message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

CONFIGURATIONS: dict[str, PreTrainedConfig] = {
    "llama": LlamaConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=TOKENS,
        max_position_embeddings=CONTEXT_WINDOW,
        initializer_range=0.3,
        tie_word_embeddings=True,
    ),
    "sliding windows": MistralConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=TOKENS,
        max_position_embeddings=CONTEXT_WINDOW,
        initializer_range=0.3,
        sliding_window=7,
    ),
    "learned positions": GPT2Config(
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=CONTEXT_WINDOW,
        vocab_size=TOKENS,
        initializer_range=0.3,
        bos_token_id=0,
        eos_token_id=1,
    ),
    "no cache": OpenAIGPTConfig(n_embd=32, n_layer=1, n_head=4, n_positions=CONTEXT_WINDOW, vocab_size=TOKENS),
    "recurrent": MambaConfig(hidden_size=16, num_hidden_layers=1, vocab_size=TOKENS),
}


def save_tokenizer(folder: Path, extra_tokens: int = 0) -> None:
    """A byte-level BPE of 256 bytes, some merges, two special tokens, and `extra_tokens` without a use."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    trainer = BpeTrainer(
        vocab_size=280,
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the quick brown fox says the same thing over and over again"] * 3, trainer)
    tokenizer.add_tokens([f"extra{number}" for number in range(extra_tokens)])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", chat_template=TEMPLATE)
    fast.save_pretrained(folder)


def save_model(folder: Path, kind: str, extra_tokens: int = 0) -> Path:
    """A whole model folder; the weights are the same at every call."""
    torch.manual_seed(7)
    AutoModelForCausalLM.from_config(CONFIGURATIONS[kind], dtype=torch.float32).save_pretrained(folder)
    save_tokenizer(folder, extra_tokens)
    return folder


class Reference:
    """The model of a folder without any cache: every text is computed from its first token, alone."""

    def __init__(self, folder: Path) -> None:
        self._model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
        self._model.eval()

    def logits(self, text: tuple[int, ...]) -> NDArray[np.float32]:
        """Logits after the whole text, for every token of the model."""
        with torch.inference_mode():
            output = self._model(input_ids=torch.tensor([text]), use_cache=False)
        logits: NDArray[np.float32] = output.logits[0, -1].numpy()
        return logits
