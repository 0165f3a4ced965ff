"""Answers, the yield of decoding, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from grammar_cache.distances.effort import NO_EFFORT, Effort
from server.decoding.logprobs import TokenLogprobs
from server.decoding.tracing.steps import TraceStep

FinishReason: TypeAlias = Literal["stop", "length"]
Interruption: TypeAlias = Literal["shutdown", "failure", "configurations"]
"""The server ends; a fault was met; the grammar's configurations are at their limit."""


@dataclass(frozen=True, slots=True, eq=False)
class Thought:
    """Thought before an answer, or before several that share it.

    `tokens`: those that were generated, and the closer's. `closed_by_budget`: the model had to end it. `reserve`:
    tokens that it had to leave to the answer. `told`: whether clients are told the text.
    """

    text: bytes
    tokens: int
    closed_by_budget: bool
    reserve: int
    told: bool = True


@dataclass(slots=True, eq=False)
class Cost:
    """Cost of decoding one piece of work, summed up step by step. For metrics; no answer depends on it.

    `rows`: texts that went on, of all steps. `jumped`: tokens taken without the model, in all beams. `first_step`: when
    the first step had been taken, by `time.monotonic`.
    """

    rows: int = 0
    jumped: int = 0
    effort: Effort = NO_EFFORT
    first_step: float | None = None

    def add_step(self, rows: int, effort: Effort, now: float) -> None:
        """Counts a step of `rows` texts."""
        self.rows += rows
        self.effort = self.effort.plus(effort)
        if self.first_step is None:
            self.first_step = now


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
    `tight_steps`: of a text whose tokens were drawn within masks, the number of tokens before which the budget kept out
    something that the grammar allows, at the places `forced_at`; None: drawn otherwise.
    `budget_affected` False: a budget without a bound would have given the same text, from the same logits and draws;
    None: not known here. `budget_ended`: JSON Pointers of the values that the budget ended, where the text is JSON and
    that is known. `logprobs`: where they were asked for, of all tokens that the model chose. `thought`: what came
    before; no other field counts it. `trace`: where it was asked for, of all beams; told with the best answer of a
    search. `cost`: cost of all answers of the work, where it was decoded here; equal answers may differ in it.
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
    tight_steps: int | None = None
    thought: Thought | None = None
    trace: tuple[TraceStep, ...] | None = None
    cost: Cost | None = field(default=None, compare=False, repr=False)

    @property
    def tokens_spent(self) -> int:
        """Tokens of the answer and of its thought."""
        return self.tokens_used + (0 if self.thought is None else self.thought.tokens)
