"""A request of `/v1/responses` as it is accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag

from server.protocol.chat import MESSAGES, AnswerRequest, TemplateFields
from server.protocol.foreign.field import Foreign
from server.protocol.foreign_fields import LOGPROBS, REQUEST
from server.protocol.formats import ResponseFormat
from server.protocol.parts import PARTS, joined
from server.protocol.responses.tools import ResponsesChoice, ResponsesTools
from server.protocol.strict import StrictModel, tag_of
from server.protocol.thinking.fields import ThinkingFields

_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
"""Types of parts that are text, and the member that holds it."""
_IDLE = ("annotations", "logprobs")
"""Members of a part that answers have and clients give back."""


class InputText(StrictModel):
    """A part of a content, as the description has it; `server.protocol.parts` reads it."""

    type: Literal["input_text", "output_text", "text"]
    text: str
    annotations: list[Any] | None = None
    logprobs: list[Any] | None = None


def _content(given: object) -> object:
    return joined(given, _TEXTS, _IDLE)


Text = Annotated[
    str,
    BeforeValidator(_content, json_schema_input_type=str | Annotated[list[InputText], Field(max_length=PARTS)]),
]
Status: TypeAlias = Literal["in_progress", "completed", "incomplete"]


class InputMessage(StrictModel):
    """One turn: what somebody says, or the message of an answer, given back."""

    type: Literal["message"] | None = None
    role: Literal["system", "developer", "user", "assistant"]
    content: Text
    id: str | None = None
    """Name that an answer's message had; changes no answer."""
    status: Status | None = None
    """State that an answer's message had; changes no answer."""
    phase: Literal["commentary", "final_answer"] | None = None
    """Kind that an answer's message had; changes no answer."""


class FunctionCallItem(StrictModel):
    """A call of a function in an answer, given back."""

    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str
    id: str | None = None
    status: Status | None = None


class FunctionOutputItem(StrictModel):
    """Result of a function."""

    type: Literal["function_call_output"]
    call_id: str
    output: Text
    id: str | None = None
    status: Status | None = None


class CustomCallItem(StrictModel):
    """A call of a custom tool in an answer, given back."""

    type: Literal["custom_tool_call"]
    call_id: str
    name: str
    input: str
    id: str | None = None
    status: Status | None = None


class CustomOutputItem(StrictModel):
    """Result of a custom tool."""

    type: Literal["custom_tool_call_output"]
    call_id: str
    output: Text
    id: str | None = None
    status: Status | None = None


class ThoughtPart(StrictModel):
    """Text of a thought."""

    type: Literal["reasoning_text"]
    text: str


class SummaryPart(StrictModel):
    """Text of a summary of a thought."""

    type: Literal["summary_text"]
    text: str


class ThoughtItem(StrictModel):
    """A thought in an answer, given back: the chat template decides what the model sees of it. Without `content` that
    is the `summary`; nobody here can read `encrypted_content`.
    """

    type: Literal["reasoning"]
    content: Annotated[list[ThoughtPart], Field(max_length=PARTS, fail_fast=True)] | None = None
    summary: Annotated[list[SummaryPart], Field(max_length=PARTS, fail_fast=True)] | None = None
    encrypted_content: str | None = None
    id: str | None = None
    status: Status | None = None


def _kind(item: object) -> str:
    kind = item.get("type") if isinstance(item, dict) else getattr(item, "type", None)
    return tag_of({"type": kind or "message"})


Item = Annotated[
    Annotated[InputMessage, Tag("[message]")]
    | Annotated[ThoughtItem, Tag("[reasoning]")]
    | Annotated[FunctionCallItem, Tag("[function_call]")]
    | Annotated[FunctionOutputItem, Tag("[function_call_output]")]
    | Annotated[CustomCallItem, Tag("[custom_tool_call]")]
    | Annotated[CustomOutputItem, Tag("[custom_tool_call_output]")],
    Discriminator(_kind),
]
Items: TypeAlias = Annotated[list[Item], Field(min_length=1, max_length=MESSAGES, fail_fast=True)]


def _items(given: object) -> object:
    """A text is one message of the user's."""
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


class TextOptions(StrictModel):
    """Demands on the text."""

    format: ResponseFormat | None = None
    """A constraint, by its `type`: `text` (none), `json_object`, `json_schema`, or another one of `response_format`."""
    verbosity: Literal["medium"] | None = None


class ResponsesRequest(AnswerRequest, TemplateFields, ThinkingFields):
    """`POST /v1/responses`. Nothing is kept: a conversation is sent whole each time."""

    input: Annotated[Items, BeforeValidator(_items, json_schema_input_type=str | Items)]
    """A text, or up to 4,096 items: turns with `role` and `content`, a string, or a list of parts of type `input_text`
    or `output_text`; thoughts, calls of tools and their outputs. Other items are refused.
    """
    instructions: str | None = None
    """Text that stands before all turns, as the system's."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Budget T; the name that this interface has for `max_tokens`."""
    text: TextOptions | None = None
    """`format` is a constraint."""
    tools: ResponsesTools | None = None
    """Up to 1,024 tools of type `function` and `custom`: see docs/how-to/tools.md."""
    tool_choice: ResponsesChoice | None = None
    """`auto`, the default: text, or calls, or text and then calls. `required`: calls. `none`: text. Or one tool that is
    called, by type and name, or `allowed_tools`.
    """
    parallel_tool_calls: bool | None = None
    """Whether an answer may hold several calls. Default true."""


_TOOLS = "send tools of type function or custom"
_KEPT = "answers are not kept: send all turns in input, and store: false"
_OWN: Mapping[str, Foreign] = {
    **LOGPROBS,
    "background": Foreign((False,), "an answer is waited for: leave it out"),
    "context_management": Foreign(([],), "input is never cut: send less"),
    "conversation": Foreign((), _KEPT),
    "include": Foreign(([], ["reasoning.encrypted_content"]), "answers hold all there is: leave it out"),
    "function_call": Foreign(("none", "auto"), _TOOLS),
    "functions": Foreign(([],), _TOOLS),
    "max_tool_calls": Foreign((), "it counts calls of tools that run at OpenAI's: send parallel_tool_calls: false"),
    "previous_response_id": Foreign((), _KEPT),
    "prompt": Foreign((), "send the text itself in input and instructions"),
    "store": Foreign((False,), _KEPT),
    "truncation": Foreign(("disabled",), "input is never cut: send less"),
}
FOREIGN: Mapping[str, Foreign] = {
    name: foreign
    for name, foreign in {**REQUEST, **LOGPROBS, **_OWN}.items()
    if name not in ResponsesRequest.member_names()
}
"""Fields of OpenAI's and of other servers that this one doesn't have."""

ITEMS: Mapping[str, str] = {
    "item_reference": _KEPT,
}
"""Kinds of items that are refused, and what to send instead."""
