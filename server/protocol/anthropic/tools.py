"""Tools of `/v1/messages`, blocks that tell of calls, and what they are in chats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from server.protocol.members import LONGEST_TOLD
from server.protocol.parts import FOREIGN_PART
from server.protocol.strict import MISPLACED_MEMBER, MISSING_MEMBER, StrictModel
from server.protocol.tools import TOOLS, ToolName


def _own(kind: object) -> object:
    if isinstance(kind, str) and kind != "custom":
        message = "tools of type {kind} run at Anthropic's: send tools with an input_schema"
        raise PydanticCustomError(FOREIGN_PART, message, {"kind": kind[:LONGEST_TOLD]})
    return kind


class AnthropicTool(StrictModel):
    """A tool. Its input satisfies `input_schema`, a JSON Schema of an object, whatever `strict` says."""

    type: Annotated[Literal["custom"] | None, BeforeValidator(_own, json_schema_input_type=Literal["custom"])] = None
    name: ToolName
    description: str | None = None
    input_schema: dict[str, Any]
    strict: bool | None = None
    cache_control: dict[str, Any] | None = None
    """Prompts that begin alike are cached anyway."""


AnthropicTools: TypeAlias = Annotated[list[AnthropicTool], Field(max_length=TOOLS, fail_fast=True)]


class AnthropicChoice(StrictModel):
    """Whether tools are called (`any`: at least one), or which one. `disable_parallel_tool_use`: one call at most."""

    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None

    @model_validator(mode="after")
    def _has_its_name(self) -> AnthropicChoice:
        if self.type == "tool" and self.name is None:
            raise PydanticCustomError(MISSING_MEMBER, "Field required", {"member": "name"})
        if self.type != "tool" and self.name is not None:
            raise PydanticCustomError(MISPLACED_MEMBER, "only the type tool has one", {"member": "name"})
        return self

    @property
    def in_chats(self) -> object:
        """`tool_choice` of a chat."""
        if self.name is not None:
            return {"type": "function", "function": {"name": self.name}}
        return {"any": "required"}.get(self.type, self.type)


def tools_in_chats(tools: Sequence[AnthropicTool] | None) -> list[dict[str, object]] | None:
    """`tools` of a chat."""
    if tools is None:
        return None
    return [{"type": "function", "function": _function(tool)} for tool in tools]


def names_in_chats(tools: Sequence[AnthropicTool] | None) -> Iterator[tuple[str, str]]:
    """Paths in a chat's tools, and what they are here."""
    for at in range(len(tools or ())):
        yield f"tools.{at}.function", f"tools.{at}"
        yield f"tools.{at}.function.parameters", f"tools.{at}.input_schema"


def _function(tool: AnthropicTool) -> dict[str, object]:
    described = {} if tool.description is None else {"description": tool.description}
    return {"name": tool.name, **described, "parameters": tool.input_schema}
