"""Subschemas of equal content, as one: what a schema repeats for many members is read and written once.

Titles and the like don't count. A subschema that names something, or holds what is reported with its place, equals no
other one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TypeAlias

from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.resources import Scope

_Part: TypeAlias = "str | int | tuple[str | int, ...]"
_Content: TypeAlias = tuple[tuple[str, _Part], ...]

_SILENT = frozenset(
    {
        *("title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"),
        *("contentEncoding", "contentMediaType"),
    }
)
"""Keywords that are neither enforced nor reported, and name nothing."""
_VALUES = frozenset(
    {
        *("type", "enum", "const", "format", "required", "minProperties", "maxProperties", "$ref"),
        *("minItems", "maxItems", "uniqueItems", "minContains", "maxContains"),
        *("minLength", "maxLength", "pattern"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
)
_SCHEMAS = frozenset(
    {
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
        *("items", "prefixItems", "additionalItems", "contains", "additionalProperties", "propertyNames"),
    }
)
"""Keywords of a schema, or of a list of them."""
_MAPS = frozenset({"properties", "patternProperties"})
_HOLDING = _SCHEMAS | _MAPS


class Contents:
    """Contents of the subschemas of one document. Its values are known by their identity: the document keeps them."""

    def __init__(self, formats: Container[str]) -> None:
        """`formats`: those that are enforced. Others are reported."""
        self._formats = formats
        self._numbers: dict[int, int | None] = {id(True): -1, id(False): -2}
        self._known: dict[_Content, int] = {}
        self._places: dict[tuple[int, Scope], str] = {}

    def place(self, value: Json, place: str, scope: Scope) -> str:
        """The place at which content equal to that of `value` was first asked for in its scope: its own, if nowhere."""
        number = self._number(value)
        return place if number is None else self._places.setdefault((number, scope), place)

    def _number(self, root: Json) -> int | None:
        """Number of a subschema's content; None for one that equals no other."""
        numbers = self._numbers
        if id(root) not in numbers:
            ordered = [root]
            for value in ordered:  # grows while it is read
                if isinstance(value, dict) and not _HOLDING.isdisjoint(value):
                    ordered += [part for part in _inside(value) if id(part) not in numbers]
            for value in reversed(ordered):  # each after those inside of it
                content = self._content(value) if isinstance(value, dict) else None
                numbers[id(value)] = None if content is None else self._known.setdefault(content, len(self._known))
        return numbers[id(root)]

    def _content(self, schema: dict[str, Json]) -> _Content | None:
        """Contents of a schema, in its order; None where its place matters."""
        found: list[tuple[str, _Part]] = []
        for name, value in schema.items():
            if name in _SILENT:
                continue
            part: _Part | None = None
            if name in _VALUES:
                part = repr(value)
            elif name in _SCHEMAS:
                part = self._all(value) if isinstance(value, list) else self._numbers[id(value)]
            elif name in _MAPS and isinstance(value, dict):
                members = self._all(value.values())
                part = None if members is None else (*value, *members)
            if part is None:
                return None
            found.append((name, part))
        named = schema.get("format", "")
        reported = named and not (isinstance(named, str) and named in self._formats)
        return None if reported or ("$ref" in schema and len(found) > 1) else tuple(found)

    def _all(self, schemas: Iterable[Json]) -> tuple[int, ...] | None:
        found = [self._numbers[id(schema)] for schema in schemas]
        numbers = tuple(number for number in found if number is not None)
        return numbers if len(numbers) == len(found) else None


def _inside(schema: dict[str, Json]) -> list[Json]:
    """Values that stand where the schemas in a schema do."""
    found: list[Json] = []
    for name, value in schema.items():
        if name in _SCHEMAS:
            found += value if isinstance(value, list) else (value,)
        elif name in _MAPS and isinstance(value, dict):
            found += value.values()
    return found
