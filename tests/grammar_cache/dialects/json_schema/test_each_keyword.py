"""Each keyword of the JSON Schema dialect, against the reference validator."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grammar_cache.dialects.json_schema.compiler import parse
from tests.expression_matcher import matches
from tests.grammar_cache.dialects.grammar_sampler import Sampler
from tests.grammar_cache.dialects.json_schema.oracle import (
    SYNTAX_OF_DRAFT_4,
    SYNTAX_OF_DRAFT_7,
    generates,
    generates_value,
    is_valid,
)

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
LIST_NODE = {"type": "object", "properties": {"next": {"$ref": "#"}, "v": INTEGER}}

# schema, keyword to delete, an instance that only the schema without it allows, one that both allow
PAIRS: list[tuple[dict[str, Any], str, Any, Any]] = [
    ({"type": "string"}, "type", 1, "a"),
    ({"type": ["string", "null"]}, "type", 1, None),
    ({"type": "integer"}, "type", 1.5, 12),
    ({"enum": ["a", 1, None, True]}, "enum", "b", 1),
    ({"const": {"a": [1, 2]}}, "const", {"a": [1]}, {"a": [1, 2]}),
    ({"type": "object", "properties": {"a": STRING}}, "properties", {"a": 1}, {"a": "x"}),
    ({"type": "object", "required": ["a"]}, "required", {}, {"a": 1}),
    (
        {"properties": {"a": STRING}, "additionalProperties": False},
        "additionalProperties",
        {"b": 1},
        {"a": "x"},
    ),
    (
        {"properties": {"a": STRING}, "additionalProperties": INTEGER},
        "additionalProperties",
        {"b": "x"},
        {"b": 1},
    ),
    ({"type": "array", "items": STRING}, "items", [1], ["a", "b"]),
    ({"type": "array", "items": False}, "items", [1], []),
    ({"prefixItems": [STRING, INTEGER]}, "prefixItems", ["a", "b"], ["a", 1, None]),
    ({"prefixItems": [STRING, INTEGER], "items": False}, "items", ["a", 1, 2], ["a", 1]),
    ({"type": "array", "minItems": 2}, "minItems", [1], [1, 2]),
    ({"type": "array", "maxItems": 2}, "maxItems", [1, 2, 3], [1, 2]),
    ({"anyOf": [STRING, {"type": "array", "items": INTEGER}]}, "anyOf", ["a"], [1]),
    ({"allOf": [{"minimum": 2}, {"maximum": 5}]}, "allOf", 6, 5),
    ({"$ref": "#/$defs/a", "$defs": {"a": STRING}}, "$ref", 1, "a"),
    ({"type": "string", "minLength": 2}, "minLength", "a", "ab"),
    ({"type": "string", "maxLength": 2}, "maxLength", "abc", "ab"),
    ({"type": "string", "pattern": "b+"}, "pattern", "aca", "abbc"),
    ({"type": "string", "format": "date"}, "format", "2023-02-29", "2024-02-29"),
    ({"type": "number", "minimum": 2.5}, "minimum", 2.4, 2.5),
    ({"type": "number", "maximum": 2.5}, "maximum", 2.6, 2.5),
    ({"type": "number", "exclusiveMinimum": 2.5}, "exclusiveMinimum", 2.5, 2.51),
    ({"type": "integer", "exclusiveMaximum": 3}, "exclusiveMaximum", 3, 2),
    ({"$schema": SYNTAX_OF_DRAFT_4, "minimum": 3, "exclusiveMinimum": True}, "exclusiveMinimum", 3, 4),
    (
        {"$schema": SYNTAX_OF_DRAFT_7, "items": [STRING], "additionalItems": False},
        "additionalItems",
        ["a", 1],
        ["a"],
    ),
    ({"$schema": SYNTAX_OF_DRAFT_7, "items": [STRING]}, "items", [1], ["a", 1]),
    (LIST_NODE, "properties", {"next": 1, "v": 1}, {"next": {"v": 1}, "v": 2}),
]

# schema, a value that a reader of the keywords one by one would get wrong, and whether it is generated
COMBINED: list[tuple[dict[str, Any], Any, bool]] = [
    ({"required": ["a"]}, 42, True),
    ({"required": ["a"]}, {"a": 1}, True),
    ({"required": ["a"]}, {"b": 1}, False),
    ({"minLength": 3}, 1, True),
    ({"minLength": 3}, "ab", False),
    ({"enum": ["a", "bb", 7, 1.5], "type": ["string", "integer"], "maxLength": 1, "maximum": 5}, "a", True),
    ({"enum": ["a", "bb", 7, 1.5], "type": ["string", "integer"], "maxLength": 1, "maximum": 5}, "bb", False),
    ({"enum": ["a", "bb", 7, 1.5], "type": ["string", "integer"], "maxLength": 1, "maximum": 5}, 7, False),
    ({"enum": ["a", "bb", 7, 1.5], "type": ["string", "integer"], "maxLength": 1, "maximum": 5}, 1.5, False),
    ({"enum": ["ab", "ac"], "pattern": "b$"}, "ab", True),
    ({"enum": ["ab", "ac"], "pattern": "b$"}, "ac", False),
    ({"enum": [["2020-02-30"], ["2020-02-28"]], "items": {"format": "date"}}, ["2020-02-28"], True),
    ({"enum": [["2020-02-30"], ["2020-02-28"]], "items": {"format": "date"}}, ["2020-02-30"], False),
    ({"enum": [1, 2, 3], "const": 2}, 2, True),
    ({"enum": [1, 2, 3], "const": 2}, 1, False),
    ({"enum": [{"a": 1}, {"b": 1}], "required": ["a"]}, {"b": 1}, False),
    ({"enum": [True, 1], "type": "integer"}, True, False),
    ({"type": "string", "pattern": "^a", "maxLength": 3}, "abcd", False),
    ({"type": "string", "pattern": "^a", "maxLength": 3}, "abc", True),
    ({"type": "number", "allOf": [{"type": "integer"}]}, 1.5, False),
    ({"allOf": [{"type": "string"}, {"enum": ["a", 42]}]}, 42, False),
    (
        {"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {},
        False,
    ),
    (
        {"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"b": 1},
        True,
    ),
    ({"$ref": "#/$defs/a", "maxLength": 2, "$defs": {"a": {"minLength": 2}}}, "abc", False),
    ({"$ref": "#/$defs/a", "maxLength": 2, "$defs": {"a": {"minLength": 2}}}, "ab", True),
    (
        {
            "allOf": [
                {"properties": {"a": STRING}, "additionalProperties": INTEGER},
                {"properties": {"b": {"minimum": 3}}},
            ]
        },
        {"a": "x", "b": 2},
        False,
    ),
    (
        {
            "allOf": [
                {"properties": {"a": STRING}, "additionalProperties": INTEGER},
                {"properties": {"b": {"minimum": 3}}},
            ]
        },
        {"a": "x", "b": 3},
        True,
    ),
    ({"properties": {"a": False}}, {"a": 1}, False),
    ({"properties": {"a": False}}, {"b": 1}, True),
    ({"properties": {"a": False}, "required": ["a"]}, 3, True),
    ({"$defs": {"x": {"$anchor": "there", "type": "null"}}, "$ref": "#there"}, None, True),
    (
        {"$id": "http://x.org/root", "$defs": {"x": {"$id": "item", "type": "null"}}, "$ref": "item"},
        None,
        True,
    ),
    ({"$id": "http://x.org/root", "$defs": {"x": {"$id": "item", "type": "null"}}, "$ref": "item"}, 1, False),
    (
        {"properties": {"a/b~c%": {"type": "null"}}, "items": {"$ref": "#/properties/a~1b~0c%25"}},
        [None],
        True,
    ),
    ({"properties": {"a/b~c%": {"type": "null"}}, "items": {"$ref": "#/properties/a~1b~0c%25"}}, [1], False),
]


@pytest.mark.parametrize(("schema", "keyword", "apart", "common"), PAIRS, ids=[pair[1] for pair in PAIRS])
def test_each_keyword_is_enforced(schema: dict[str, Any], keyword: str, apart: Any, common: Any) -> None:
    """An instance tells the schema with the keyword from the one without it, as the validator finds."""
    without = {name: value for name, value in schema.items() if name != keyword}
    for value in (apart, common):
        for form in (schema, without):
            assert generates_value(form, value) is is_valid(form, json.dumps(value))
    assert not generates_value(schema, apart)
    assert generates_value(without, apart)


@pytest.mark.parametrize(("schema", "value", "expected"), COMBINED)
def test_keywords_hold_together(schema: dict[str, Any], value: Any, expected: bool) -> None:
    """Keywords side by side, by type and through references, mean what the validator takes them to mean."""
    assert generates_value(schema, value) is is_valid(schema, json.dumps(value)) is expected


SAMPLED: list[Any] = [
    True,
    {},
    {"type": "object"},
    *(pair[0] for pair in PAIRS),
    {
        "type": "object",
        "properties": {"a": STRING, "b": INTEGER, "c": {}},
        "additionalProperties": {"type": "null"},
    },
    {
        "required": ["z", "a"],
        "properties": {"a": {"minimum": 3}, "b": {"type": ["array", "null"], "items": {"$ref": "#"}}},
    },
    {
        "type": "array",
        "prefixItems": [STRING, {}, INTEGER],
        "minItems": 1,
        "maxItems": 5,
        "items": {"const": "x"},
    },
    {"type": "string", "pattern": "^[\\x00-\\x2f\\\\]{1,4}$"},
    {
        "type": "array",
        "minItems": 1,
        "items": {"anyOf": [{"format": "ipv6"}, {"type": "string", "format": "uuid"}]},
    },
    {"type": "object", "properties": {'"q\\': STRING, "\u0001": {}, "é": {}}, "required": ['"q\\']},
]


@pytest.mark.parametrize("schema", SAMPLED, ids=str)
def test_what_is_generated_is_valid(schema: Any) -> None:
    """Random texts of the grammar are JSON, and valid by the reference validator."""
    texts = Sampler(parse(json.dumps(schema))).texts(60)
    assert texts
    for text in texts:
        assert is_valid(schema, text.decode()), text


def test_siblings_of_a_reference_are_ignored_before_2019_09() -> None:
    """Up to draft-07 a $ref stands alone, as the validator has it; what is ignored is reported."""
    schema = {
        "$schema": SYNTAX_OF_DRAFT_7,
        "items": {"$ref": "#/definitions/a", "maxLength": 1},
        "definitions": {"a": STRING},
    }
    assert generates_value(schema, ["abc"]) is is_valid(schema, '["abc"]') is True
    assert parse(json.dumps(schema)).ignored == ("/items/maxLength: ignored beside $ref before draft 2019-09",)


def test_annotations_are_reported_unless_they_are_of_the_standard() -> None:
    """Unknown keywords and formats change nothing and are listed; title, default and their like are not."""
    schema = {"title": "t", "default": 3, "type": "string", "x-order": 1, "format": "color"}
    assert parse(json.dumps(schema)).ignored == (
        "/x-order: annotation",
        "/format: format color is an annotation",
    )
    assert generates_value(schema, "any")


def test_only_what_is_reachable_is_compiled() -> None:
    """A definition that nothing refers to may hold what can't be enforced."""
    schema = {"type": "string", "$defs": {"unused": {"not": {}}}}
    assert generates_value(schema, "a")


