"""Tools of `/v1/responses`, and what they are in chats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from server.protocol.members import LONGEST_TOLD
from server.protocol.parts import FOREIGN_PART
from server.protocol.strict import MISPLACED_MEMBER, MISSING_MEMBER, StrictModel
from server.protocol.tools import TOOLS, ToolName

_KINDS = ("function", "custom")


def _own(kind: object) -> object:
    if isinstance(kind, str) and kind not in _KINDS:
        message = "tools of type {kind} run at OpenAI's: send tools of type function or custom"
        raise PydanticCustomError(FOREIGN_PART, message, {"kind": kind[:LONGEST_TOLD]})
    return kind


Kind: TypeAlias = Annotated[
    Literal["function", "custom"],
    BeforeValidator(_own, json_schema_input_type=Literal["function", "custom"]),
]


class ResponsesFormat(StrictModel):
    """Texts that a custom tool takes: any, or those of a Lark grammar or a regular expression."""

    type: Literal["text", "grammar"]
    syntax: Literal["lark", "regex"] | None = None
    definition: str | None = None

    @model_validator(mode="after")
    def _has_its_members(self) -> ResponsesFormat:
        for name in ("syntax", "definition"):
            given = getattr(self, name) is not None
            if given and self.type == "text":
                raise PydanticCustomError(MISPLACED_MEMBER, "a format of type text has no grammar", {"member": name})
            if not given and self.type == "grammar":
                raise PydanticCustomError(MISSING_MEMBER, "Field required", {"member": name})
        return self


class ResponsesTool(StrictModel):
    """A function, with `parameters`, or a custom tool, with a `format`: see docs/how-to/tools.md."""

    type: Kind
    name: ToolName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    format: ResponsesFormat | None = None

    @model_validator(mode="after")
    def _has_its_members(self) -> ResponsesTool:
        for name in ("format",) if self.type == "function" else ("parameters", "strict"):
            if getattr(self, name) is not None:
                raise PydanticCustomError(MISPLACED_MEMBER, "the other type of tools has it", {"member": name})
        return self


ResponsesTools: TypeAlias = Annotated[list[ResponsesTool], Field(max_length=TOOLS, fail_fast=True)]


class ResponsesReference(StrictModel):
    """One of the request's tools, by type and name."""

    type: Kind
    name: str


class ResponsesChosen(StrictModel):
    """The one tool that is to be called, by type and name; or, with the type `allowed_tools`, those that may be."""

    type: Literal["function", "custom", "allowed_tools"]
    name: str | None = None
    mode: Literal["auto", "required"] | None = None
    tools: Annotated[list[ResponsesReference], Field(min_length=1, max_length=TOOLS, fail_fast=True)] | None = None

    @model_validator(mode="after")
    def _has_its_members(self) -> ResponsesChosen:
        own = ("mode", "tools") if self.type == "allowed_tools" else ("name",)
        for name in ("name", "mode", "tools"):
            given = getattr(self, name) is not None
            if given and name not in own:
                raise PydanticCustomError(MISPLACED_MEMBER, "another type has it", {"member": name})
            if not given and name in own:
                raise PydanticCustomError(MISSING_MEMBER, "Field required", {"member": name})
        return self


def _mode_or_tools(choice: object) -> str:
    return "[tools]" if isinstance(choice, dict | ResponsesChosen) else "[mode]"


ResponsesChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("[mode]")] | Annotated[ResponsesChosen, Tag("[tools]")],
    Discriminator(_mode_or_tools),
]
"""Whether tools are called, or which."""


def tools_in_chats(tools: Sequence[ResponsesTool] | None) -> list[dict[str, object]] | None:
    """`tools` of a chat."""
    return None if tools is None else [{"type": tool.type, tool.type: _definition(tool)} for tool in tools]


def choice_in_chats(choice: ResponsesChosen | str | None) -> object:
    """`tool_choice` of a chat."""
    if choice is None or isinstance(choice, str):
        return choice
    if choice.tools is None:
        return {"type": choice.type, choice.type: {"name": choice.name}}
    allowed = [{"type": tool.type, tool.type: {"name": tool.name}} for tool in choice.tools]
    return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": allowed}}


def names_in_chats(tools: Sequence[ResponsesTool] | None) -> Iterator[tuple[str, str]]:
    """Paths in a chat's tools, and what they are here."""
    for at, tool in enumerate(tools or ()):
        yield f"tools.{at}.{tool.type}", f"tools.{at}"
        yield f"tools.{at}.custom.format.grammar", f"tools.{at}.format"


def _definition(tool: ResponsesTool) -> dict[str, object]:
    members = tool.model_dump(include={"name", "description", "parameters", "strict"}, exclude_none=True)
    if tool.format is None:
        return members
    grammar = tool.format.model_dump(include={"syntax", "definition"}, exclude_none=True)
    return {**members, "format": {"type": tool.format.type, **({"grammar": grammar} if grammar else {})}}
