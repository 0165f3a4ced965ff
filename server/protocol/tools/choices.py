"""Choices of a chat request among its tools: whether one is called, and which."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from server.protocol.strict import StrictModel, tag_of
from server.protocol.tools.definitions import TOOLS


class NamedTool(StrictModel):
    """The name of a tool."""

    name: str


class NamedFunction(StrictModel):
    """A function of the request."""

    type: Literal["function"]
    function: NamedTool

    @property
    def names(self) -> tuple[str, ...]:
        return (self.function.name,)


class NamedCustom(StrictModel):
    """A custom tool of the request."""

    type: Literal["custom"]
    custom: NamedTool

    @property
    def names(self) -> tuple[str, ...]:
        return (self.custom.name,)


Named = Annotated[
    Annotated[NamedFunction, Tag("[function]")] | Annotated[NamedCustom, Tag("[custom]")], Discriminator(tag_of)
]


class ToolList(StrictModel):
    """Tools of the request that may be called, and whether one has to be."""

    mode: Literal["auto", "required"]
    tools: Annotated[list[Named], Field(min_length=1, max_length=TOOLS, fail_fast=True)]


class AllowedTools(StrictModel):
    """Choice of several tools."""

    type: Literal["allowed_tools"]
    allowed_tools: ToolList

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for tool in self.allowed_tools.tools for name in tool.names)


def _mode_or_type(choice: object) -> str:
    return "[mode]" if isinstance(choice, str) else tag_of(choice)


ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("[mode]")]
    | Annotated[NamedFunction, Tag("[function]")]
    | Annotated[NamedCustom, Tag("[custom]")]
    | Annotated[AllowedTools, Tag("[allowed_tools]")],
    Discriminator(_mode_or_type),
]
"""Whether tools are called, or which."""


def _mode_or_name(choice: object) -> str:
    return "[name]" if isinstance(choice, dict | NamedTool) else "[mode]"


FunctionChoice = Annotated[
    Annotated[Literal["none", "auto"], Tag("[mode]")] | Annotated[NamedTool, Tag("[name]")],
    Discriminator(_mode_or_name),
]
"""Whether functions are called, or which, as OpenAI had it before there were tools."""
