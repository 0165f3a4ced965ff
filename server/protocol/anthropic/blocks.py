"""Contents of turns of `/v1/messages`: texts, calls of tools and their results."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag

from server.protocol.parts import PARTS, joined
from server.protocol.strict import StrictModel, tag_of

_IDLE = ("cache_control", "citations")
"""Members of a part that change no answer."""
_CALLS = ("tool_use", "tool_result")


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


class ToolResultBlock(StrictModel):
    """Result of a tool. The model reads `Error: ` before it, if it `is_error`."""

    type: Literal["tool_result"]
    tool_use_id: str
    content: Content | None = None
    is_error: bool | None = None
    cache_control: dict[str, Any] | None = None


Block = Annotated[
    Annotated[TextBlock, Tag("[text]")]
    | Annotated[ToolUseBlock, Tag("[tool_use]")]
    | Annotated[ToolResultBlock, Tag("[tool_result]")],
    Discriminator(tag_of),
]


def _content(given: object) -> object:
    """One text, where there are only texts; else the blocks, each text by itself."""
    if not isinstance(given, list) or not any(_is_call(block) for block in given[: PARTS + 1]):
        return _text(given)
    return [block if _is_call(block) else {"type": "text", "text": _text([block])} for block in given[: PARTS + 1]]


def _is_call(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _CALLS


def _text_or_blocks(content: object) -> str:
    return "[blocks]" if isinstance(content, list) else "[text]"


Blocks: TypeAlias = Annotated[list[Block], Field(max_length=PARTS, fail_fast=True)]
TurnContent = Annotated[
    Annotated[str, Tag("[text]")] | Annotated[Blocks, Tag("[blocks]")],
    Discriminator(_text_or_blocks),
    BeforeValidator(_content, json_schema_input_type=str | Blocks),
]
"""Content of a turn: a text, or blocks."""
