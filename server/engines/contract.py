"""Contract of an engine with the rest of the server: prompts in, logits out. It knows no grammar and no HTTP.

A *sequence* is one request's tree of beams over one prompt. A `Forward` says how its rows continue: row i of the
new step extends row `parents[i]` of the step before by `tokens[i]` (several tokens where the decoder jumped
forward). The first `Forward` of a sequence is `parents=(0,), tokens=((),)`: the logits after the prompt alone.

One thread, the owner of the engine, calls everything here except what tells of tokens, which any
thread may call: `encode`, `encode_text`, `split` and `token_names`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.vocabulary.vocabulary import Vocabulary

SequenceId: TypeAlias = int
Message: TypeAlias = Mapping[str, Any]
"""One turn as chat templates take it: `role`, `content`, and maybe `name`, `tool_calls`, `tool_call_id`,
`reasoning_content`.
"""


class EngineError(RuntimeError):
    """The engine failed this request; the others go on."""


class PromptTooLong(ValueError):
    """A chat has more tokens than were allowed."""


class UnknownVariable(ValueError):
    """A chat template has no variable of that name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the model's chat template has no variable {name}")
        self.name = name


@dataclass(frozen=True, slots=True)
class Rendering:
    """Rendering of a chat by its template."""

    variables: Mapping[str, object] = field(default_factory=dict)
    """Variables of the template. One that is false may be unknown to it."""
    tools: tuple[Mapping[str, object], ...] = ()
    """Tools that the template shows, if it has words for them."""
    generation_prompt: bool = True
    """Whether a new turn of the assistant is opened after the messages."""
    continue_final: bool = False
    """Whether the last turn is left open."""


@dataclass(frozen=True, slots=True)
class Forward:
    """One step of one sequence; see the module's text. `parents` and `tokens` have the same length, at least 1."""

    sequence: SequenceId
    parents: tuple[int, ...]
    tokens: tuple[tuple[int, ...], ...]


class ChatModel(ABC):
    """Model of a chat, as far as it is known without running it."""

    name: str
    """Name of the model in `GET /v1/models`."""

    vocabulary: Vocabulary

    context_window: int
    """Tokens of prompt and answer together."""

    chat_template: str = ""
    """Source of the chat template; it says in which form the model calls tools."""

    @abstractmethod
    def encode(
        self, messages: Sequence[Message], most: int | None = None, rendering: Rendering | None = None
    ) -> list[int]:
        """Token ids of a chat, generation prompt appended unless `rendering` says otherwise.

        Raises ValueError for a chat that the template refuses, UnknownVariable for a variable that it doesn't have, and
        PromptTooLong, as early as it can be known, where there are more than `most`.
        """

    @abstractmethod
    def encode_text(self, text: str, most: int | None = None, *, special: bool = True) -> list[int]:
        """Token ids of a text without a template. `special`: with the marks that the tokenizer puts around a text.

        Raises ValueError for a text of no tokens, and PromptTooLong, as early as it can be known, for more than `most`.
        """

    @abstractmethod
    def split(self, text: str) -> list[int]:
        """Token ids of a text, without marks of begin and end."""

    @abstractmethod
    def token_names(self, ids: Sequence[int]) -> list[str]:
        """The tokenizer's own names of tokens; a special one's is its text. An id without a token has the empty one."""


class Engine(ChatModel):
    """A causal language model with its tokenizer."""

    @abstractmethod
    def open(self, prompt: Sequence[int]) -> SequenceId:
        """Starts a sequence; the prompt is computed with its first `Forward`, once."""

    @abstractmethod
    def step(self, forwards: Sequence[Forward]) -> list[NDArray[np.float32] | EngineError]:
        """Logits after each row: float32 [rows, vocabulary.size] per forward, in order. May share one model call.

        A forward that fails yields its `EngineError`; the others are unharmed.
        """

    @abstractmethod
    def close(self, sequence: SequenceId) -> None:
        """Frees a sequence. Closing one twice, or one that failed, is no error."""

    @abstractmethod
    def shutdown(self) -> None:
        """Frees everything. Nothing is called afterwards."""
