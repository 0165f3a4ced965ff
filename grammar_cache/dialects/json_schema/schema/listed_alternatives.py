"""Alternatives that do nothing but list values, as a `oneOf` of constants with a title each: one list, as of `enum`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal

from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.keywords import REMARKS, is_known
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.types import SCHEMA_TYPES
from grammar_cache.dialects.json_schema.schema.values import identity, type_name

_PLAIN = REMARKS | {"const", "enum", "type"}


def listed_alternatives(keywords: Mapping[str, Json], draft: Draft) -> dict[str, tuple[Json, ...]]:
    """Values of which `anyOf` or `oneOf` leaves one, by these names: of those whose alternatives all are mere lists."""
    found = {}
    for name in ("anyOf", "oneOf"):
        alternatives = keywords.get(name)
        if not isinstance(alternatives, list) or not alternatives:
            continue
        values: dict[str, Json] = {}
        having: Counter[str] = Counter()
        for alternative in alternatives:
            listed = _listed(alternative, draft)
            if listed is None:
                break
            having.update(listed.keys())
            for key, value in listed.items():
                values.setdefault(key, value)
        else:
            found[name] = tuple(value for key, value in values.items() if name == "anyOf" or having[key] == 1)
    return found


def _listed(schema: Json, draft: Draft) -> dict[str, Json] | None:
    """The values of a schema that lists them and says nothing else, by identity; None for any other schema."""
    if not isinstance(schema, dict) or not schema.keys() <= _PLAIN or not all(is_known(name, draft) for name in schema):
        return None
    listings = [schema["enum"]] if "enum" in schema else []
    listings += [[schema["const"]]] if "const" in schema else []
    if not listings or not isinstance(listings[0], list):
        return None
    values = {identity(value): value for value in listings[0]}
    if len(listings) == 2:
        const = identity(schema["const"])
        values = {const: values[const]} if const in values else {}
    if "type" not in schema:
        return values
    named = schema["type"]
    if not isinstance(named, str) or named not in SCHEMA_TYPES or any(isinstance(v, Decimal) for v in values.values()):
        return None
    types = SCHEMA_TYPES[named]
    return {key: value for key, value in values.items() if type_name(value, integral_decimals=False) in types}
