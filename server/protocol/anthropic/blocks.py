"""Contents of turns of `/v1/messages`: texts, calls of tools and their results."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag

from server.protocol.foreign.field import NEVER, Foreign
from server.protocol.parts import PARTS, joined
from server.protocol.strict import StrictModel, tag_of

_IDLE = ("cache_control", "citations")
"""Members of a part that change no answer."""
_OTHERS = ("tool_use", "tool_result", "thinking", "redacted_thinking")
"""Types of blocks that are no text."""
_CALLED = "the model itself calls tools: leave it out"
_TOOLSET = Foreign(NEVER, "send tools with an input_schema")


class TextBlock(StrictModel):
    """A block of a content, as the description has it; `server.protocol.parts` reads it."""

    type: Literal["text"]
    text: str
    cache_control: dict[str, Any] | None = None
    """Prompts that begin alike are cached anyway."""
    citations: list[Any] | None = None


def _text(given: object) -> object:
    return joined(given, {"text": "text"}, _IDLE)


Content = Annotated[
    str, BeforeValidator(_text, json_schema_input_type=str | Annotated[list[TextBlock], Field(max_length=PARTS)])
]


class ToolUseBlock(StrictModel):
    """A call of a tool in an answer, given back."""

    type: Literal["tool_use"]
    id: str
    name: str
    input: dict[str, Any]
    cache_control: dict[str, Any] | None = None

    foreign = MappingProxyType({"caller": Foreign(({"type": "direct"},), _CALLED), "toolset_name": _TOOLSET})


class ToolResultBlock(StrictModel):
    """Result of a tool. The model reads `Error: ` before it, if it `is_error`."""

    type: Literal["tool_result"]
    tool_use_id: str
    content: Content | None = None
    is_error: bool | None = None
    cache_control: dict[str, Any] | None = None

    foreign = MappingProxyType({"toolset_name": _TOOLSET})


class ThoughtBlock(StrictModel):
    """A thought in an answer, given back: the chat template decides what the model sees of it."""

    type: Literal["thinking"]
    thinking: str
    signature: str | None = None
    """Seal of another server's; changes nothing."""


class RedactedBlock(StrictModel):
    """A thought that only another server can read, given back; no model here is shown anything of it."""

    type: Literal["redacted_thinking"]
    data: str


Block = Annotated[
    Annotated[TextBlock, Tag("[text]")]
    | Annotated[ToolUseBlock, Tag("[tool_use]")]
    | Annotated[ToolResultBlock, Tag("[tool_result]")]
    | Annotated[ThoughtBlock, Tag("[thinking]")]
    | Annotated[RedactedBlock, Tag("[redacted_thinking]")],
    Discriminator(tag_of),
]


def _content(given: object) -> object:
    """One text, where there are only texts; else the blocks, each text by itself."""
    if not isinstance(given, list) or not any(_is_other(block) for block in given[: PARTS + 1]):
        return _text(given)
    return [block if _is_other(block) else {"type": "text", "text": _text([block])} for block in given[: PARTS + 1]]


def _is_other(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _OTHERS


def _text_or_blocks(content: object) -> str:
    return "[blocks]" if isinstance(content, list) else "[text]"


Blocks: TypeAlias = Annotated[list[Block], Field(max_length=PARTS, fail_fast=True)]
TurnContent = Annotated[
    Annotated[str, Tag("[text]")] | Annotated[Blocks, Tag("[blocks]")],
    Discriminator(_text_or_blocks),
    BeforeValidator(_content, json_schema_input_type=str | Blocks),
]
"""Content of a turn: a text, or blocks."""
