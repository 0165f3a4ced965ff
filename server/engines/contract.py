"""Contract of an engine with the rest of the server: prompts in, logits out. It knows no grammar and no HTTP.

A *sequence* is one request's tree of beams over one prompt. A `Forward` says how its rows continue: row i of the
new step extends row `parents[i]` of the step before by `tokens[i]` (several tokens where the decoder jumped
forward). The first `Forward` of a sequence is `parents=(0,), tokens=((),)`: the logits after the prompt alone.

One thread, the owner of the engine, calls everything here except `encode` and `split`, which any thread may call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.vocabulary.vocabulary import Vocabulary

SequenceId: TypeAlias = int
Message: TypeAlias = Mapping[str, str]


class EngineError(RuntimeError):
    """The engine failed this request; the others go on."""


class PromptTooLong(ValueError):
    """A chat has more tokens than were allowed."""


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

    @abstractmethod
    def encode(self, messages: Sequence[Message], most: int | None = None) -> list[int]:
        """Token ids of a chat, generation prompt appended. Raises ValueError for a chat that the template refuses.

        Raises PromptTooLong, as early as it can be known, where there are more than `most`.
        """

    @abstractmethod
    def split(self, text: str) -> list[int]:
        """Token ids of a text, without marks of begin and end."""


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
