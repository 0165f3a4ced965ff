"""Subschemas by themselves mean what they mean in their schema, by the reference validator."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from jsonschema.validators import validator_for

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.dialects.json_schema.schema.subschema import pointer_in_whole, subschema
from grammar_cache.errors import GrammarError
from tests.grammar_cache.dialects.json_schema.oracle import SYNTAX_OF_DRAFT_4, SYNTAX_OF_DRAFT_7, generates_value

DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
OLD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "p": {"type": "array", "items": {"$ref": "#/definitions/d"}, "maxItems": 2, "minItems": 1},
        "q": {"$ref": "z.json#/definitions/d"},
    },
    "required": ["p", "q"],
    "additionalProperties": False,
    "definitions": {
        "d": {"type": "object", "properties": {"k": {"$ref": "#/properties/p"}}, "additionalProperties": False}
    },
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "definitions alone": {
        "properties": {"p": {"$ref": "#/$defs/d"}, "q": {"type": "array", "items": {"$ref": "#/$defs/d"}}},
        "$defs": {"d": {"enum": [1, "a", {}]}},
    },
    "the whole": {
        "type": "object",
        "properties": {"p": {"type": "object", "properties": {"of": {"$ref": "#"}}, "additionalProperties": False}},
        "required": ["p"],
        "additionalProperties": False,
    },
    "a property beside": {
        "properties": {"p": {"type": "object", "required": ["k"]}, "q": {"anyOf": [{"$ref": "#/properties/p"}]}}
    },
    "a definition that leads to the whole": {
        "properties": {"p": {"$ref": "#/$defs/d"}},
        "required": ["p"],
        "additionalProperties": False,
        "$defs": {"d": {"type": ["array", "integer"], "items": {"$ref": "#"}}},
    },
    "draft 4, with a name": {"$schema": SYNTAX_OF_DRAFT_4, "id": "http://x.y/z.json", **OLD},
    "draft 7, with a name": {"$schema": SYNTAX_OF_DRAFT_7, "$id": "http://x.y/z.json", **OLD},
    "a name that is relative": {"$id": "z.json", **OLD},
    "an anchor, and a recursive one": {
        "$schema": DRAFT_2019,
        "properties": {"p": {"$ref": "#tt"}, "q": {"$recursiveRef": "#"}},
        "$defs": {"t": {"$anchor": "tt", "enum": [1, 2]}},
    },
    "a resource inside": {
        "properties": {"p": {"$id": "http://x.y/in", "$ref": "#/$defs/d", "$defs": {"d": {"enum": ["a"]}}}},
        "$defs": {"d": {"enum": [1]}},
    },
    "definitions of its own, which no reference leads to": {
        "properties": {
            "p": {"$ref": "#/$defs/d", "$defs": {"d": {"enum": ["a"]}}},
            "q": {"$ref": "#/$defs/d", "definitions": {"d": {"enum": [2]}}, "$defs": {}},
        },
        "$defs": {"d": {"enum": [1]}},
    },
    "a draft of its own, without a name": {
        "properties": {"p": {"$ref": "#/$defs/d", "minimum": 2, "$schema": SYNTAX_OF_DRAFT_7}},
        "$defs": {"d": {"enum": [1, 2]}},
    },
    "true and false": {"properties": {"p": True, "q": False}},
}
VALUES: list[Any] = [
    *(None, 1, 2, "a", [], [1], [{}], ["a"], {}, {"k": 1}, {"k": [{}]}, {"k": [{"k": [{}]}]}, {"k": []}, {"p": 1}),
    *({"of": {"p": {}}}, {"of": {}}, {"of": {"p": 1}}, [{"p": 1}], [{"p": [{"p": 2}]}], [{"p": {}}], [[]], {"p": [1]}),
]
"""Values of which each property takes some and refuses others."""


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_subschema_takes_what_it_takes_in_its_schema(schema: dict[str, Any]) -> None:
    """Each property of an instance that is otherwise valid may have a value just where its subschema generates it."""
    validator = validator_for(schema, default=jsonschema.Draft202012Validator)(schema)
    for name in schema["properties"]:
        made = subschema(schema, f"/properties/{name}")
        verdicts = set()
        others = [other for other in schema.get("required", ()) if other != name]
        fitting = {
            other: next(v for v in VALUES if generates_value(subschema(schema, f"/properties/{other}"), v))
            for other in others
        }
        for value in VALUES:
            expected = validator.is_valid({**fitting, name: value})
            assert generates_value(made, value) is expected, (name, value)
            verdicts.add(expected)
        assert verdicts == ({made} if isinstance(made, bool) else {True, False})


def test_places_in_it_are_places_in_the_schema() -> None:
    """An error in a subschema is told with the pointer that it has in the whole."""
    examples: list[tuple[dict[str, Any], str]] = [
        ({"properties": {"p": {"minimum": "a"}}}, "/properties/p/minimum"),
        ({"properties": {"p": {"$ref": "#"}, "q": {"minimum": "a"}}}, "/properties/q/minimum"),
    ]
    for broken, place in examples:
        with pytest.raises(GrammarError) as refusal:
            parse(json.dumps(subschema(broken, "/properties/p")))
        assert pointer_in_whole(refusal.value.pointer or "", "/properties/p") == place
    with pytest.raises(KeyError):
        subschema({"properties": {}}, "/properties/p")
