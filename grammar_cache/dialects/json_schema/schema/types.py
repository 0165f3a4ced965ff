"""Types and values that a schema states: `type`, `enum`, `const`."""

from __future__ import annotations

from collections.abc import Mapping

from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.reading import Keywords
from grammar_cache.dialects.json_schema.schema.values import ANY_TYPE
from grammar_cache.errors import GrammarSyntaxError

_ALONE = ("object", "array", "string", "integer", "null")
SCHEMA_TYPES: Mapping[str, frozenset[str]] = {
    **{name: frozenset({name}) for name in _ALONE},
    "number": frozenset({"number", "integer"}),
    "boolean": frozenset({"true", "false"}),
}
"""Types of values, by what `type` calls them."""


def stated_types(keywords: Keywords) -> frozenset[str]:
    """Types that `type` allows, all without it. Raises GrammarSyntaxError."""
    if "type" not in keywords:
        return ANY_TYPE
    value = keywords.values["type"]
    if isinstance(value, str) and value in SCHEMA_TYPES:
        return SCHEMA_TYPES[value]
    names = value if isinstance(value, list) else [value]
    if not names:
        raise keywords.wrong("type", "a type or a non-empty list of types")
    found: frozenset[str] = frozenset()
    for name in names:
        if not isinstance(name, str) or name not in SCHEMA_TYPES:
            wanted = ", ".join(sorted(SCHEMA_TYPES))
            raise GrammarSyntaxError(f"type must be one of {wanted}", pointer=keywords.at("type"))
        found |= SCHEMA_TYPES[name]
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
