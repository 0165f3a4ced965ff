"""Tools of a chat request, which of them may be called, and tools as chat templates show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from server.protocol.strict import MISPLACED_MEMBER, MISSING_MEMBER, StrictModel

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


class CustomFormat(StrictModel):
    """Texts that a custom tool takes: any, or those of a grammar."""

    type: Literal["text", "grammar"]
    grammar: GrammarDefinition | None = None

    @model_validator(mode="after")
    def _has_its_member(self) -> CustomFormat:
        if self.type == "text" and self.grammar is not None:
            told = {"member": "grammar"}
            raise PydanticCustomError(MISPLACED_MEMBER, "a format of type text has no grammar", told)
        if self.type == "grammar" and self.grammar is None:
            raise PydanticCustomError(MISSING_MEMBER, "Field required", {"member": "grammar"})
        return self


class CustomDefinition(StrictModel):
    """A tool that takes a text. `format`: which; null means any."""

    name: ToolName
    description: str | None = None
    format: CustomFormat | None = None


class Tool(StrictModel):
    """A tool: what its `type` names. `cache_control` changes no answer."""

    type: Literal["function", "custom"]
    function: FunctionDefinition | None = None
    custom: CustomDefinition | None = None
    cache_control: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _has_its_member(self) -> Tool:
        _check_member(self, self.type)
        return self

    @property
    def definition(self) -> FunctionDefinition | CustomDefinition:
        """The member that `type` names."""
        found = self.function or self.custom
        assert found is not None, "validated: the member is there"
        return found


class NamedTool(StrictModel):
    """The name of a tool."""

    name: str


class ToolReference(StrictModel):
    """One of the request's tools, by type and name."""

    type: Literal["function", "custom"]
    function: NamedTool | None = None
    custom: NamedTool | None = None

    @model_validator(mode="after")
    def _has_its_member(self) -> ToolReference:
        _check_member(self, self.type)
        return self

    @property
    def name(self) -> str:
        found = self.function or self.custom
        assert found is not None, "validated: the member is there"
        return found.name


class AllowedTools(StrictModel):
    """Tools of the request that may be called, and whether one has to be."""

    mode: Literal["auto", "required"]
    tools: Annotated[list[ToolReference], Field(min_length=1, max_length=TOOLS, fail_fast=True)]


class ChosenTools(StrictModel):
    """The one tool that is to be called, or the tools that may be."""

    type: Literal["function", "custom", "allowed_tools"]
    function: NamedTool | None = None
    custom: NamedTool | None = None
    allowed_tools: AllowedTools | None = None

    @model_validator(mode="after")
    def _has_its_member(self) -> ChosenTools:
        _check_member(self, self.type)
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tools that may be called."""
        if self.allowed_tools is not None:
            return tuple(tool.name for tool in self.allowed_tools.tools)
        found = self.function or self.custom
        assert found is not None, "validated: the member is there"
        return (found.name,)


def _mode_or_tools(choice: object) -> str:
    return "[tools]" if isinstance(choice, dict | ChosenTools) else "[mode]"


# Tags in brackets, as the names of other unions' members: an error's path leaves them out.
ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("[mode]")] | Annotated[ChosenTools, Tag("[tools]")],
    Discriminator(_mode_or_tools),
]
"""Whether tools are called, or which."""


def _mode_or_name(choice: object) -> str:
    return "[name]" if isinstance(choice, dict | NamedTool) else "[mode]"


FunctionChoice = Annotated[
    Annotated[Literal["none", "auto"], Tag("[mode]")] | Annotated[NamedTool, Tag("[name]")],
    Discriminator(_mode_or_name),
]
"""Whether functions are called, or which, as OpenAI had it before there were tools."""


def tools_for_template(
    tools: Sequence[Tool] | None, functions: Sequence[FunctionDefinition] | None
) -> tuple[dict[str, object], ...]:
    """Tools as chat templates take them: functions, of which a custom tool is one with the parameter `input`."""
    definitions = [tool.definition for tool in tools or ()] or list(functions or ())
    return tuple({"type": "function", "function": _shown(definition)} for definition in definitions)


def _shown(definition: FunctionDefinition | CustomDefinition) -> dict[str, object]:
    described = {} if definition.description is None else {"description": definition.description}
    if isinstance(definition, FunctionDefinition):
        return {"name": definition.name, **described, "parameters": definition.parameters or NO_PARAMETERS}
    taken: dict[str, object] = {"type": "string"}
    if definition.format is not None and definition.format.grammar is not None:
        grammar = definition.format.grammar
        kind = "a Lark grammar" if grammar.syntax == "lark" else "a regular expression"
        taken["description"] = f"Text of {kind}:\n{grammar.definition}"
    schema = {"type": "object", "properties": {INPUT: taken}, "required": [INPUT]}
    return {"name": definition.name, **described, "parameters": schema}


def _check_member(value: StrictModel, kind: str) -> None:
    """Raises PydanticCustomError where the member is missing that the type names, or another type's is there."""
    if getattr(value, kind) is None:
        raise PydanticCustomError(MISSING_MEMBER, "Field required", {"member": kind})
    for other in {"function", "custom", "allowed_tools"} - {kind}:
        if getattr(value, other, None) is not None:
            told = {"member": other}
            raise PydanticCustomError(MISPLACED_MEMBER, "the type names another member", told)
