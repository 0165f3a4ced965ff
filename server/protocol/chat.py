"""A chat request as it is accepted: every field is honoured, or by its nature changes no answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from server.protocol.formats import GrammarText, ResponseFormat, Schema, StrictModel

Whitespace = Literal["compact", "bounded", "any"]
Lexer = Literal["dynamic", "contextual"]


def _joined(content: object) -> object:
    """The text of a content given in parts, one after the other with nothing between them."""
    if not isinstance(content, list):
        return content
    texts = []
    for part in content:
        if not isinstance(part, dict) or part.get("type") != "text":
            raise PydanticCustomError("content_part", "only parts of type text are supported")
        if set(part) != {"type", "text"} or not isinstance(part["text"], str):
            raise PydanticCustomError("content_part", "a text part has a type and a text, and nothing else")
        texts.append(part["text"])
    return "".join(texts)


def _listed(stop: object) -> object:
    """One stop text is a list of one; the empty text stops nothing."""
    if isinstance(stop, str):
        return [stop] if stop else None
    return stop


StopText: TypeAlias = Annotated[str, Field(min_length=1, max_length=1_000)]


class ChatMessage(StrictModel):
    """One turn. A `developer` is to the model's template a `system`."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[str, BeforeValidator(_joined)]


class StreamOptions(StrictModel):
    """`include_usage`: one more chunk before the end, with the usage. Chunks are never padded."""

    include_usage: bool | None = None
    include_obfuscation: Literal[False] | None = None
    continuous_usage_stats: Literal[False] | None = None


class ConstraintOptions(StrictModel):
    """How a constraint is read; see `grammar_cache.constraint`."""

    whitespace: Whitespace | None = None
    lenient: bool | None = None
    start: str | None = Field(default=None, min_length=1, max_length=1_000)
    lexer: Lexer | None = None


class SwybOptions(ConstraintOptions):
    """Our own fields; see `server.decoding.parameters` for what those mean that are not of the constraint."""

    beam_width: int = Field(default=1, ge=1, le=16)
    alpha: float | None = Field(default=None, ge=0.0, le=1.0)
    top_k: int = Field(default=64, ge=1, le=1024)
    jump_forward: bool = True


class ChatRequest(StrictModel):
    """`POST /v1/chat/completions`. `server.protocol.reading` refuses other servers' fields."""

    model: str | None = None
    messages: list[ChatMessage] = Field(min_length=1)
    temperature: float | None = Field(default=None, ge=0.0, le=2.0)
    top_p: float | None = Field(default=None, gt=0.0, le=1.0)
    top_k: int | None = Field(default=None, ge=-1)
    seed: int | None = Field(default=None, ge=-(1 << 63), lt=1 << 64)
    n: int | None = Field(default=None, ge=1, le=128)
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    stop: Annotated[list[StopText] | None, BeforeValidator(_listed), Field(max_length=4)] = None
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
