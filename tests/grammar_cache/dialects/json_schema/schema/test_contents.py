"""Subschemas of equal content: one rule for them, the same languages, and all that is reported of each."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.dialects.json_schema.schema.contents import Contents
from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.resources import Scope
from tests.grammar_cache.dialects.json_schema.oracle import generates, is_valid

HERE = Scope("", Draft.UNDECLARED, "")
THERE = Scope("https://a.test/", Draft.UNDECLARED, "/a")
POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}

ALIKE: list[tuple[Any, Any]] = [
    ({"type": "string"}, {"title": "A name", "type": "string", "default": {"a": 1}}),
    ({"items": {"enum": [1, "a"]}}, {"items": {"enum": [1, "a"], "description": "one of two"}}),
    ({"anyOf": [POINT, {"type": "null"}]}, {"anyOf": [POINT | {"title": "Point"}, {"type": "null"}]}),
    ({"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a", "description": "a reference"}),
    ({"properties": {"title": {}}}, {"properties": {"title": {"examples": [1]}}}),
    ({"format": "date"}, {"format": "date", "deprecated": True}),
    (True, True),
]
APART: list[tuple[Any, Any]] = [
    ({"enum": [1]}, {"enum": [True]}),
    ({"const": 1}, {"const": "1"}),
    ({"properties": {"title": {}}}, {"properties": {}}),
    ({"properties": {"a": {}, "b": {}}}, {"properties": {"b": {}, "a": {}}}),
    ({"properties": {"a": {"type": "null"}}}, {"patternProperties": {"a": {"type": "null"}}}),
    ({"items": [{}]}, {"items": {}}),
    ({"items": True}, {"items": False}),
    ({"allOf": [POINT]}, {"allOf": [POINT, POINT]}),
    ({"x-unit": "m"}, {"x-unit": "m"}),  # reported, each with its place
    ({"format": "colour"}, {"format": "colour"}),
    ({"items": {"$anchor": "a"}}, {"items": {"$anchor": "a"}}),
    ({"$id": "b"}, {"$id": "b"}),
    ({"$ref": "#", "type": "object"}, {"$ref": "#", "type": "object"}),  # what is beside it may be ignored
]


def goes_by(first: Any, second: Any, scopes: tuple[Scope, Scope] = (HERE, HERE)) -> str:
    """The place that the second schema goes by."""
    contents = Contents({"date"})
    assert contents.place(first, "/first", scopes[0]) == "/first"
    return contents.place(second, "/second", scopes[1])


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_equal_content_goes_by_the_first_place(first: Any, second: Any) -> None:
    assert goes_by(first, second) == goes_by(second, first) == "/first"


@pytest.mark.parametrize(("first", "second"), APART)
def test_what_may_say_something_else_keeps_its_place(first: Any, second: Any) -> None:
    assert goes_by(first, json.loads(json.dumps(second))) == "/second"


def test_references_of_another_resource_may_lead_elsewhere() -> None:
    assert goes_by({"$ref": "#/a"}, {"$ref": "#/a"}, (HERE, THERE)) == "/second"


def test_a_thousand_levels_are_read() -> None:
    deep: Any = {}
    for _ in range(1000):
        deep = {"items": deep}
    assert goes_by(deep, deep) == "/first"


@pytest.mark.parametrize("second", [POINT, POINT | {"title": "B"}])
def test_members_of_equal_schemas_share_a_rule(second: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"a": POINT, "b": second}}
    rules = [name for name in parse(json.dumps(schema)).rules if name.startswith("object")]
    assert rules == ["object #", "object #/properties/a"]


def test_the_language_is_that_of_the_schema() -> None:
    titled = {"title": "T", **POINT}
    either = [
        {"properties": {"a": titled}, "required": ["a"]},
        {"properties": {"b": {"not": titled}}, "required": ["b"]},
    ]
    schema = {"properties": {"a": POINT, "b": {"type": "array", "items": titled}}, "anyOf": either}
    members = [{"a": first} for first in ({"x": 1}, {"x": "1"}, {}, 3)] + [{}]
    others = [{"b": second} for second in ([], [{"x": 2}], [{"x": 2}, {}], {"x": 3})] + [{}]
    for first, second in product(members, others):
        text = json.dumps(first | second)
        assert generates(schema, text) is is_valid(schema, text), text


def test_each_place_is_reported() -> None:
    marked = {"type": "string", "x-unit": "m"}
    ignored = parse(json.dumps({"properties": {"a": marked, "b": marked, "c": {"items": marked}}})).ignored
    assert ignored == tuple(f"/properties/{place}/x-unit: annotation" for place in ("a", "b", "c/items"))


def test_each_place_is_reported_that_is_dropped() -> None:
    wrong = {"type": "string", "pattern": "(?<=a)(?P<n>b)(?(n)c|d)"}
    schema = json.dumps({"properties": {"a": wrong, "b": wrong}})
    ignored = parse(schema, lenient=True).ignored
    assert len(ignored) == 2 and {line.split("/")[2] for line in ignored} == {"a", "b"}
