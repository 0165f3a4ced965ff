"""Answers of `/v1/completions`, in OpenAI's shapes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from server.decoding.answer import FinishReason
from server.protocol.completion import AnswerModel, Certificate, TraceNews, Usage


class TextLogprobs(AnswerModel):
    """Tokens by their texts, broken code points replaced, and the model's log-probabilities, -9999 at least.

    `top_logprobs`: the likeliest tokens in the place of each. `text_offset`: characters of the text before each.
    """

    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int]


class TextChoice(AnswerModel):
    """`swyb` is sent where there are several. In a stream, `finish_reason` is null until the choice ends."""

    index: int
    text: str
    logprobs: TextLogprobs | None = None
    finish_reason: FinishReason | None
    swyb: Certificate | None = Field(default=None, exclude_if=lambda known: known is None)


class TextCompletion(AnswerModel):
    """Answers of all prompts: those of one prompt stand together. `swyb` is the first one's."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[TextChoice]
    usage: Usage
    swyb: Certificate


class TextChunk(AnswerModel):
    """One event of a stream. `usage` is sent only if asked for, and null but for the last chunk."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    system_fingerprint: str
    choices: list[TextChoice]
    usage: Usage | None = None
    swyb: Certificate | TraceNews | None = None
