"""Calling: the tools that an answer may call, how many of them and in which form, read from a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from server.protocol.errors import ApiError, ErrorCode
from server.protocol.tools.choices import AllowedTools, NamedCustom, NamedFunction
from server.protocol.tools.definitions import CustomDefinition, FunctionDefinition, definition_of, grammar_of
from server.protocol.tools.fields import ToolFields
from server.tools.forms import CallForm
from server.tools.parameters import Unwritable, format_of

Format: TypeAlias = dict[str, Any]
"""Format of a structural tag (docs/reference/structural-tags.md)."""

_NO_ARGUMENTS: Mapping[str, object] = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class CallableTool:
    """Tool as an answer may call it. `takes`: format of what it is given, a JSON object unless it `takes_text`.
    `field`: path of the request's field that says so. `parameters`: the schema of the object, where its members are
    written as parameters.
    """

    name: str
    takes: Format
    field: str
    takes_text: bool = False
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Calling:
    """Calls that an answer may hold, in a `form`.

    `required`: the answer is calls; else it may be a text too. `text`: format of an answer that is one, without calls
    behind it; None: any text, that may go over into calls. `several`: whether there may be more than one call.
    `as_functions`: whether the client speaks of `functions`, and reads one `function_call`.
    """

    tools: tuple[CallableTool, ...]
    form: CallForm
    required: bool = False
    several: bool = True
    as_functions: bool = False
    text: Format | None = None

    @property
    def has_free_text(self) -> bool:
        """Whether an answer may begin with any text."""
        return not self.required and self.text is None

    @property
    def text_tools(self) -> frozenset[str]:
        """Names of the tools that take a text."""
        return frozenset(tool.name for tool in self.tools if tool.takes_text)


def calling_of(request: ToolFields, form: CallForm) -> Calling | None:
    """Calls that a request allows; None: none. Raises ApiError for tools that can't be, and for a choice of tools that
    aren't there.
    """
    if request.functions is not None and request.tools is not None:
        message = "tools and functions are two names of one thing: send tools"
        raise ApiError(ErrorCode.CONFLICTING_PARAMETERS, message, param="functions")
    _refuse_idle_choice(request)
    if request.functions is not None:
        named = [(f"functions.{at}", function) for at, function in enumerate(request.functions)]
        chosen = request.function_call
        names: tuple[str, ...] | None = None if chosen is None or isinstance(chosen, str) else (chosen.name,)
        return _calling(named, form, "function_call", _mode(chosen), names, several=False, as_functions=True)
    listed = [(f"tools.{at}.{tool.type}", definition_of(tool)) for at, tool in enumerate(request.tools or ())]
    choice = request.tool_choice
    names = None if choice is None or isinstance(choice, str) else choice.names
    several = request.parallel_tool_calls is not False and not isinstance(choice, NamedFunction | NamedCustom)
    return _calling(listed, form, "tool_choice", _mode(choice), names, several=several)


def _refuse_idle_choice(request: ToolFields) -> None:
    """Refuses a choice among tools beside functions, and one among functions without any."""
    choice: object
    if request.functions is not None:
        field, choice, kind, other = "tool_choice", request.tool_choice, "tools", "function_call"
    else:
        field, choice, kind, other = "function_call", request.function_call, "functions", "tool_choice"
    if choice in (None, "auto") or (choice == "none" and not (request.functions or request.tools)):
        return
    message = f"{field} is a choice among {kind}, and there are none: send {kind}, or {other}"
    raise ApiError(ErrorCode.MISSING_PARAMETER, message, param=kind)


def _calling(
    definitions: Sequence[tuple[str, FunctionDefinition | CustomDefinition]],
    form: CallForm,
    field: str,
    mode: str,
    names: Sequence[str] | None,
    *,
    several: bool,
    as_functions: bool = False,
) -> Calling | None:
    """Calls of tools at these paths: all, or those of these names. `field`: the field that chooses among them."""
    tools = {tool.name: tool for tool in _distinct(definitions, form)}
    if mode == "required" and not tools:
        listed = "functions" if field == "function_call" else "tools"
        message = f"{field} asks for a call, and there is nothing to call: send {listed}"
        raise ApiError(ErrorCode.MISSING_PARAMETER, message, param=listed)
    for name in names or ():
        if name not in tools:
            message = f"{field}: no tool has the name {name[:100]!r}; there are {', '.join(tools)}"
            raise ApiError(ErrorCode.INVALID_VALUE, message, param=field)
    if mode == "none" or not tools:
        return None
    several = several and form.parallel
    allowed = tuple(tools.values()) if names is None else tuple(tools[name] for name in dict.fromkeys(names))
    return Calling(allowed, form, required=mode == "required", several=several, as_functions=as_functions)


def _mode(choice: object) -> str:
    if choice is None or isinstance(choice, str):
        return choice or "auto"
    return choice.allowed_tools.mode if isinstance(choice, AllowedTools) else "required"


def _distinct(
    definitions: Iterable[tuple[str, FunctionDefinition | CustomDefinition]], form: CallForm
) -> Iterator[CallableTool]:
    known: set[str] = set()
    for path, definition in definitions:
        if definition.name in known:
            message = f"{path}.name: two tools have the name {definition.name!r}"
            raise ApiError(ErrorCode.INVALID_VALUE, message, param=f"{path}.name")
        known.add(definition.name)
        if isinstance(definition, FunctionDefinition):
            yield _function(path, definition, form)
        else:
            yield _custom(path, definition)


def _function(path: str, definition: FunctionDefinition, form: CallForm) -> CallableTool:
    field, schema = f"{path}.parameters", definition.parameters or _NO_ARGUMENTS
    kinds = schema.get("type", "object")
    if "object" not in (kinds if isinstance(kinds, list) else [kinds]):
        message = f"{field}: the tool {definition.name!r} is given an object, and its schema says another type"
        raise ApiError(ErrorCode.INVALID_VALUE, message, param=field)
    if form.parameters is None:
        takes = {"type": "json_schema", "json_schema": {"type": "object"} | dict(schema) | {"type": "object"}}
        return CallableTool(definition.name, takes, field)
    try:
        return CallableTool(definition.name, format_of(schema, form.parameters), field, parameters=schema)
    except Unwritable as error:
        message = (
            f"{field}: the tool {definition.name!r}: {error}: leave it out, or serve the model with --tool-form hermes"
        )
        raise ApiError(ErrorCode.UNSUPPORTED_FEATURE, message, param=field, details={"pointer": error.at}) from error


def _custom(path: str, definition: CustomDefinition) -> CallableTool:
    grammar = grammar_of(definition)
    if grammar is None:
        return CallableTool(definition.name, {"type": "any_text"}, path, takes_text=True)
    field = f"{path}.format.grammar.definition"
    if grammar.syntax == "regex":
        return CallableTool(definition.name, {"type": "regex", "pattern": grammar.definition}, field, takes_text=True)
    takes = {"type": "grammar", "grammar": grammar.definition, "syntax": "lark"}
    return CallableTool(definition.name, takes, field, takes_text=True)
