"""A chat becomes token ids, by the model's own template. Knows tokenizers and templates, no model."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from jinja2 import TemplateError
from transformers import AutoTokenizer

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.engines.contract import Message, PromptTooLong
from server.engines.prompt_bound import PromptBound

BOUND_BYTES = 256 << 10
"""Shorter chats are tokenised without asking first whether they can fit: it takes a tenth of a second."""


class ChatEncoder:
    """The tokenizer of a local model folder with its chat template; any thread may use it."""

    def __init__(self, path: Path, vocabulary: Vocabulary | None = None) -> None:
        """`vocabulary`: the tokenizer's, by which a chat that is too long is known without tokenising it."""
        self._tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        # Fast tokenizers refuse to be borrowed by two threads while one of them changes its padding.
        self._lock = threading.Lock()
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        self._bound = PromptBound(backend, vocabulary) if backend is not None and vocabulary is not None else None

    def encode(self, messages: Sequence[Message], most: int | None = None) -> list[int]:
        """Ids of the rendered chat with the generation prompt. Raises ValueError if the template refuses.

        Raises PromptTooLong for more ids than `most`, before they are made where that can be known.
        """
        chat = [dict(message) for message in messages]
        if not chat:
            raise ValueError("a chat needs at least one message")
        text = self._rendered(chat)
        if (
            most is not None
            and self._bound is not None
            and len(text) > BOUND_BYTES
            and self._bound.more_than(text, most)
        ):
            raise PromptTooLong(f"the chat has more than {most} tokens")
        ids = self.split(text)
        if most is not None and len(ids) > most:
            raise PromptTooLong(f"the chat has more than {most} tokens: {len(ids)}")
        return ids

    def _rendered(self, chat: list[dict[str, str]]) -> str:
        try:
            with self._lock:
                return str(self._tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False))
        except (TemplateError, TypeError) as error:
            # TypeError: the template computes with a field that is missing or of another type.
            raise ValueError(f"the chat template refuses these messages: {error}") from error

    def split(self, text: str) -> list[int]:
        """Ids of a text, without marks of begin and end."""
        with self._lock:
            ids = self._tokenizer.encode(text, add_special_tokens=False)
        return [int(token) for token in ids]
