"""Chats of a model in a local folder: its names, its tokens and its chat template, before anything runs it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.engines.chat import ChatEncoder
from server.engines.contract import ChatModel, ChatTemplate, Message, Rendering


class FolderModel(ChatModel):
    """See `ChatModel`. `context_window` is for whoever runs the model to say."""

    def __init__(self, folder: Path, name: str | None, cache: Path | None) -> None:
        """`cache`: the folder for what is made of the tokenizer; without one it is made at each start."""
        self.name = name or folder.name
        self.vocabulary = Vocabulary.from_pretrained(folder, cache=cache)
        self._chat = ChatEncoder(folder, self.vocabulary)
        self.chat_template = self._chat.template

    @property
    def template(self) -> ChatTemplate:
        return self._chat.facts

    def encode(
        self, messages: Sequence[Message], most: int | None = None, rendering: Rendering | None = None
    ) -> list[int]:
        return self._chat.encode(messages, most, rendering)

    def encode_text(self, text: str, most: int | None = None, *, special: bool = True) -> list[int]:
        return self._chat.encode_text(text, most, special=special)

    def split(self, text: str) -> list[int]:
        return self._chat.split(text)

    def token_names(self, ids: Sequence[int]) -> list[str]:
        return self._chat.token_names(ids)
