"""Completions that answer a chat request: OpenAI's shapes, and the certificate that goes with every answer."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from server.decoding.answer import FinishReason, Interruption


class AnswerModel(BaseModel):
    """Values are ours, so nothing has to be checked; only fields that were set are sent."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Usage(AnswerModel):
    """`completion_tokens` counts an end token too, as the budget does."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Certificate(AnswerModel):
    """Certificate of what was guaranteed, and what it took. Without a constraint, the grammar's fields are null.

    `table`: the one computed offline whose distances were used, if there is one.
    `complete`: the answer belongs to the constraint's language (without one: the model ended by itself).
    `min_tokens` is the fewest tokens of any complete answer, `exact` whether that number can't be lowered.
    `budget_forced_tokens` is null where tokens are chosen out of the server's sight.
    `interrupted` says why the server ended the answer before its time: the shortest completion known was appended, or,
    without a constraint, nothing.
    `ignored` lists what of the constraint is not enforced: annotations, and what `lenient` dropped.
    """

    complete: bool
    budget: int
    tokens_used: int
    min_tokens: int | None
    exact: bool | None
    budget_forced_tokens: int | None
    interrupted: Interruption | None
    beam_width: int
    alpha: float
    grammar_id: str | None
    table: str | None
    distance_version: str
    compile_ms: float | None
    cache: Literal["hit", "miss", "shared"] | None
    ignored: list[str]


class AssistantMessage(AnswerModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class Choice(AnswerModel):
    """`swyb` is sent where there are several."""

    index: int
    message: AssistantMessage
    logprobs: None = None
    finish_reason: FinishReason
    swyb: Certificate | None = Field(default=None, exclude_if=lambda known: known is None)


class ChatCompletion(AnswerModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[Choice]
    usage: Usage
    swyb: Certificate


class Delta(AnswerModel):
    """Unset fields are not sent."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    refusal: None = None


class ChunkChoice(AnswerModel):
    index: int
    delta: Delta
    logprobs: None
    finish_reason: FinishReason | None


class ChatChunk(AnswerModel):
    """One event of a stream. `usage` is sent only if asked for, and null but for the last chunk."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChunkChoice]
    usage: Usage | None = None
    swyb: Certificate | None = None
