"""Answers, the yield of decoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

FinishReason: TypeAlias = Literal["stop", "length"]
Interruption: TypeAlias = Literal["shutdown", "failure", "configurations"]
"""The server ends; a fault was met; the grammar's configurations are at their limit."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished text.

    `text` is the concatenation of the tokens' bytes. `tokens` are the content tokens; `tokens_used` also counts an
    end token, if one was emitted. `complete` is always true under a compiled grammar; without one it says that the
    model ended by itself, or that the language accepts the text. `score` is the sum of the guided log-probabilities
    (eq. 17); a drawn text isn't ranked and has none, nor has one that no beam came to. `budget_forced_tokens` None:
    not known here. `interrupted`: why decoding ended before its time, and the witness completed the text; a text
    without a grammar was cut.
    """

    text: bytes
    tokens: tuple[int, ...]
    tokens_used: int
    complete: bool
    finish_reason: FinishReason
    score: float
    budget_forced_tokens: int | None
    interrupted: Interruption | None = None
