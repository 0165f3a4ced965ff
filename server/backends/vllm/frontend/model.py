"""Model in a local folder, before vLLM has loaded it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from server.engines.contract import ChatTemplate
from server.engines.folder_model import FolderModel
from server.engines.thought_marks import ThinkingTemplate, ThoughtMarks


class VllmModel(FolderModel):
    """See `ChatModel`. `context_window` is vLLM's to say: it may leave less than the model's own."""

    def __init__(
        self,
        folder: Path,
        name: str | None,
        cache: Path | None,
        context_window: int,
        marks: ThoughtMarks | None = None,
    ) -> None:
        """`marks`: those of thoughts, where the operator tells them."""
        super().__init__(folder, name, cache)
        self.context_window = context_window
        self._marks = marks

    @property
    def template(self) -> ChatTemplate:
        return with_marks(super().template, self._marks)


def with_marks(template: ChatTemplate, marks: ThoughtMarks | None) -> ChatTemplate:
    """Facts of a chat template whose model thinks between these marks, unless the template says so itself."""
    told = template.thinking
    if marks is None or (told is not None and told.by_default and told.marks.end == marks.end):
        return template
    between = told.marks.between if told is not None and told.marks.end == marks.end else marks.between
    return replace(template, thinking=ThinkingTemplate(replace(marks, between=between), by_default=True))
