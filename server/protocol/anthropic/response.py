"""Answers of `/v1/messages` and the events of its streams, in Anthropic's shapes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from server.protocol.completion import AnswerModel, Certificate

StopReason: TypeAlias = Literal["end_turn", "max_tokens", "stop_sequence"]


class AnswerBlock(AnswerModel):
    type: Literal["text"] = "text"
    text: str


class ThinkingBlock(AnswerModel):
    """Thought before the text; nothing signs it."""

    type: Literal["thinking"] = "thinking"
    thinking: str
    signature: str = ""


class MessageUsage(AnswerModel):
    """`output_tokens` counts an end token too, as the budget does."""

    input_tokens: int
    output_tokens: int


class MessageObject(AnswerModel):
    """An answer; in the first event of a stream, one without its content and its end."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    model: str
    content: list[ThinkingBlock | AnswerBlock]
    stop_reason: StopReason | None
    stop_sequence: str | None
    usage: MessageUsage
    swyb: Certificate | None = None


class TextDelta(AnswerModel):
    type: Literal["text_delta"] = "text_delta"
    text: str


class ThinkingDelta(AnswerModel):
    type: Literal["thinking_delta"] = "thinking_delta"
    thinking: str


class EndDelta(AnswerModel):
    stop_reason: StopReason
    stop_sequence: str | None


class MessageEvent(AnswerModel):
    """One event of a stream; which fields it has depends on its type. The last one has the certificate."""

    type: Literal[
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    message: MessageObject | None = None
    index: int | None = None
    content_block: ThinkingBlock | AnswerBlock | None = None
    delta: ThinkingDelta | TextDelta | EndDelta | None = None
    usage: MessageUsage | None = None
    swyb: Certificate | None = None


class TokenCount(AnswerModel):
    input_tokens: int
