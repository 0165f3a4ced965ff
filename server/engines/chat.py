"""A chat becomes token ids, by the model's own template. Knows tokenizers and templates, no model."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from jinja2 import TemplateError
from transformers import AutoTokenizer

from server.engines.contract import Message


class ChatEncoder:
    """The tokenizer of a local model folder with its chat template; any thread may use it."""

    def __init__(self, path: Path) -> None:
        self._tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        # Fast tokenizers refuse to be borrowed by two threads while one of them changes its padding.
        self._lock = threading.Lock()

    def encode(self, messages: Sequence[Message]) -> list[int]:
        """Ids of the rendered chat with the generation prompt. Raises ValueError if the template refuses."""
        chat = [dict(message) for message in messages]
        if not chat:
            raise ValueError("a chat needs at least one message")
        try:
            with self._lock:
                ids = self._tokenizer.apply_chat_template(
                    chat, add_generation_prompt=True, tokenize=True, return_dict=False
                )
        except (TemplateError, TypeError) as error:
            # TypeError: the template computes with a field that is missing or of another type.
            raise ValueError(f"the chat template refuses these messages: {error}") from error
        return [int(token) for token in ids]

    def split(self, text: str) -> list[int]:
        """Ids of a text, without marks of begin and end."""
        with self._lock:
            ids = self._tokenizer.encode(text, add_special_tokens=False)
        return [int(token) for token in ids]
