"""Shapes of conjunctions: those that needn't be searched are those that a search finds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.dialects.json_schema.logic.assertions import FactReader
from grammar_cache.dialects.json_schema.logic.conjunction import Conjunctions
from grammar_cache.dialects.json_schema.logic.search import Search
from grammar_cache.dialects.json_schema.schema.atoms import Conjunction
from grammar_cache.dialects.json_schema.schema.document import Document
from grammar_cache.dialects.json_schema.schema.loading import Json
from grammar_cache.dialects.json_schema.schema.unenforced import Unenforced
from grammar_cache.dialects.json_schema.strings.patterns import Patterns
from grammar_cache.limits import Limits
from tests.grammar_cache.dialects.json_schema.oracle import generates_value, is_valid

_NAMED: dict[str, Json] = {
    "chain": {"$ref": "#/$defs/object"},
    "object": {
        "type": ["object", "string"],
        "properties": {"a": {"$ref": "#/$defs/text"}, "b": {"$ref": "#/$defs/chain"}},
        "required": ["a"],
        "minLength": 2,
    },
    "text": {"type": "string", "enum": ["a", "b"]},
    "never": {"type": "object", "properties": {"a": {"type": "string", "enum": [1]}}, "required": ["a"]},
    "no": False,
    "any": {},
    "to_any": {"$ref": "#/$defs/any"},
    "to_no": {"$ref": "#/$defs/no"},
    "to_never": {"$ref": "#/$defs/never"},
    "number": {"type": "number", "minimum": 1},
}
_DOCUMENT: Json = {"$ref": "#/$defs/chain", "$defs": _NAMED}
_PLAIN: list[Conjunction] = [(), ("",), *((f"/$defs/{name}",) for name in _NAMED)]


@pytest.mark.parametrize("conjunction", _PLAIN, ids=str)
def test_plain_schemas_have_the_shape_that_a_search_finds(conjunction: Conjunction) -> None:
    patterns = Patterns(Limits())
    reader = FactReader(Document(_DOCUMENT), patterns, Unenforced(lenient=False))
    conjunctions = Conjunctions(reader, patterns, Limits())
    searched = list(Search(conjunctions, reader, 3).alternatives(conjunction))
    assert list(conjunctions.shapes(conjunction)) == searched
    loose = list(Search(conjunctions, reader, 3, loose=True).alternatives(conjunction))
    assert conjunctions.empty(conjunction) is (not loose)


def test_schemas_that_meet_in_several_orders_are_one() -> None:
    """A member of which two schemas speak is written once, whichever of them comes first in each place."""
    inner = {"type": "object", "required": ["x"]}
    named = {
        "one": {"properties": {"deep": {**inner, "properties": {"x": {"type": "integer"}, "a": {"type": "null"}}}}},
        "other": {"properties": {"deep": {**inner, "properties": {"x": {"minimum": 3}, "b": {"type": "null"}}}}},
    }
    both = [{"$ref": "#/$defs/one"}, {"$ref": "#/$defs/other"}]
    schema: Any = {
        "properties": {"p": {"type": "object", "allOf": both}, "q": {"type": "object", "allOf": both[::-1]}},
        "$defs": named,
    }
    grammar = parse(json.dumps(schema))
    assert [name for name in grammar.rules if name.startswith("object") and "deep" in name] == [
        "object #/$defs/one/properties/deep & #/$defs/other/properties/deep"
    ]
    for place in ("p", "q"):
        for deep in ({"x": 3}, {"x": 3, "a": None, "b": None}, {"x": 2}, {"x": 3, "b": 1}, {"a": None}):
            value = {place: {"deep": deep}}
            assert generates_value(schema, value) is is_valid(schema, json.dumps(value)), value
