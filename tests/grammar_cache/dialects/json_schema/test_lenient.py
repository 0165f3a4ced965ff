"""Refusals say that `lenient` would drop the keyword where it would, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.dialects.json_schema.schema.keywords import REFUSED
from grammar_cache.errors import GrammarError
from tests.grammar_cache.dialects.json_schema.oracle import SYNTAX_OF_DRAFT_4, SYNTAX_OF_DRAFT_7

DROPPED: dict[str, Any] = {
    **{keyword: {keyword: {"type": "string"}} for keyword in REFUSED},
    "uniqueItems": {"uniqueItems": True, "minItems": 65},
    "$ref": {"$ref": "https://example.org/other.json"},
    "$dynamicRef": {
        "$id": "https://example.org/root",
        "anyOf": [{"$ref": "one"}, {"$ref": "two"}],
        "$defs": {
            name: {"$id": name, "$ref": "list", "$defs": {"t": {"$dynamicAnchor": "item", "const": name}}}
            for name in ("one", "two")
        }
        | {
            "list": {
                "$id": "list",
                "items": {"$dynamicRef": "#item"},
                "$defs": {"any": {"$dynamicAnchor": "item"}},
            }
        },
    },
    "pattern": {"pattern": r"(a)\1"},
    "pattern, a count": {"pattern": "a{2000000000}"},
    "pattern in enum": {"enum": ["aa"], "pattern": r"(a)\1"},
    "minimum": {"minimum": 1e70},
    "maximum": {"maximum": -1e70},
    "exclusiveMinimum": {"exclusiveMinimum": 1e70},
    "multipleOf": {"multipleOf": 12_347},
    "multipleOf of listed values": {"$schema": SYNTAX_OF_DRAFT_4, "multipleOf": 12_347, "const": 3},
    "minProperties": {"minProperties": 50},
    "prefixItems": {"$schema": SYNTAX_OF_DRAFT_7, "items": {}, "prefixItems": [{}]},
    "not, a format": {"type": "string", "not": {"format": "uri-template"}},
    "not, uniqueItems": {"type": "array", "not": {"uniqueItems": True}},
}
NOT_DROPPED: dict[str, Any] = {
    "an old draft": {"$schema": "http://json-schema.org/draft-03/schema#"},
    "patternProperties": {"patternProperties": {r"(a)\1": {}}},
    "patternProperties, a count": {"patternProperties": {"a{2000000000}": {}}},
    "multipleOf together": {"allOf": [{"multipleOf": 1999}, {"multipleOf": 1997}]},
    "contains": {"contains": {"minimum": 3}, "minContains": 3_000, "maxContains": 4_000},
    "an unknown type": {"type": "stsring"},
    "a malformed pattern": {"pattern": "("},
    "a reference that leads nowhere": {"$ref": "#/$defs/none"},
    "a reference that leads back": {"$ref": "#"},
}


def _refusal(schema: Any, *, lenient: bool) -> str | None:
    try:
        parse(json.dumps(schema), lenient=lenient)
    except GrammarError as error:
        return str(error)
    return None


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", [*DROPPED, *NOT_DROPPED])
def test_a_refusal_names_lenient_where_it_would_help(name: str, inside: bool) -> None:
    """The message speaks of `lenient` if and only if the schema compiles with it; with it nothing is told so."""
    schema = (DROPPED | NOT_DROPPED)[name]
    if inside and "$schema" not in schema and "$id" not in schema and schema.get("$ref") != "#":
        schema = {"type": "object", "properties": {"pattern": schema}, "required": ["pattern"]}
    strictly, leniently = _refusal(schema, lenient=False), _refusal(schema, lenient=True)
    assert strictly is not None
    assert strictly.count("`lenient`") == (leniently is None)
    assert (leniently is None) == (name in DROPPED)
    assert leniently is None or "`lenient`" not in leniently


def test_the_message_of_unique_items() -> None:
    """The message says what is refused, why, what to do about it, and where."""
    assert _refusal({"uniqueItems": True, "minItems": 65}, lenient=False) == (
        "uniqueItems can't be enforced in an array that needs more than 64 items, unless their values are few and"
        " listed; `lenient` drops it and reports it (at /uniqueItems)"
    )
