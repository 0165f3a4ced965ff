"""Types and values that a schema states: `type`, `enum`, `const`."""

from __future__ import annotations

from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.reading import Keywords
from grammar_cache.dialects.json_schema.schema.values import ANY_TYPE
from grammar_cache.errors import GrammarSyntaxError

_SCHEMA_TYPES = {name: frozenset({name}) for name in ("object", "array", "string", "integer", "null")} | {
    "number": frozenset({"number", "integer"}),
    "boolean": frozenset({"true", "false"}),
}


def stated_types(keywords: Keywords) -> frozenset[str]:
    """Types that `type` allows, all without it. Raises GrammarSyntaxError."""
    if "type" not in keywords:
        return ANY_TYPE
    value = keywords.values["type"]
    if isinstance(value, str) and value in _SCHEMA_TYPES:
        return _SCHEMA_TYPES[value]
    names = value if isinstance(value, list) else [value]
    if not names:
        raise keywords.wrong("type", "a type or a non-empty list of types")
    found: frozenset[str] = frozenset()
    for name in names:
        if not isinstance(name, str) or name not in _SCHEMA_TYPES:
            wanted = ", ".join(sorted(_SCHEMA_TYPES))
            raise GrammarSyntaxError(f"type must be one of {wanted}", pointer=keywords.at("type"))
        found |= _SCHEMA_TYPES[name]
    return found


def stated_values(keywords: Keywords) -> tuple[tuple[Json, ...], ...]:
    """Lists of values of which each holds the value: of `enum`, of `const`. Raises GrammarSyntaxError."""
    found: list[tuple[Json, ...]] = []
    if "enum" in keywords:
        members = keywords.values["enum"]
        if not isinstance(members, list):
            raise keywords.wrong("enum", "a list of values")
        found.append(tuple(members))
    if "const" in keywords:
        found.append((keywords.values["const"],))
    return tuple(found)
