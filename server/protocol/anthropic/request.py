"""Requests of `/v1/messages` and `/v1/messages/count_tokens` as they are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from server.protocol.chat import MESSAGES, AnswerRequest, TemplateFields
from server.protocol.foreign.field import Foreign
from server.protocol.foreign_fields import CALLS, LOGPROBS, REQUEST
from server.protocol.formats import ResponseFormat
from server.protocol.parts import PARTS, joined
from server.protocol.sampling import StopText
from server.protocol.strict import StrictModel
from server.protocol.thinking.fields import Thinking, ThinkingFields

_IDLE = ("cache_control", "citations")
"""Members of a part that change no answer."""


class TextBlock(StrictModel):
    """A block of a content, as the description has it; `server.protocol.parts` reads it."""

    type: Literal["text"]
    text: str
    cache_control: dict[str, Any] | None = None
    """Prompts that begin alike are cached anyway."""
    citations: list[Any] | None = None


def _content(given: object) -> object:
    return joined(given, {"text": "text"}, _IDLE)


Content = Annotated[
    str, BeforeValidator(_content, json_schema_input_type=str | Annotated[list[TextBlock], Field(max_length=PARTS)])
]


class Turn(StrictModel):
    """One turn. If the last one is the assistant's, the answer continues it."""

    role: Literal["user", "assistant"]
    content: Content


class OutputConfig(StrictModel):
    """Demands on the answer."""

    format: ResponseFormat | None = None
    """A constraint: `{"type": "json_schema", "schema": {...}}`, or another one of `response_format`."""
    effort: Literal["high"] | None = None


class CountRequest(StrictModel):
    """`POST /v1/messages/count_tokens`: what of a request makes its prompt."""

    model: str | None = None
    messages: Annotated[list[Turn], Field(min_length=1, max_length=MESSAGES, fail_fast=True)]
    system: Content | None = None
    cache_control: dict[str, Any] | None = None
    """Prompts that begin alike are cached anyway."""
    output_config: OutputConfig | None = None
    """No part of the prompt: nothing adds the schema to it."""
    output_format: ResponseFormat | None = None
    """No part of the prompt."""
    thinking: Thinking | None = None
    """Whether the prompt is one that a thought follows."""


class MessagesRequest(AnswerRequest, TemplateFields, ThinkingFields):
    """`POST /v1/messages`."""

    messages: Annotated[list[Turn], Field(min_length=1, max_length=MESSAGES, fail_fast=True)]
    """Up to 4,096 turns with `role` (`user`, `assistant`) and `content`: a string, or a list of up to 4,096 blocks of
    type `text`. If the last one is the assistant's, the answer continues it, and is the continuation alone.
    """
    max_tokens: int = Field(ge=1)
    """Budget T: every token of the answer counts, an end token too. Has to be there."""
    system: Content | None = None
    """Text that stands before all turns: a string or blocks of type `text`."""
    stop_sequences: list[StopText] | None = None
    """Name that this interface has for `stop`."""
    output_config: OutputConfig | None = None
    """`format` is a constraint."""
    output_format: ResponseFormat | None = None
    """A constraint: older name of `output_config.format`."""
    cache_control: dict[str, Any] | None = None
    """Changes no answer: prompts that begin alike are cached anyway."""


_OWN: Mapping[str, Foreign] = {
    **LOGPROBS,
    "container": Foreign((), "answers are text: leave it out"),
    "context_management": Foreign((), "messages are never cut: send fewer"),
    "inference_geo": Foreign((), "this server is where it is: leave it out"),
    "mcp_servers": Foreign(([],), CALLS["tools"].instead),
    "service_tier": Foreign(("auto", "standard_only")),
    "speed": Foreign(("standard",)),
    "tool_choice": Foreign(({"type": "none"}, {"type": "auto"}), CALLS["tool_choice"].instead),
    "tools": Foreign(([],), CALLS["tools"].instead),
    "user_profile_id": Foreign((), "send metadata"),
    "workspace_id": Foreign((), "send metadata"),
}
FOREIGN: Mapping[str, Foreign] = {
    name: foreign
    for name, foreign in {**REQUEST, **LOGPROBS, **_OWN}.items()
    if name not in MessagesRequest.member_names()
}
"""Fields of Anthropic's and of other servers that this one doesn't have."""
_OF_PROMPTS = ("context_management", "mcp_servers", "speed", "tool_choice", "tools", "user_profile_id")
COUNT_FOREIGN: Mapping[str, Foreign] = {name: FOREIGN[name] for name in _OF_PROMPTS}
"""Fields of Anthropic's requests for a count that this server doesn't have."""
