"""Grammar of answers that may call tools: one structural tag for text, calls, or text and then calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from grammar_cache import Constraint, GrammarError
from grammar_cache.constraint import Whitespace
from server.protocol.errors import ApiError, ErrorCode, of_grammar
from server.tools.calling import Calling, Format
from server.tools.parameters import schema_pointer

_FIELD = "tools"


def constraint_of(calling: Calling, whitespace: Whitespace = "bounded", *, lenient: bool = False) -> Constraint:
    """Constraint that holds all answers with these calls. Raises ApiError for a number that JSON can't have."""
    try:
        text = json.dumps(_tag(calling), ensure_ascii=False, allow_nan=False)
    except ValueError as error:  # a number such as 1e999
        raise ApiError(ErrorCode.INVALID_VALUE, f"{_FIELD}: a number is too large", param=_FIELD) from error
    return Constraint("structural_tag", text, whitespace=whitespace, lenient=lenient)


def refusal(error: GrammarError, calling: Calling) -> ApiError:
    """Refusal of the constraint, blamed on the tool whose part of it the error points to."""
    tools = {id(tool.takes): tool for tool in calling.tools}
    for pointer, value in _formats(_tag(calling)):
        tool = tools.get(id(value))
        if tool is not None and error.pointer is not None and f"{error.pointer}/".startswith(f"{pointer}/"):
            inside = error.pointer[len(pointer) :]
            if tool.parameters is not None:
                error.pointer = schema_pointer(inside, tool.parameters)
            else:
                inside = inside.removeprefix(_INSIDE.get(value["type"], ""))
                error.pointer = inside if value["type"] == "json_schema" else None
            error.message = f"the tool {tool.name!r}: {error.message}"
            return of_grammar(error, tool.field)
    return of_grammar(error, _FIELD)


_INSIDE: Mapping[str, str] = {"json_schema": "/json_schema", "grammar": "/grammar", "regex": "/pattern"}
"""Pointers from a format to what a request's field holds."""


def _tag(calling: Calling) -> Format:
    form = calling.form
    if calling.required:
        return _whole(_sequence(_literal(form.lead), _calls(calling)))
    if calling.text is not None:
        return _whole({"type": "or", "elements": [calling.text, _sequence(_literal(form.lead), _calls(calling))]})
    behind = _sequence(_literal(form.lead.removeprefix(form.trigger)), _calls(calling))
    return _whole({"type": "dispatch", "rules": [[form.trigger, behind]], "loop": False})


def _calls(calling: Calling) -> Format:
    """Calls from the first one's name on: of functions, as many as come, or one of a tool that takes a text."""
    form = calling.form
    functions = [tool for tool in calling.tools if not tool.takes_text]
    ways = [
        _within(tool.name + form.text_middle, tool.takes, form.text_end) for tool in calling.tools if tool.takes_text
    ]
    if functions:
        calls = {
            "type": "tags_with_separator",
            "tags": [_within(tool.name + form.middle, tool.takes, "") for tool in functions],
            "separator": form.next,
            "at_least_one": True,
            "stop_after_first": not calling.several,
        }
        ways.append(_sequence(calls, _literal(form.last)))
    return {"type": "or", "elements": ways}


def _whole(found: Format) -> Format:
    return {"type": "structural_tag", "format": found}


def _within(begin: str, content: Format, end: str) -> Format:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def _literal(text: str) -> Format:
    return {"type": "const_string", "value": text}


def _sequence(*elements: Format) -> Format:
    return {"type": "sequence", "elements": list(elements)}


def _formats(value: Any, pointer: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Formats within a format, with their pointers; schemas aren't looked into."""
    if isinstance(value, dict):
        yield pointer, value
        if value.get("type") in ("json_schema", "grammar", "regex"):
            return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield from _formats(inner, f"{pointer}/{name}")
