"""References, identifiers and drafts, against the reference validator."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from jsonschema.validators import validator_for

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.errors import GrammarError, GrammarSyntaxError, UnsupportedFeature
from tests.grammar_cache.dialects.json_schema.oracle import SYNTAX_OF_DRAFT_4, SYNTAX_OF_DRAFT_7, generates_value
from tests.grammar_cache.dialects.json_schema.oracle import SYNTAX_OF_DRAFT_2020_12 as DRAFT_2020

DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"

VALUES: list[Any] = [
    *(None, True, 1, -3, 1.5, "", "a", "abcd", [], [1], ["a"], [1, "a"], {}, {"a": 1}, {"a": "b"}, {"data": 1}),
    *({"children": []}, {"children": [{}]}, {"children": [{"daat": 1}]}, {"children": [{"data": 1}]}),
    *({"minLength": 1}, {"minLength": -1}, {"minLength": "a"}, {"type": "string"}, {"type": 7}),
]


def valid(schema: Any, value: Any) -> bool:
    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    return bool(kind(schema).is_valid(value))


def agreed(schema: Any) -> set[bool]:
    """The verdicts on all values, which the grammar and the reference validator share."""
    for value in VALUES:
        assert generates_value(schema, value) is valid(schema, value), value
    return {valid(schema, value) for value in VALUES}


TREE = {
    "$id": "https://a.test/tree",
    "$dynamicAnchor": "node",
    "properties": {"data": True, "children": {"items": {"$dynamicRef": "#node"}}},
}
REFERENCES: list[Any] = [
    {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "string"}}},
    {"$ref": "#c", "$defs": {"a": {"$anchor": "c", "type": "array"}}},
    {"$id": "https://a.test/x/y", "$ref": "z", "$defs": {"a": {"$id": "z", "type": "integer"}}},
    {"$id": "https://a.test/x/", "$ref": "z#/$defs/s", "$defs": {"a": {"$id": "z", "$defs": {"s": {"type": "null"}}}}},
    # A reference by name comes after one by pointer.
    {
        "$id": "https://a.test/x/",
        "$ref": "#/$defs/list",
        "$defs": {
            "list": {"type": "array", "items": {"$ref": "z#word"}},
            "a": {"$id": "z", "$defs": {"s": {"$anchor": "word", "type": "string"}}},
        },
    },
    # A chain of references, the last of which leads to what holds of all values.
    {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#c"}, "c": {"$anchor": "c"}}},
    {"$id": "urn:example:a", "$ref": "urn:example:b#c", "$defs": {"b": {"$id": "urn:example:b", "$anchor": "c"}}},
    # The root has the anchor, so every way ends there.
    {
        "$schema": DRAFT_2020,
        "$id": "https://a.test/strict",
        "$dynamicAnchor": "node",
        "$ref": "tree",
        "properties": {"data": {}, "children": {}},
        "additionalProperties": False,
        "$defs": {"tree": TREE},
    },
    # Only one resource has it.
    {"$schema": DRAFT_2020, "$id": "https://a.test/one", "$ref": "tree", "$defs": {"tree": TREE}},
    # What it leads to at first is no dynamic anchor.
    {"$schema": DRAFT_2020, "$dynamicRef": "#x", "$defs": {"x": {"$anchor": "x", "type": "string"}}},
    {"$schema": DRAFT_2020, "$dynamicRef": "#/$defs/x", "$defs": {"x": {"$dynamicAnchor": "x", "type": "string"}}},
    {"$schema": DRAFT_2019, "$recursiveAnchor": True, "properties": {"children": {"items": {"$recursiveRef": "#"}}}},
    {"$schema": DRAFT_2019, "type": ["object", "array"], "items": {"$recursiveRef": "#"}},
    # An identifier under a keyword that no draft knows names nothing.
    {
        "$ref": "https://a.test/b",
        "x-other": {"$id": "https://a.test/b", "type": "null"},
        "$defs": {"b": {"$id": "https://a.test/b", "type": "string"}},
    },
]


@pytest.mark.parametrize("schema", REFERENCES, ids=str)
def test_references_lead_where_the_standard_says(schema: Any) -> None:
    """References lead by pointer, anchor, identifier, and dynamically where that is the same on every way."""
    assert True in agreed(schema)


DIFFERENT_WAYS = {
    "$schema": DRAFT_2020,
    "$id": "https://a.test/main",
    "anyOf": [{"$ref": "first"}, {"$ref": "second"}],
    "$defs": {
        "first": {"$id": "first", "$defs": {"t": {"$dynamicAnchor": "t", "type": "string"}}, "$ref": "list"},
        "second": {"$id": "second", "$defs": {"t": {"$dynamicAnchor": "t", "type": "null"}}, "$ref": "list"},
        "list": {"$id": "list", "items": {"$dynamicRef": "#t"}, "$defs": {"t": {"$dynamicAnchor": "t"}}},
    },
}


@pytest.mark.parametrize(
    ("schema", "kind", "pointer"),
    [
        ({"$ref": "https://a.test/x"}, UnsupportedFeature, "/$ref"),
        ({"$ref": "http://json-schema.org/draft-03/schema#"}, UnsupportedFeature, "/$ref"),
        ({"$ref": "other.json#/a"}, UnsupportedFeature, "/$ref"),
        ({"$ref": "#/$defs/x"}, GrammarSyntaxError, "/$ref"),
        ({"$ref": "#x"}, GrammarSyntaxError, "/$ref"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/x"}}}, GrammarSyntaxError, "/$defs/a/$ref"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#"}}}, GrammarSyntaxError, ""),
        ({"$id": "http://a.test/", "$ref": "http://[/"}, GrammarSyntaxError, "/$ref"),
        ({"$dynamicRef": 1}, GrammarSyntaxError, "/$dynamicRef"),
        (DIFFERENT_WAYS, UnsupportedFeature, "/$defs/list/items/$dynamicRef"),
    ],
    ids=str,
)
def test_other_references_are_refused(schema: Any, kind: type[GrammarError], pointer: str) -> None:
    """A reference that leaves the schema, leads nowhere, or means different things on different ways is refused."""
    with pytest.raises(kind) as refusal:
        parse(json.dumps(schema))
    assert refusal.value.pointer == pointer


BUNDLED: dict[str, dict[object, bool]] = {
    "http://json-schema.org/draft-04/schema#/definitions/positiveInteger": {3: True, -1: False, "a": False},
    "http://json-schema.org/draft-06/schema#/definitions/nonNegativeInteger": {3: True, -1: False, "a": False},
    "http://json-schema.org/draft-07/schema#/definitions/simpleTypes": {"null": True, "none": False, 1: False},
    "https://json-schema.org/draft/2019-09/meta/validation#/$defs/simpleTypes": {"null": True, "none": False},
    "https://json-schema.org/draft/2020-12/meta/core#/$defs/anchorString": {"a": True, "1": False},
}


@pytest.mark.parametrize("reference", BUNDLED)
def test_the_standards_own_schemas_are_known(reference: str) -> None:
    """A reference into a schema of schemas is followed, as its own draft reads it, and nothing is fetched."""
    for value, expected in BUNDLED[reference].items():
        assert generates_value({"$ref": reference}, value) is expected


def test_a_schema_may_bring_what_is_known_otherwise() -> None:
    """A resource of the schema itself is meant by its identifier, whatever is bundled under the same one."""
    uri = "http://json-schema.org/draft-07/schema"
    schema = {"$ref": f"{uri}#", "$defs": {"own": {"$id": uri, "type": "integer"}}}
    assert generates_value(schema, 7)
    assert not generates_value(schema, {})


OLDER = [
    ({"items": [{"type": "integer"}], "additionalItems": False}, DRAFT_2019),
    ({"items": [{"type": "integer"}, {"type": "string"}]}, SYNTAX_OF_DRAFT_7),
    ({"minimum": 1, "exclusiveMinimum": True}, SYNTAX_OF_DRAFT_4),
    ({"maximum": 1, "exclusiveMaximum": False}, SYNTAX_OF_DRAFT_4),
    ({"maximum": 1, "exclusiveMaximum": True, "type": "number"}, SYNTAX_OF_DRAFT_4),
    ({"items": {"$ref": "#item"}, "definitions": {"a": {"id": "#item", "type": "string"}}}, SYNTAX_OF_DRAFT_4),
    (
        {"id": "http://a.test/x/y", "$ref": "z", "definitions": {"a": {"id": "z", "type": "string"}}},
        SYNTAX_OF_DRAFT_4,
    ),
]


@pytest.mark.parametrize(("schema", "draft"), OLDER, ids=str)
def test_without_a_draft_older_forms_are_read_as_they_were_meant(schema: Any, draft: str) -> None:
    """A form that only an older draft has means what it means there; with a newer draft named it is refused."""
    for value in VALUES:
        assert generates_value(schema, value) is valid({"$schema": draft, **schema}, value), value
    with pytest.raises(GrammarError):
        parse(json.dumps({"$schema": DRAFT_2020, **schema}))


def test_without_a_draft_all_else_is_read_as_2020_12() -> None:
    """Keywords beside a `$ref` count, `prefixItems` too, and `id` is a name like any other."""
    beside = {"$ref": "#/$defs/a", "minLength": 2, "$defs": {"a": {"type": "string"}}}
    assert (generates_value(beside, "a"), generates_value(beside, "ab")) == (False, True)
    named = {"id": "http://a.test/", "items": {"id": "b/", "$ref": "#/$defs/a"}, "$defs": {"a": {"type": "string"}}}
    assert (generates_value(named, [1]), generates_value(named, ["a"])) == (False, True)


def test_a_resource_may_speak_another_draft() -> None:
    """A subschema with an identifier follows the draft that it names; without one the name says nothing."""
    inner = {"$schema": SYNTAX_OF_DRAFT_7, "items": [{"type": "string"}], "additionalItems": False}
    schema = {"$schema": DRAFT_2020, "$ref": "#/$defs/a", "$defs": {"a": {"$id": "https://a.test/a", **inner}}}
    assert agreed(schema) == {True, False}
    with pytest.raises(GrammarSyntaxError):
        parse(json.dumps({"$schema": DRAFT_2020, "$ref": "#/$defs/a", "$defs": {"a": inner}}))


IN, OUT = {"type": "integer"}, {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"$ref": "#a", "$defs": {"p": {"$anchor": "a", **IN}, "q": {"$anchor": "a", **OUT}}}, "/$ref"),
        ({"$ref": "x", "$defs": {"p": {"$id": "x", **IN}, "q": {"$id": "x", **OUT}}}, "/$ref"),
        ({"$ref": "x#/maximum", "$defs": {"p": {"$id": "x", **IN}, "q": {"$id": "x", **OUT}}}, "/$ref"),
        (
            {"items": {"$dynamicRef": "#a"}, "$dynamicAnchor": "a", "else": {"$dynamicAnchor": "a"}},
            "/items/$dynamicRef",
        ),
        (
            {
                "$ref": "x",
                "$defs": {
                    **{name: {"$dynamicAnchor": "a", **kind} for name, kind in (("p", IN), ("q", OUT))},
                    "x": {"$id": "x", "items": {"$dynamicRef": "#a"}, "$defs": {"a": {"$dynamicAnchor": "a"}}},
                },
            },
            "/$defs/x/items/$dynamicRef",
        ),
        (
            {"$schema": SYNTAX_OF_DRAFT_7, "items": {"$ref": "#a"}}
            | {"definitions": {"p": {"$id": "#a", **IN}, "q": {"$id": "#a", **OUT}}},
            "/items/$ref",
        ),
    ],
    ids=str,
)
def test_a_name_of_several_schemas_is_refused(schema: dict[str, Any], place: str) -> None:
    """Validators differ in which one such a reference leads to."""
    with pytest.raises(GrammarSyntaxError, match="leads to several schemas") as refusal:
        parse(json.dumps(schema))
    assert refusal.value.pointer == place


def test_a_name_of_equal_schemas_leads_to_either() -> None:
    """Bundles hold a schema twice; and names that no reference asks for may mean anything."""
    equal = {"$id": "x", "$anchor": "a", **IN}
    other = {"r": {"$anchor": "b", **IN}, "s": {"$anchor": "b", **OUT}}
    assert agreed({"$ref": "x", "$defs": {"p": equal, "q": equal, **other}}) == {True, False}
    assert agreed({"$ref": "x#a", "$defs": {"p": equal, "q": equal, **other}}) == {True, False}


def test_many_dynamic_anchors_are_bounded() -> None:
    """Thousands of resources with one anchor end soon, in a typed refusal."""
    resources = {
        f"r{at}": {"$id": f"r{at}", "$dynamicAnchor": "t", "items": {"$dynamicRef": "#t"}, "$ref": f"r{at + 1}"}
        for at in range(4000)
    }
    definitions = {**resources, "r4000": {"$id": "r4000"}}
    schema = {"$schema": DRAFT_2020, "$id": "http://a.test/", "items": {"$ref": "r0"}, "$defs": definitions}
    with pytest.raises(GrammarError):
        parse(json.dumps(schema))
