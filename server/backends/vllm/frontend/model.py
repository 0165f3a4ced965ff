"""Model in a local folder, before vLLM has loaded it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grammar_cache.vocabulary.vocabulary import Vocabulary
from server.engines.chat import ChatEncoder
from server.engines.contract import ChatModel, ChatTemplate, Message, Rendering
from server.engines.thought_marks import ThinkingTemplate, ThoughtMarks


class FolderModel(ChatModel):
    """See `ChatModel`. `context_window` is vLLM's to say: it may leave less than the model's own."""

    def __init__(
        self,
        folder: Path,
        name: str | None,
        cache: Path | None,
        context_window: int,
        marks: ThoughtMarks | None = None,
    ) -> None:
        """`cache`: the folder for what is made of the tokenizer; without one it is made at each start. `marks`: those
        of thoughts, where the operator tells them.
        """
        self.name = name or folder.name
        self.vocabulary = Vocabulary.from_pretrained(folder, cache=cache)
        self.context_window = context_window
        self._chat = ChatEncoder(folder, self.vocabulary)
        self._marks = marks
        self.chat_template = self._chat.template

    @property
    def template(self) -> ChatTemplate:
        return with_marks(self._chat.facts, self._marks)

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


def with_marks(template: ChatTemplate, marks: ThoughtMarks | None) -> ChatTemplate:
    """Facts of a chat template whose model thinks between these marks, unless the template says so itself."""
    told = template.thinking
    if marks is None or (told is not None and told.by_default and told.marks.end == marks.end):
        return template
    between = told.marks.between if told is not None and told.marks.end == marks.end else marks.between
    return replace(template, thinking=ThinkingTemplate(replace(marks, between=between), by_default=True))
