"""Engines whose models think, by the marks of a template, and which remember what they were asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache import Vocabulary
from server.backends.loop import EngineLoop
from server.engines.contract import ChatTemplate, EngineError, Forward, Message, Rendering, SequenceId
from server.engines.thought_marks import USUAL, ThinkingTemplate
from server.settings import Settings
from tests.server.engines.scripted import History, Script, ScriptedEngine
from tests.server.running import STOP, WORDS, Running, serving_backend

BEGIN, END = 280, 281
"""Ids of the marks, which spell no text."""
VOCABULARY = Vocabulary(
    [*(bytes([byte]) for byte in range(256)), *(word.encode() for word in WORDS)] + [None] * (END - 255 - len(WORDS)),
    [STOP],
    markers={BEGIN: "<think>", END: "</think>"},
)
_MARKS = {"<think>": BEGIN, "</think>": END}

Way: TypeAlias = Literal["plain", "opened", "switched", "by itself"]
"""Template's way with thoughts: it knows none; opens them; opens or closes them by a variable; or leaves them to the
model, unless the variable closes them.
"""


class ThinkingEngine(ScriptedEngine):
    """See `ScriptedEngine`; the script is given the thought in a prompt too. `prompts`: those that were opened."""

    def __init__(self, script: Script, way: Way = "by itself", context_window: int = 4096) -> None:
        super().__init__(VOCABULARY, lambda history: script(self._thought + history), context_window=context_window)
        self._thought: History = ()
        self._thoughts: dict[SequenceId, History] = {}
        self.way = way
        self.prompts: list[tuple[int, ...]] = []

    @property
    def template(self) -> ChatTemplate:
        if self.way == "plain":
            return ChatTemplate()
        variables = frozenset({"enable_thinking"} if self.way in ("switched", "by itself") else ())
        return ChatTemplate(variables, ThinkingTemplate(USUAL, by_default=self.way == "by itself"))

    def encode(
        self, messages: Sequence[Message], most: int | None = None, rendering: Rendering | None = None
    ) -> list[int]:
        """The contents and the opening of a turn, by the template's way."""
        ids = super().encode(messages, most, rendering)
        if rendering is None or not rendering.generation_prompt:
            return ids
        wanted = rendering.variables.get("enable_thinking")
        opening = {
            "plain": "",
            "opened": "<think>\n",
            "switched": "<think>\n" if wanted else "<think>\n\n</think>\n\n",
            "by itself": "<think>\n\n</think>\n\n" if wanted is False else "",
        }[self.way]
        return [*ids, *self.split(f"\n{opening}")]

    def split(self, text: str) -> list[int]:
        """Tokens of a text in which marks are tokens, unless the template knows none."""
        if self.way == "plain":
            return super().split(text)
        found: list[int] = []
        for piece in re.split("(</?think>)", text):
            found += [_MARKS[piece]] if piece in _MARKS else super().split(piece)
        return found

    def open(self, prompt: Sequence[int]) -> SequenceId:
        self.prompts.append(tuple(prompt))
        sequence, opener = super().open(prompt), self.split("<think>\n")
        begins = (at + len(opener) for at in range(len(prompt)) if [*prompt[at : at + len(opener)]] == opener)
        self._thoughts[sequence] = tuple(prompt[next(begins, len(prompt)) :])
        return sequence

    def _forward(self, forward: Forward) -> NDArray[np.float32] | EngineError:
        self._thought = self._thoughts.get(forward.sequence, ())
        return super()._forward(forward)


@contextmanager
def thinking_server(
    script: Script, way: Way = "by itself", settings: Settings | None = None, context_window: int = 4096
) -> Iterator[tuple[Running, ThinkingEngine]]:
    """The server over such an engine, until the block ends."""
    engine = ThinkingEngine(script, way, context_window)
    with serving_backend(EngineLoop(engine), settings or Settings()) as (base, service, client):
        yield Running(base, engine, service, client), engine


def spelled(tokens: Sequence[int]) -> str:
    """Text of tokens, marks by their names."""
    return VOCABULARY.text(tokens, named=True).decode(errors="replace")


def message_of(body: Any, choice: int = 0) -> dict[str, Any]:
    """Message of a completion's choice."""
    found: dict[str, Any] = body["choices"][choice]["message"]
    return found