def test_false_and_contradictions_generate_nothing() -> None:
    """A schema that no value satisfies has a grammar without texts."""
    for schema in (False, {"allOf": [STRING, INTEGER]}, {"type": "string", "minLength": 2, "maxLength": 1}):
        assert Sampler(parse(json.dumps(schema))).text() is None
        assert not generates(schema, '"a"')


def test_enumerated_values_are_written_as_python_writes_them() -> None:
    """Numbers keep their value to the last digit, and strings are not escaped without need."""
    schema = {"enum": [1.50, 1e400, 123456789012345678901234567890, "é\n/\u007f", {"b": 1, "a": []}]}
    text = json.dumps(schema).replace("Infinity", "1e400")
    for literal in ("1.5", "1E+400", "123456789012345678901234567890", '"é\\n/\u007f"', '{"b": 1, "a": []}'):
        assert matches(parse(text), literal.encode())
        assert not matches(parse(text), literal.encode() + b"0")


@pytest.mark.parametrize(
    ("written", "generated"),
    [("0.00001", "0.00001"), ("-15e-7", "-0.0000015"), ("1e-20", "0.00000000000000000001"), ("1e-21", "1e-21")],
)
def test_small_numbers_are_written_in_plain_digits(written: str, generated: str) -> None:
    """Numbers that twenty digits behind the point hold need no exponent, as the docs say: 0.00001 was only 1e-05. With
    the one that Python writes they are right as well.
    """
    for schema in (f'{{"const": {written}}}', f'{{"enum": [1, {written}], "maximum": 0.5}}'):
        assert matches(parse(schema), generated.encode())
        assert matches(parse(schema), repr(float(written)).encode())


def test_integers_are_written_as_such_whatever_the_schema_writes() -> None:
    """2.0 is the value 2, but in draft 4, where it is no integer."""
    for text, literal, expected in (
        ('{"enum": [2.0, 1e2]}', "2", True),
        ('{"enum": [2.0, 1e2]}', "2.0", True),
        ('{"enum": [2.0, 1e2]}', "100", True),
        ('{"const": {"a": [-0.0, 1.5]}}', '{"a": [0, 1.5]}', True),
        ('{"const": 1.5}', "1", False),
        (f'{{"$schema": "{SYNTAX_OF_DRAFT_4}", "enum": [2.0]}}', "2", False),
    ):
        assert matches(parse(text), literal.encode()) is expected, (text, literal)
