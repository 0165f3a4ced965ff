"""Messages of a chat, as clients send them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from server.protocol.parts import PARTS, joined
from server.protocol.strict import MISPLACED_MEMBER, MISSING_MEMBER, StrictModel, tag_of

TOOL_CALLS = 1_024
"""Calls of tools in one turn."""

_TEXTS = {"text": "text", "refusal": "refusal"}
"""Types of parts that are text, and the member that holds it."""
_NEUTRAL = frozenset({"cache_control"})
_ANSWERED = ("tool_calls", "function_call", "reasoning_content", "reasoning", "reasoning_details", "refusal")
"""Members that only an assistant's message has."""


class TextPart(StrictModel):
    """A part of a content, as the description has it; `server.protocol.parts` reads it.

    `cache_control` changes no answer.
    """

    type: Literal["text"]
    text: str
    cache_control: dict[str, Any] | None = None


def _content(given: object) -> object:
    return joined(given, _TEXTS, _NEUTRAL)


class CalledFunction(StrictModel):
    """A function that was called, with the JSON text of its arguments, or the arguments themselves.

    `parsed_arguments`, which OpenAI's client adds and gives back, change no answer.
    """

    name: str
    arguments: str | dict[str, Any] | None = None
    parsed_arguments: dict[str, Any] | list[Any] | str | float | bool | None = None


class CalledCustom(StrictModel):
    """A custom tool that was called, with the text that it was given."""

    name: str
    input: str


class ToolCall(StrictModel):
    """A call of a function that an assistant made before."""

    id: str | None = None
    type: Literal["function"] | None = None
    function: CalledFunction
    index: int | None = None


class CustomToolCall(StrictModel):
    """A call of a custom tool that an assistant made before."""

    id: str | None = None
    type: Literal["custom"]
    custom: CalledCustom
    index: int | None = None


class ReasoningDetail(StrictModel):
    """Part of a thought, as routers have it. Its text is `text` or `summary`; the other members change nothing."""

    type: Literal["reasoning.text", "reasoning.summary", "reasoning.encrypted"]
    text: str | None = None
    summary: str | None = None
    data: str | None = None
    signature: str | None = None
    id: str | None = None
    format: str | None = None
    index: int | None = None


def _call_tag(call: object) -> str:
    kind = call.get("type") if isinstance(call, dict) else getattr(call, "type", None)
    return tag_of({"type": kind or "function"})


AnyCall = Annotated[
    Annotated[ToolCall, Tag("[function]")] | Annotated[CustomToolCall, Tag("[custom]")], Discriminator(_call_tag)
]


class ChatMessage(StrictModel):
    """One turn. A `developer` is to the model's template a `system`, a `function` a `tool`.

    `content` may be missing in an assistant's message. See docs/reference/http.md#messages for what becomes of the
    other members.
    """

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[
        str | None,
        BeforeValidator(
            _content, json_schema_input_type=str | Annotated[list[TextPart], Field(max_length=PARTS)] | None
        ),
    ] = None
    name: str | None = None
    tool_calls: Annotated[list[AnyCall], Field(max_length=TOOL_CALLS, fail_fast=True)] | None = None
    tool_call_id: str | None = None
    function_call: CalledFunction | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: Annotated[list[ReasoningDetail], Field(max_length=PARTS, fail_fast=True)] | None = None
    refusal: str | None = None

    @model_validator(mode="after")
    def _fits_its_role(self) -> ChatMessage:
        if self.role != "assistant":
            if self.content is None:
                raise PydanticCustomError(MISSING_MEMBER, "Field required", {"member": "content"})
            for name in _ANSWERED:
                if getattr(self, name):
                    told = {"member": name}
                    raise PydanticCustomError(MISPLACED_MEMBER, "only an assistant's message has it", told)
        if self.role == "function" and self.name is None:
            raise PydanticCustomError(MISSING_MEMBER, "Field required", {"member": "name"})
        return self
