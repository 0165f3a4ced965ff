"""Tables of the page on HTTP: fields with their bounds, and error codes. Its prose stays."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from scripts.reference.markdown import linked, table
from server.protocol.anthropic import request as anthropic
from server.protocol.anthropic.request import MessagesRequest
from server.protocol.chat import ChatRequest, SwybOptions
from server.protocol.completion import Certificate
from server.protocol.completions import request as completions
from server.protocol.completions.request import CompletionRequest
from server.protocol.constraints.fields import ConstraintFields
from server.protocol.errors import ErrorCode
from server.protocol.foreign.field import Foreign
from server.protocol.foreign_fields import REQUEST
from server.protocol.responses import request as responses
from server.protocol.responses.request import ResponsesRequest
from server.protocol.translation.chats import SHARED

_MADE = re.compile(r"(<!-- made: (?P<name>[\w-]+) -->\n\n).*?(\n\n<!-- end -->)", re.DOTALL)
_SIGNS = MappingProxyType({"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"})


def filled(page: str) -> str:
    """The page with its tables made anew. Raises KeyError for one that nobody makes."""
    return _MADE.sub(lambda found: found[1] + TABLES[found["name"]]() + found[3], page)


def fields(model: type[BaseModel]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field as JSON Schema. Raises ValueError for one that doesn't say what it means."""
    for name, field in model.model_json_schema()["properties"].items():
        if "description" not in field:
            raise ValueError(f"{model.__name__}.{name} has no docstring")
        yield name, field


def request_fields() -> str:
    """Fields of a chat request but for those that constrain it, which others have too."""
    return _meanings({name: field for name, field in fields(ChatRequest) if name not in ConstraintFields.model_fields})


def constraint_fields() -> str:
    return _meanings(dict(fields(ConstraintFields)))


def own_fields(model: type[BaseModel]) -> str:
    """Fields of a request of another interface that chats don't have, or by another rule."""
    shared = SHARED
    needed = {name for name in shared & model.model_fields.keys() if model.model_fields[name].is_required()}
    return _meanings({name: field for name, field in fields(model) if name not in shared - needed})


def own_foreign(known: Mapping[str, Foreign]) -> str:
    """Fields that an interface refuses in another way than chats do."""
    rows = [
        (f"`{name}`", neutral_values(field), linked(field.instead))
        for name, field in sorted(known.items())
        if REQUEST.get(name) != field
    ]
    return table(("Field", "Accepted values", "Else"), rows)


def neutral_values(field: Foreign) -> str:
    """Values of a field that change nothing, null left out."""
    return ", ".join([*(f"`{json.dumps(value)}`" for value in field.neutral), *(f"any {name}" for name in field.types)])


def _meanings(found: Mapping[str, dict[str, Any]]) -> str:
    rows = [(f"`{name}`", values(field), linked(field["description"])) for name, field in found.items()]
    return table(("Field", "Values", "Meaning"), rows)


def options() -> str:
    rows = [
        (f"`{name}`", values(field), f"`{json.dumps(field['default'])}`", linked(field["description"]))
        for name, field in fields(SwybOptions)
    ]
    return table(("Field", "Values", "Default", "Meaning"), rows)


def certificate() -> str:
    rows = [(f"`{name}`", linked(field["description"])) for name, field in fields(Certificate)]
    return table(("Field of `swyb`", "Meaning"), rows)


def errors() -> str:
    rows = [(f"`{code.value}`", str(code.status), f"`{code.type}`", linked(code.when)) for code in ErrorCode]
    return table(("Code", "Status", "Type", "When"), rows)


def values(schema: Mapping[str, Any]) -> str:
    """Values of a field in words: types, constants, bounds. Null is left out."""
    parts = [part for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
    if "oneOf" in parts[0] and "discriminator" not in parts[0]:
        return " or ".join("object" if "$ref" in part else part["type"] for part in parts[0]["oneOf"])
    if any("$ref" in part or "oneOf" in part for part in parts):
        return "object"
    kinds = _listed([name for part in parts for name in _names(part)])
    bounds = [f"{sign} {_bound(parts[0][key])}" for key, sign in _SIGNS.items() if key in parts[0]]
    return ", ".join([kinds, *bounds])


def _names(part: Mapping[str, Any]) -> list[str]:
    """Constants that a part of a field's values consists of, the empty text left out; or its type."""
    constants = part.get("enum", [part["const"]] if "const" in part else [])
    return [f"`{value}`" for value in constants if value != ""] or [_kind(part["type"])]


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _kind(name: str) -> str:
    return "list" if name == "array" else name


def _bound(value: float) -> str:
    """A number; a large power of two as such."""
    if value != int(value):
        return f"{value:g}"
    size = abs(int(value))
    power = f"2^{size.bit_length() - 1}" if size > 1 << 32 and size & (size - 1) == 0 else f"{size}"
    return f"-{power}" if value < 0 else power


TABLES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "request-fields": request_fields,
        "constraint-fields": constraint_fields,
        "options": options,
        "certificate": certificate,
        "errors": errors,
        "completion-fields": lambda: own_fields(CompletionRequest),
        "foreign-completion-fields": lambda: own_foreign(completions.FOREIGN),
        "responses-fields": lambda: own_fields(ResponsesRequest),
        "foreign-responses-fields": lambda: own_foreign(responses.FOREIGN),
        "messages-fields": lambda: own_fields(MessagesRequest),
        "foreign-messages-fields": lambda: own_foreign(anthropic.FOREIGN),
    }
)
