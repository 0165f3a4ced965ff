"""Answers, the yield of decoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from server.decoding.logprobs import TokenLogprobs

FinishReason: TypeAlias = Literal["stop", "length"]
Interruption: TypeAlias = Literal["shutdown", "failure", "configurations"]
"""The server ends; a fault was met; the grammar's configurations are at their limit."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished text.

    `text` is the concatenation of the tokens' bytes (see `Parameters.special_names`). `tokens` are the content tokens;
    `tokens_used` also counts an end token, if one was emitted. `complete` is always true under a compiled grammar;
    without one it says that the model ended by itself, or that the language accepts the text. `score` is the sum of the
    guided log-probabilities (eq. 17); a drawn text isn't ranked and has none, nor has one that no beam came to.
    `interrupted`: why decoding ended before its time, and the witness completed the text; a text without a grammar was
    cut.

    `budget_forced_tokens` None: not known here. `forced_at`: their places, that of an end token behind the others.
    `budget_affected` False: a budget without a bound would have given the same text, from the same logits and draws;
    None: not known here. `budget_ended`: JSON Pointers of the values that the budget ended, where the text is JSON and
    that is known. `logprobs`: where they were asked for, of all tokens that the model chose.
    """

    text: bytes
    tokens: tuple[int, ...]
    tokens_used: int
    complete: bool
    finish_reason: FinishReason
    score: float
    budget_forced_tokens: int | None
    interrupted: Interruption | None = None
    forced_at: tuple[int, ...] = ()
    budget_affected: bool | None = None
    budget_ended: tuple[str, ...] | None = None
    logprobs: tuple[TokenLogprobs, ...] = ()
