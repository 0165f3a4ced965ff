"""Tools of `/v1/messages`, blocks that tell of calls, and what they are in chats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from server.protocol.foreign.field import EITHER, OFF, Foreign
from server.protocol.members import LONGEST_TOLD
from server.protocol.parts import FOREIGN_PART
from server.protocol.strict import StrictModel, tag_of
from server.protocol.tools.definitions import TOOLS, ToolName


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
    input_examples: list[dict[str, Any]] | None = None
    """Inputs that the model is shown, as `examples` of `input_schema`."""

    foreign = MappingProxyType(
        {
            "allowed_callers": Foreign((["direct"],), "the model itself calls tools: leave it out"),
            "defer_loading": Foreign(OFF, "the model is shown all tools at once: leave it out"),
            "eager_input_streaming": Foreign(EITHER, "input is streamed as it is written: leave it out"),
        }
    )


AnthropicTools: TypeAlias = Annotated[list[AnthropicTool], Field(max_length=TOOLS, fail_fast=True)]


class ModeChoice(StrictModel):
    """Tools that may be called, or of which one has to be (`any`). `disable_parallel_tool_use`: one call at most."""

    type: Literal["auto", "any"]
    disable_parallel_tool_use: bool | None = None


class OneChoice(StrictModel):
    """The one tool that is called."""

    type: Literal["tool"]
    name: str
    disable_parallel_tool_use: bool | None = None


class NoChoice(StrictModel):
    """No tool is called."""

    type: Literal["none"]


def _choice_tag(choice: object) -> str:
    tag = tag_of(choice)
    return "[auto]" if tag == "[any]" else tag


AnthropicChoice = Annotated[
    Annotated[ModeChoice, Tag("[auto]")] | Annotated[OneChoice, Tag("[tool]")] | Annotated[NoChoice, Tag("[none]")],
    Discriminator(_choice_tag),
]


def choice_in_chats(choice: ModeChoice | OneChoice | NoChoice | None) -> object:
    """`tool_choice` of a chat."""
    if isinstance(choice, OneChoice):
        return {"type": "function", "function": {"name": choice.name}}
    return None if choice is None else {"any": "required"}.get(choice.type, choice.type)


def is_single(choice: ModeChoice | OneChoice | NoChoice | None) -> bool:
    """Whether there may be one call at most."""
    return not isinstance(choice, NoChoice | None) and choice.disable_parallel_tool_use is True


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
    shown = {} if tool.input_examples is None else {"examples": tool.input_examples}
    return {"name": tool.name, **described, "parameters": {**tool.input_schema, **shown}}
