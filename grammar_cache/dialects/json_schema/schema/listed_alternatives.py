"""Alternatives that do nothing but list values, as a `oneOf` of constants with a title each: one list, as of `enum`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple, TypeAlias

from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.keywords import REMARKS, is_known
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.types import SCHEMA_TYPES
from grammar_cache.dialects.json_schema.schema.values import ANY_TYPE, identity, type_name

_PLAIN = REMARKS | {"const", "enum", "type"}


_Spellings: TypeAlias = dict[str, dict[str, Json]]
"""Values by their identity, and by how they are written: 1 and 1.0, and members in this order or another one."""


class _Listed(NamedTuple):
    """Facts of an alternative: one of these values, of one of these types."""

    values: _Spellings
    types: frozenset[str]


def listed_alternatives(keywords: Mapping[str, Json], draft: Draft) -> dict[str, tuple[Json, ...]]:
    """Values of which `anyOf` or `oneOf` leaves one, by these names: of those whose alternatives all are mere lists.

    Each is there as it is written.
    """
    found = {}
    for name in ("anyOf", "oneOf"):
        alternatives = keywords.get(name)
        if isinstance(alternatives, list) and alternatives:
            listed = [one for one in (_listed(schema, draft) for schema in alternatives) if one is not None]
            if len(listed) == len(alternatives):
                found[name] = _left(listed, exactly_one=name == "oneOf")
    return found


def _left(alternatives: list[_Listed], *, exactly_one: bool) -> tuple[Json, ...]:
    """Values for which some alternative holds, or just one."""
    spelled: _Spellings = {}
    types: dict[str, Counter[frozenset[str]]] = {}
    for alternative in alternatives:
        for name, spellings in alternative.values.items():
            spelled.setdefault(name, {}).update(spellings)
            types.setdefault(name, Counter())[alternative.types] += 1
    found: list[Json] = []
    for name, spellings in spelled.items():
        kind = type_name(next(iter(spellings.values())), integral_decimals=True)
        holding = sum(count for allowed, count in types[name].items() if kind in allowed)
        if holding == 1 or (holding and not exactly_one):
            found += spellings.values()
    return tuple(found)


def _listed(schema: Json, draft: Draft) -> _Listed | None:
    """The values of a schema that lists them and says nothing else but their type; None for any other schema."""
    if not isinstance(schema, dict) or not schema.keys() <= _PLAIN or not all(is_known(name, draft) for name in schema):
        return None
    named, listing = schema.get("type"), schema.get("enum")
    if "type" in schema and not (isinstance(named, str) and named in SCHEMA_TYPES):
        return None
    if ("enum" in schema and not isinstance(listing, list)) or not ("enum" in schema or "const" in schema):
        return None
    values = _spellings(listing if isinstance(listing, list) else [schema["const"]])
    if not draft.has_integral_decimals and any(isinstance(v, Decimal) for one in values.values() for v in one.values()):
        return None  # 1.0 is no integer, though it equals one
    if "const" in schema:
        const = identity(schema["const"])
        values = {const: values[const] | _spellings([schema["const"]])[const]} if const in values else {}
    return _Listed(values, SCHEMA_TYPES[named] if isinstance(named, str) else ANY_TYPE)


def _spellings(listing: list[Json]) -> _Spellings:
    found: _Spellings = {}
    for value in listing:
        found.setdefault(identity(value), {})[repr(value)] = value
    return found
