"""Instances in the order of their schemas: examples written out, our grammar as a second opinion, and nothing lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.schemas.order import in_schema_order
from grammar_cache import Constraint, GrammarError
from grammar_cache.compile import parse
from grammar_cache.configurations.interner import Configurations
from grammar_cache.limits import DEFAULT_LIMITS
from grammar_cache.network.network import build
from server.checking import member_order
from tests.grammar_cache.dialects.json_schema.oracle import records
from tests.grammar_cache.dialects.json_schema.schemas import VALUES, schemas

CHOICES: tuple[str, ...] = ("anyOf", "oneOf", "if", "not", "contains", "dependentRequired", "dependentSchemas")
CHOICES += ("unevaluatedItems", "unevaluatedProperties")


def names(*listed: str, **others: Any) -> dict[str, Any]:
    return {"properties": {name: {} for name in listed}, **others}


A_FIRST, B_FIRST = names("a", "b"), names("b", "a")
TREE = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "properties": {"name": {}, "children": {"items": {"$ref": "#"}}},
}
EXAMPLES: dict[str, tuple[Any, str, str]] = {
    "properties": (B_FIRST, '{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
    "others follow as they were": (B_FIRST, '{"d": 0, "a": 1, "c": 0, "b": 2}', '{"b": 2, "a": 1, "d": 0, "c": 0}'),
    "what is only required comes next": (
        {"required": ["c"], **B_FIRST},
        '{"d": 0, "c": 0, "a": 1, "b": 2}',
        '{"b": 2, "a": 1, "c": 0, "d": 0}',
    ),
    "inside of a property": ({"properties": {"c": B_FIRST}}, '{"c": {"a": 1, "b": 2}}', '{"c": {"b": 2, "a": 1}}'),
    "inside of an item": ({"items": B_FIRST}, '[{"a": 1, "b": 2}, 3]', '[{"b": 2, "a": 1}, 3]'),
    "by pattern": ({"patternProperties": {"^x": B_FIRST}}, '{"x1": {"a": 1, "b": 2}}', '{"x1": {"b": 2, "a": 1}}'),
    "additional": ({"additionalProperties": B_FIRST}, '{"x": {"a": 1, "b": 2}}', '{"x": {"b": 2, "a": 1}}'),
    "reference": ({"$defs": {"d": B_FIRST}, "$ref": "#/$defs/d"}, '{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
    "recursion, with a draft": (
        TREE,
        '{"children": [{"children": [], "name": 2}], "name": 1}',
        '{"name": 1, "children": [{"name": 2, "children": []}]}',
    ),
    "a draft inside": (
        {"items": {**TREE, "properties": B_FIRST["properties"]}},
        '[{"a": 1, "b": 2}]',
        '[{"b": 2, "a": 1}]',
    ),
    "a property called $schema": (
        {"properties": {"$schema": {"type": "string"}, "a": {}}},
        '{"a": 1, "$schema": "s"}',
        '{"$schema": "s", "a": 1}',
    ),
    "allOf where it stands": (
        {"allOf": [names("c"), names("b")], **names("a", "b")},
        '{"a": 1, "b": 2, "c": 3}',
        '{"c": 3, "b": 2, "a": 1}',
    ),
    "the branch of anyOf that holds": (
        {"anyOf": [{**A_FIRST, "required": ["c"]}, B_FIRST]},
        '{"a": 1, "b": 2}',
        '{"b": 2, "a": 1}',
    ),
    "the branch of oneOf that holds": (
        {"oneOf": [names("a", "b", required=["c"]), names("b", "a")]},
        '{"a": {"y": 1}, "b": 2}',
        '{"b": 2, "a": {"y": 1}}',
    ),
    "a failing branch deep inside": (
        {"anyOf": [{"properties": {"o": {**A_FIRST, "required": ["c"]}}}, {"properties": {"o": B_FIRST}}]},
        '{"o": {"a": 1, "b": 2}}',
        '{"o": {"b": 2, "a": 1}}',
    ),
    "if and then": (
        {"if": {"required": ["b"]}, "then": B_FIRST, "else": A_FIRST},
        '{"a": 1, "b": 2}',
        '{"b": 2, "a": 1}',
    ),
    "else": (
        {"if": {"required": ["c"], **A_FIRST}, "then": A_FIRST, "else": B_FIRST},
        '{"a": 1, "b": 2}',
        '{"b": 2, "a": 1}',
    ),
    "then where it stands": (
        {"if": {"required": ["b"]}, **names("a"), "then": names("b")},
        '{"b": 1, "a": 2}',
        '{"a": 2, "b": 1}',
    ),
    "not says nothing": (
        {"not": names("a", "b", required=["c"]), **B_FIRST},
        '{"a": 1, "b": 2}',
        '{"b": 2, "a": 1}',
    ),
    "numbers as they are written": (B_FIRST, '{"a": 1.50, "b": 1E2}', '{"b": 1E2, "a": 1.50}'),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_members_come_as_the_schema_lists_them(example: str) -> None:
    """One keyword after the other."""
    schema, text, expected = EXAMPLES[example]
    assert in_schema_order(text, json.dumps(schema)) == expected


@given(st.data())
def test_nothing_but_the_order_changes(data: st.DataObject) -> None:
    """The value stays the same, and another time changes nothing."""
    schema, value = json.dumps(data.draw(schemas())), data.draw(VALUES)
    text = in_schema_order(json.dumps(value), schema)
    assert json.loads(text) == value
    assert in_schema_order(text, schema) == text


@settings(deadline=None)
@given(schemas(without=(*CHOICES, "enum", "const")), VALUES)
def test_without_branches_it_is_an_order_that_is_generated(schema: Any, value: Any) -> None:
    """Our grammar takes this order, if it takes any, where nothing depends on the value."""
    text, table = json.dumps(value), _table(json.dumps(schema))
    if table is not None and member_order.generated(table, member_order.read(text)) is not None:
        assert member_order.derives(table, in_schema_order(text, json.dumps(schema)))


def _table(schema: str) -> Configurations | None:
    try:
        return Configurations(build(parse(Constraint("json_schema", schema)), DEFAULT_LIMITS), 1_000_000)
    except GrammarError:
        return None


def test_real_instances_stay_the_same_values() -> None:
    """Whatever the schema, each valid instance can be put in its order."""
    seen = 0
    for record in records("jsonschemabench", "corpus.jsonl")[::5]:
        for test in record["tests"]:
            if test["valid"]:
                seen += 1
                ordered = in_schema_order(test["text"], json.dumps(record["schema"]))
                assert json.loads(ordered) == json.loads(test["text"])
    assert seen > 100
