"""Answers, the yield of decoding, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from grammar_cache.distances.effort import NO_EFFORT, Effort
from server.decoding.beam import Beam
from server.decoding.language import ENDINGS, AnyText, Language
from server.decoding.logprobs import TokenLogprobs
from server.decoding.parameters import Parameters
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


def answer_of(beam: Beam, language: Language, parameters: Parameters, interrupted: Interruption | None) -> Answer:
    """The answer that a beam has become."""
    cut = not beam.stopped and not beam.halted and not is_complete(beam, language)
    return Answer(
        text=beam.text,
        tokens=beam.tokens,
        tokens_used=beam.used,
        complete=not cut,
        finish_reason="length" if cut else "stop",
        score=beam.scores.guided,
        budget_forced_tokens=len(beam.forced),
        interrupted=interrupted,
        forced_at=beam.forced,
        budget_affected=None if interrupted is not None else _affected(beam, language, parameters),
    )


def is_complete(beam: Beam, language: Language) -> bool:
    """Whether a text without an end token may end here; of any text, only an end token tells that it did."""
    return not isinstance(language, AnyText) and language.accepts(beam.configuration)


def behind_what_is_cut(answers: Sequence[Answer], language: Language, parameters: Parameters) -> tuple[Answer, ...]:
    """The answers: of plain beams, what a text that the budget cut would have become may stand before those that
    are behind it, and before any by a ranking in which scores may rise.
    """
    cut = [place for place, answer in enumerate(answers) if answer.budget_affected]
    if not cut or not isinstance(language, AnyText) or parameters.beam_width == 1:
        return tuple(answers)
    first = cut[0] if parameters.ranking == "sum" else 0
    return (*answers[:first], *(replace(answer, budget_affected=True) for answer in answers[first:]))


def _affected(beam: Beam, language: Language, parameters: Parameters) -> bool | None:
    """Whether a single text has a token that the budget chose, or ends where nothing else ended it.

    What beams would be without a budget isn't known here; nor what an interrupted text would be.
    """
    if parameters.beam_width > 1 and not isinstance(language, AnyText):
        return None
    ended = beam.stopped or beam.halted or ENDINGS[parameters.ending](language, beam.configuration)
    return bool(beam.forced) or not ended
