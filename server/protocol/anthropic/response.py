"""Answers of `/v1/messages` and the events of its streams, in Anthropic's shapes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from server.protocol.completion import AnswerModel, Certificate
from server.protocol.verbatim import VerbatimObject

StopReason: TypeAlias = Literal["end_turn", "max_tokens", "stop_sequence", "tool_use"]


class AnswerBlock(AnswerModel):
    type: Literal["text"] = "text"
    text: str


class ThinkingBlock(AnswerModel):
    """Thought before the text; nothing signs it."""

    type: Literal["thinking"] = "thinking"
    thinking: str
    signature: str = ""


class CallBlock(AnswerModel):
    """Call of a tool, its input as the model wrote it; in an event, one without its input."""

    type: Literal["tool_use"] = "tool_use"
    id: str
    name: str
    input: VerbatimObject


ContentBlock: TypeAlias = ThinkingBlock | AnswerBlock | CallBlock


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
    content: list[ContentBlock]
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


class InputDelta(AnswerModel):
    """Further part of the JSON text of a call's input."""

    type: Literal["input_json_delta"] = "input_json_delta"
    partial_json: str


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
    content_block: ContentBlock | None = None
    delta: ThinkingDelta | TextDelta | InputDelta | EndDelta | None = None
    usage: MessageUsage | None = None
    swyb: Certificate | None = None


class TokenCount(AnswerModel):
    input_tokens: int
