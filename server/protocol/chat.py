"""A chat request as it is accepted: every field is honoured, or by its nature changes no answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError, PydanticKnownError

from server.protocol.formats import GrammarText, ResponseFormat, Schema
from server.protocol.strict import StrictModel

Whitespace = Literal["compact", "bounded", "any"]
Lexer = Literal["dynamic", "contextual"]


MESSAGES = 4_096
"""Turns of one chat."""
PARTS = 4_096
"""Parts of one turn's content."""
STOPS = 4

_PART = frozenset({"type", "text"})


class TextPart(StrictModel):
    """A part of a content, as the description has it; `_joined` reads it."""

    type: Literal["text"]
    text: str


def _joined(content: object) -> object:
    """The text of a content given in parts, one after the other with nothing between them."""
    if not isinstance(content, list):
        return content
    if len(content) > PARTS:
        context = {"field_type": "List", "max_length": PARTS, "actual_length": len(content)}
        raise PydanticKnownError("too_long", context)
    return "".join(_text_of(part) for part in content)


def _text_of(part: object) -> str:
    if not isinstance(part, dict) or part.get("type") != "text":
        raise PydanticCustomError("content_part", "only parts of type text are supported")
    text = part.get("text")
    if not isinstance(text, str) or any(part[name] is not None for name in part.keys() - _PART):
        raise PydanticCustomError("content_part", "a text part has a type and a text, and nothing else")
    return text


def _listed(stop: object) -> object:
    """One stop text is a list of one; the empty text stops nothing."""
    if isinstance(stop, str):
        return [stop] if stop else None
    return stop


StopText: TypeAlias = Annotated[str, Field(min_length=1, max_length=1_000)]
StopTexts: TypeAlias = Annotated[list[StopText], Field(max_length=STOPS, fail_fast=True)]


class ChatMessage(StrictModel):
    """One turn. A `developer` is to the model's template a `system`."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[
        str,
        BeforeValidator(_joined, json_schema_input_type=str | Annotated[list[TextPart], Field(max_length=PARTS)]),
    ]


class StreamOptions(StrictModel):
    """`include_usage`: one more chunk before the end, with the usage. Chunks are never padded."""

    include_usage: bool | None = None
    include_obfuscation: Literal[False] | None = None
    continuous_usage_stats: Literal[False] | None = None


class ConstraintOptions(StrictModel):
    """Options for reading a constraint; see `grammar_cache.constraint`."""

    whitespace: Whitespace | None = None
    lenient: bool | None = None
    start: str | None = Field(default=None, min_length=1, max_length=1_000)
    lexer: Lexer | None = None


class SwybOptions(ConstraintOptions):
    """Our own fields; see `server.decoding.parameters` for what those mean that are not of the constraint."""

    beam_width: int = Field(default=1, ge=1, le=16)
    alpha: float | None = Field(default=None, ge=0.0, le=1.0)
    top_k: int = Field(default=64, ge=1, le=1024)
    jump_forward: bool | Literal["text"] = True


class ChatRequest(StrictModel):
    """`POST /v1/chat/completions`. `server.protocol.reading` refuses other servers' fields."""

    model: str | None = None
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MESSAGES, fail_fast=True)]
    temperature: float | None = Field(default=None, ge=0.0, le=2.0)
    top_p: float | None = Field(default=None, gt=0.0, le=1.0)
    top_k: int | None = Field(default=None, ge=-1)
    seed: int | None = Field(default=None, ge=-(1 << 63), lt=1 << 64)
    n: int | None = Field(default=None, ge=1, le=128)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    stop: Annotated[
        StopTexts | None,
        BeforeValidator(_listed, json_schema_input_type=Annotated[str, Field(max_length=1_000)] | StopTexts | None),
    ] = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    response_format: ResponseFormat | None = None
    grammar: GrammarText | None = None
    json_schema: Schema | str | None = None
    swyb: SwybOptions | None = None
    # These name the caller and change no answer.
    user: str | None = None
    metadata: dict[str, Any] | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
