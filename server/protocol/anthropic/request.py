"""Requests of `/v1/messages` and `/v1/messages/count_tokens` as they are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from server.protocol.anthropic.blocks import (
    Content,
    RedactedBlock,
    ThoughtBlock,
    ToolResultBlock,
    ToolUseBlock,
    TurnContent,
)
from server.protocol.anthropic.tools import AnthropicChoice, AnthropicTools
from server.protocol.chat import MESSAGES, AnswerRequest, TemplateFields
from server.protocol.foreign.field import Foreign
from server.protocol.foreign_fields import LOGPROBS, REQUEST
from server.protocol.formats import ResponseFormat
from server.protocol.sampling import StopText
from server.protocol.strict import MISPLACED_MEMBER, StrictModel
from server.protocol.thinking.fields import Thinking, ThinkingFields


class Turn(StrictModel):
    """One turn. If the last one is the assistant's, the answer continues it."""

    role: Literal["user", "assistant"]
    content: TurnContent

    @model_validator(mode="after")
    def _blocks_fit_the_role(self) -> Turn:
        other = {"user": ToolUseBlock | ThoughtBlock | RedactedBlock, "assistant": ToolResultBlock}[self.role]
        if not isinstance(self.content, str) and any(isinstance(block, other) for block in self.content):
            message = "thoughts and calls are the assistant's, and results of calls the user's"
            raise PydanticCustomError(MISPLACED_MEMBER, message, {"member": "content"})
        return self


class OutputConfig(StrictModel):
    """Demands on the answer."""

    format: ResponseFormat | None = None
    """A constraint: `{"type": "json_schema", "schema": {...}}`, or another one of `response_format`."""
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    """Effort of the thought that `thinking` asks for, as `reasoning_effort` has it; it asks for none by itself."""

    foreign = MappingProxyType({"task_budget": Foreign((), "the budget is max_tokens: leave it out")})


class CountRequest(StrictModel):
    """`POST /v1/messages/count_tokens`: what of a request makes its prompt."""

    model: str | None = None
    messages: Annotated[list[Turn], Field(min_length=1, max_length=MESSAGES, fail_fast=True)]
    system: Content | None = None
    cache_control: dict[str, Any] | None = None
    """Prompts that begin alike are cached anyway."""
    output_config: OutputConfig | None = None
    """`effort` is that of the thought that the prompt opens, if it does; nothing adds the schema to the prompt."""
    output_format: ResponseFormat | None = None
    """No part of the prompt."""
    thinking: Thinking | None = None
    """Whether the prompt is one that a thought follows."""
    tools: AnthropicTools | None = None
    tool_choice: AnthropicChoice | None = None
    """No part of the prompt."""


class MessagesRequest(AnswerRequest, TemplateFields, ThinkingFields):
    """`POST /v1/messages`."""

    messages: Annotated[list[Turn], Field(min_length=1, max_length=MESSAGES, fail_fast=True)]
    """Up to 4,096 turns with `role` (`user`, `assistant`) and `content`: a string, or a list of up to 4,096 blocks of
    type `text`, `thinking`, `redacted_thinking` and `tool_use` (the assistant's) and `tool_result` (the user's). If the
    last turn is the assistant's, the answer continues it, and is the continuation alone.
    """
    max_tokens: int = Field(ge=1)
    """Budget T: every token of the answer counts, an end token too. Has to be there."""
    system: Content | None = None
    """Text that stands before all turns: a string or blocks of type `text`."""
    stop_sequences: list[StopText] | None = None
    """Name that this interface has for `stop`."""
    output_config: OutputConfig | None = None
    """`format` is a constraint, `effort` that of the thought that `thinking` asks for: see `reasoning_effort`."""
    output_format: ResponseFormat | None = None
    """A constraint: older name of `output_config.format`."""
    cache_control: dict[str, Any] | None = None
    """Changes no answer: prompts that begin alike are cached anyway."""
    tools: AnthropicTools | None = None
    """Up to 1,024 tools with `name`, `description` and `input_schema`: see docs/how-to/tools.md."""
    tool_choice: AnthropicChoice | None = None
    """`{"type": "auto"}`, the default: text, or calls, or text and then calls. `any`: calls. `tool`: a call of the one
    with this `name`. `none`: text. `disable_parallel_tool_use`: one call at most.
    """


_TOOLS = "send tools with an input_schema"
_UNCUT = "messages are never cut: send fewer"
_SINGLE = "one model is served: leave it out"
_OWN: Mapping[str, Foreign] = {
    **LOGPROBS,
    "billing_policy": Foreign((), "answers cost nothing here: leave it out"),
    "compaction": Foreign((), _UNCUT),
    "container": Foreign((), "answers are text: leave it out"),
    "context_management": Foreign(({"edits": []},), _UNCUT),
    "diagnostics": Foreign((), "see swyb.trace: leave it out"),
    "fallback_credit_token": Foreign((), _SINGLE),
    "fallbacks": Foreign(([],), _SINGLE),
    "inference_geo": Foreign((), "this server is where it is: leave it out"),
    "function_call": Foreign(("none", "auto"), _TOOLS),
    "functions": Foreign(([],), _TOOLS),
    "mcp_servers": Foreign(([],), _TOOLS),
    "parallel_tool_calls": Foreign((True,), 'send tool_choice {"type": "auto", "disable_parallel_tool_use": true}'),
    "service_tier": Foreign(("auto", "standard_only")),
    "speed": Foreign(("standard",)),
    "thread": Foreign((), "conversations are not kept: send all messages, as tool_runner(thread=False) does"),
    "user_profile_id": Foreign((), "send metadata"),
    "workspace_id": Foreign((), "send metadata"),
}
FOREIGN: Mapping[str, Foreign] = {
    name: foreign
    for name, foreign in {**REQUEST, **LOGPROBS, **_OWN}.items()
    if name not in MessagesRequest.member_names()
}
"""Fields of Anthropic's and of other servers that this one doesn't have."""
_OF_PROMPTS = (
    *("billing_policy", "compaction", "context_management", "mcp_servers", "speed", "thread"),
    *("user_profile_id", "workspace_id"),
)
COUNT_FOREIGN: Mapping[str, Foreign] = {name: FOREIGN[name] for name in _OF_PROMPTS}
"""Fields of Anthropic's requests for a count that this server doesn't have."""
