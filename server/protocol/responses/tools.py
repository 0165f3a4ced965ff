"""Tools of `/v1/responses`, and what they are in chats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from server.protocol.members import LONGEST_TOLD
from server.protocol.parts import FOREIGN_PART
from server.protocol.strict import StrictModel, tag_of
from server.protocol.tools.definitions import TOOLS, AnyTextFormat, ToolName

_KINDS = ("function", "custom")


def _own(tool: object) -> object:
    kind = tool.get("type") if isinstance(tool, dict) else None
    if isinstance(kind, str) and kind not in _KINDS:
        message = "tools of type {kind} run at OpenAI's: send tools of type function or custom"
        raise PydanticCustomError(FOREIGN_PART, message, {"kind": kind[:LONGEST_TOLD]})
    return tool


class SyntaxFormat(StrictModel):
    """Texts of a Lark grammar, or those that a regular expression matches as a whole."""

    type: Literal["grammar"]
    syntax: Literal["lark", "regex"]
    definition: str


ResponsesFormat = Annotated[
    Annotated[AnyTextFormat, Tag("[text]")] | Annotated[SyntaxFormat, Tag("[grammar]")], Discriminator(tag_of)
]


class ResponsesFunction(StrictModel):
    """A function. Its arguments satisfy `parameters`, a JSON Schema of an object, whatever `strict` says."""

    type: Literal["function"]
    name: ToolName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ResponsesCustom(StrictModel):
    """A tool that takes a text. `format`: which; null means any."""

    type: Literal["custom"]
    name: ToolName
    description: str | None = None
    format: ResponsesFormat | None = None


ResponsesTool = Annotated[
    Annotated[ResponsesFunction, Tag("[function]")] | Annotated[ResponsesCustom, Tag("[custom]")],
    Discriminator(tag_of),
    BeforeValidator(_own),
]
ResponsesTools: TypeAlias = Annotated[list[ResponsesTool], Field(max_length=TOOLS, fail_fast=True)]


class ResponsesNamed(StrictModel):
    """One of the request's tools, by type and name."""

    type: Literal["function", "custom"]
    name: str


class ResponsesAllowed(StrictModel):
    """Tools of the request that may be called, and whether one has to be."""

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Annotated[list[ResponsesNamed], Field(min_length=1, max_length=TOOLS, fail_fast=True)]


def _choice_tag(choice: object) -> str:
    tag = tag_of(choice)
    return "[mode]" if isinstance(choice, str) else "[function]" if tag == "[custom]" else tag


ResponsesChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("[mode]")]
    | Annotated[ResponsesNamed, Tag("[function]")]
    | Annotated[ResponsesAllowed, Tag("[allowed_tools]")],
    Discriminator(_choice_tag),
]
"""Whether tools are called, or which."""


def tools_in_chats(tools: Sequence[ResponsesFunction | ResponsesCustom] | None) -> list[dict[str, object]] | None:
    """`tools` of a chat."""
    return None if tools is None else [{"type": tool.type, tool.type: _definition(tool)} for tool in tools]


def choice_in_chats(choice: ResponsesNamed | ResponsesAllowed | str | None) -> object:
    """`tool_choice` of a chat."""
    if choice is None or isinstance(choice, str):
        return choice
    if isinstance(choice, ResponsesNamed):
        return _named(choice)
    return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": list(map(_named, choice.tools))}}


def _named(tool: ResponsesNamed) -> dict[str, object]:
    return {"type": tool.type, tool.type: {"name": tool.name}}


def names_in_chats(tools: Sequence[ResponsesFunction | ResponsesCustom] | None) -> Iterator[tuple[str, str]]:
    """Paths in a chat's tools, and what they are here."""
    for at, tool in enumerate(tools or ()):
        yield f"tools.{at}.{tool.type}", f"tools.{at}"
        yield f"tools.{at}.custom.format.grammar", f"tools.{at}.format"


def _definition(tool: ResponsesFunction | ResponsesCustom) -> dict[str, object]:
    members = tool.model_dump(exclude={"type", "format"}, exclude_none=True)
    if isinstance(tool, ResponsesFunction) or tool.format is None:
        return members
    if isinstance(tool.format, AnyTextFormat):
        return {**members, "format": {"type": "text"}}
    grammar = {"syntax": tool.format.syntax, "definition": tool.format.definition}
    return {**members, "format": {"type": "grammar", "grammar": grammar}}
