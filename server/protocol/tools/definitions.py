"""Tools of a chat request: functions, and custom tools, which take a text."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from server.protocol.strict import StrictModel, tag_of

TOOLS = 1_024
"""Tools of one request."""

ToolName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:/-]{1,128}$")]
"""Name that every form of calls can write as it is."""


class FunctionDefinition(StrictModel):
    """A function. Its arguments follow `parameters`, a JSON Schema of an object, whatever `strict` says. Without
    `parameters`, or with `{}`, it has none.
    """

    name: ToolName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class GrammarDefinition(StrictModel):
    """A Lark grammar, or a regular expression that a whole text matches."""

    definition: str
    syntax: Literal["lark", "regex"]


class AnyTextFormat(StrictModel):
    """Any text."""

    type: Literal["text"]


class GrammarTextFormat(StrictModel):
    """Texts of a grammar."""

    type: Literal["grammar"]
    grammar: GrammarDefinition


CustomFormat = Annotated[
    Annotated[AnyTextFormat, Tag("[text]")] | Annotated[GrammarTextFormat, Tag("[grammar]")], Discriminator(tag_of)
]


class CustomDefinition(StrictModel):
    """A tool that takes a text. `format`: which; null means any."""

    name: ToolName
    description: str | None = None
    format: CustomFormat | None = None


class FunctionTool(StrictModel):
    """A function. `cache_control` changes no answer."""

    type: Literal["function"]
    function: FunctionDefinition
    cache_control: dict[str, Any] | None = None


class CustomTool(StrictModel):
    """A tool that takes a text. `cache_control` changes no answer."""

    type: Literal["custom"]
    custom: CustomDefinition
    cache_control: dict[str, Any] | None = None


Tool = Annotated[
    Annotated[FunctionTool, Tag("[function]")] | Annotated[CustomTool, Tag("[custom]")], Discriminator(tag_of)
]


def definition_of(tool: FunctionTool | CustomTool) -> FunctionDefinition | CustomDefinition:
    """Definition of a tool: the member that its type names."""
    return tool.function if isinstance(tool, FunctionTool) else tool.custom


def grammar_of(definition: CustomDefinition) -> GrammarDefinition | None:
    """Grammar of the texts that a custom tool takes; None: any text."""
    return definition.format.grammar if isinstance(definition.format, GrammarTextFormat) else None
