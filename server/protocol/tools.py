"""Tools of a chat request, which of them may be called, and tools as chat templates show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from server.protocol.strict import StrictModel, tag_of

TOOLS = 1_024
"""Tools of one request."""

ToolName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:/-]{1,128}$")]
"""Name that every form of calls can write as it is."""

NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
"""Schema that templates show of a function without parameters."""

INPUT = "input"
"""Parameter under which templates show the text that a custom tool takes."""


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


def definition_of(tool: FunctionTool | CustomTool) -> FunctionDefinition | CustomDefinition:
    """Definition of a tool: the member that its type names."""
    return tool.function if isinstance(tool, FunctionTool) else tool.custom


def grammar_of(definition: CustomDefinition) -> GrammarDefinition | None:
    """Grammar of the texts that a custom tool takes; None: any text."""
    return definition.format.grammar if isinstance(definition.format, GrammarTextFormat) else None


def tools_for_template(
    tools: Sequence[FunctionTool | CustomTool] | None, functions: Sequence[FunctionDefinition] | None
) -> tuple[dict[str, object], ...]:
    """Tools as chat templates take them: functions, of which a custom tool is one with the parameter `input`."""
    definitions = [definition_of(tool) for tool in tools or ()] or list(functions or ())
    return tuple({"type": "function", "function": _shown(definition)} for definition in definitions)


def _shown(definition: FunctionDefinition | CustomDefinition) -> dict[str, object]:
    described = {} if definition.description is None else {"description": definition.description}
    if isinstance(definition, FunctionDefinition):
        return {"name": definition.name, **described, "parameters": definition.parameters or NO_PARAMETERS}
    taken: dict[str, object] = {"type": "string"}
    if (grammar := grammar_of(definition)) is not None:
        kind = "a Lark grammar" if grammar.syntax == "lark" else "a regular expression"
        taken["description"] = f"Text of {kind}:\n{grammar.definition}"
    schema = {"type": "object", "properties": {INPUT: taken}, "required": [INPUT]}
    return {"name": definition.name, **described, "parameters": schema}
