"""Fields of requests that may hold tools."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from server.protocol.strict import StrictModel
from server.protocol.tools.choices import FunctionChoice, ToolChoice
from server.protocol.tools.definitions import TOOLS, FunctionDefinition, Tool


class ToolFields(StrictModel):
    """Tools, and which of them an answer may call."""

    tools: Annotated[list[Tool], Field(max_length=TOOLS, fail_fast=True)] | None = None
    """Up to 1,024 tools: functions, whose arguments satisfy their `parameters`, and `custom` tools, which take a text,
    maybe of a grammar. The chat template shows them, and calls are in the model's own form: see docs/how-to/tools.md.
    """
    tool_choice: ToolChoice | None = None
    """`auto`, the default: text, or calls, or text and then calls. `required`: calls. `none`: text. Or one tool that is
    called, or `allowed_tools`.
    """
    parallel_tool_calls: bool | None = None
    """Whether an answer may hold several calls. Default true."""
    functions: Annotated[list[FunctionDefinition], Field(max_length=TOOLS, fail_fast=True)] | None = None
    """Older name of `tools`: functions, of which an answer calls one at most, in `function_call`."""
    function_call: FunctionChoice | None = None
    """Choice among `functions`, as `tool_choice` is among `tools`: `auto`, `none`, or one function by its `name`."""
