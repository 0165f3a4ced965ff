"""Tools as chat templates show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from server.protocol.tools.definitions import (
    CustomDefinition,
    CustomTool,
    FunctionDefinition,
    FunctionTool,
    definition_of,
    grammar_of,
)

NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
"""Schema that templates show of a function without parameters."""

INPUT = "input"
"""Parameter under which templates show the text that a custom tool takes."""


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
