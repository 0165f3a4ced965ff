"""Tables of the page on HTTP: fields with their bounds, error codes, fields of other servers. Its prose stays."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from scripts.reference.markdown import linked, table
from server.protocol.chat import ChatRequest, SwybOptions
from server.protocol.completion import Certificate
from server.protocol.errors import ErrorCode
from server.protocol.foreign_fields import MESSAGE, REQUEST, Foreign

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
    rows = [(f"`{name}`", values(field), linked(field["description"])) for name, field in fields(ChatRequest)]
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


def foreign(known: Mapping[str, Foreign]) -> str:
    rows = [
        (f"`{name}`", ", ".join(f"`{json.dumps(value)}`" for value in field.neutral), field.instead)
        for name, field in sorted(known.items())
    ]
    return table(("Field", "Accepted values", "Else"), rows)


def values(schema: Mapping[str, Any]) -> str:
    """Values of a field in words: types, constants, bounds. Null is left out."""
    parts = [part for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
    if "oneOf" in parts[0] and "discriminator" not in parts[0]:
        return " or ".join("object" if "$ref" in part else part["type"] for part in parts[0]["oneOf"])
    if any("$ref" in part or "oneOf" in part for part in parts):
        return "object"
    if "enum" in parts[0]:
        return _listed([f"`{value}`" for value in parts[0]["enum"]])
    kinds = _listed([f"`{part['const']}`" if "const" in part else _kind(part["type"]) for part in parts])
    bounds = [f"{sign} {_bound(parts[0][key])}" for key, sign in _SIGNS.items() if key in parts[0]]
    return ", ".join([kinds, *bounds])


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _kind(name: str) -> str:
    return "list" if name == "array" else name


def _bound(value: float) -> str:
    """An integer; a large power of two as such."""
    size = abs(int(value))
    power = f"2^{size.bit_length() - 1}" if size > 1 << 32 and size & (size - 1) == 0 else f"{size}"
    return f"-{power}" if value < 0 else power


TABLES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "request-fields": request_fields,
        "options": options,
        "certificate": certificate,
        "errors": errors,
        "foreign-fields": lambda: foreign(REQUEST),
        "foreign-message-fields": lambda: foreign(MESSAGE),
    }
)
