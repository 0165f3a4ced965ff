"""Keywords of drafts that a schema doesn't speak: enforced, but without a part in what the standard says of others."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from tests.grammar_cache.dialects.json_schema.oracle import (
    SYNTAX_OF_DRAFT_7,
    SYNTAX_OF_DRAFT_2020_12,
    generates_value,
    is_valid,
)

SYNTAX_OF_DRAFT_2019_09 = "https://json-schema.org/draft/2019-09/schema"
STRING, INTEGER = {"type": "string"}, {"type": "integer"}
VALUES: tuple[Any, ...] = ("a", 1, 1.5, None, {}, {"a": 1}, {"a": 1, "b": 2}, [], [1], ["a"], ["a", 1])


def all_valid(schema: dict[str, Any]) -> set[str]:
    """Values that are generated, all of which the reference validator takes."""
    jsonschema.validators.validator_for(schema).check_schema(schema)
    found = {json.dumps(value) for value in VALUES if generates_value(schema, value)}
    assert all(is_valid(schema, text) for text in found), found
    return found


@pytest.mark.parametrize(
    ("draft", "keyword"),
    [
        (SYNTAX_OF_DRAFT_7, "$dynamicRef"),
        (SYNTAX_OF_DRAFT_7, "$recursiveRef"),
        (SYNTAX_OF_DRAFT_2019_09, "$dynamicRef"),
        (SYNTAX_OF_DRAFT_2020_12, "$recursiveRef"),
    ],
)
def test_a_reference_that_the_draft_does_not_know_denies_nothing(draft: str, keyword: str) -> None:
    """Schemas with nothing else hold of all values: nothing is left where they must not."""
    reference = {keyword: "#/$defs/x"}
    common = {"$schema": draft, "$defs": {"x": STRING}}
    assert all_valid({**common, **reference}) == {'"a"'}
    assert all_valid({**common, "not": reference}) == set()
    assert all_valid({**common, "oneOf": [reference, INTEGER]}) == {'"a"'}
    assert all_valid({**common, "if": reference, "then": INTEGER, "else": {}}) == set()


@pytest.mark.parametrize(
    ("draft", "asked"),
    [
        (SYNTAX_OF_DRAFT_2019_09, {"prefixItems": [{}], "unevaluatedItems": False}),
        (SYNTAX_OF_DRAFT_2019_09, {"prefixItems": [STRING], "unevaluatedItems": INTEGER}),
        (SYNTAX_OF_DRAFT_2019_09, {"allOf": [{"prefixItems": [STRING]}], "unevaluatedItems": False}),
        (SYNTAX_OF_DRAFT_2019_09, {"$dynamicRef": "#/$defs/x", "unevaluatedProperties": False}),
        (SYNTAX_OF_DRAFT_2020_12, {"$recursiveRef": "#/$defs/x", "unevaluatedProperties": False}),
        (SYNTAX_OF_DRAFT_2020_12, {"dependencies": {"a": {"$ref": "#/$defs/x"}}, "unevaluatedProperties": False}),
    ],
    ids=str,
)
def test_what_a_draft_does_not_know_evaluates_nothing(draft: str, asked: dict[str, Any]) -> None:
    """Members and items that only such keywords speak of are left unevaluated."""
    schema = {"$schema": draft, **asked, "$defs": {"x": {"properties": {"a": {}, "b": {}}}}}
    assert {"{}", "[]"} <= all_valid(schema)


def test_what_drafts_do_not_know_works_together() -> None:
    """Draft 7 knows neither keyword, so both mean what the author of such a schema means by them."""
    asked = {"dependentSchemas": {"a": {"properties": {"a": {}, "b": {}}}}, "unevaluatedProperties": False}
    assert all_valid({"$schema": SYNTAX_OF_DRAFT_7, "type": "object", **asked}) == {
        "{}",
        '{"a": 1}',
        '{"a": 1, "b": 2}',
    }
    arrays = {"$schema": SYNTAX_OF_DRAFT_7, "type": "array", "prefixItems": [INTEGER], "unevaluatedItems": STRING}
    assert all_valid(arrays) == {"[]", "[1]"}


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"items": [{}], "additionalItems": False}},
        {"oneOf": [{"items": [STRING], "additionalItems": False}, {"maxItems": 3}]},
        {"if": {"items": [STRING], "additionalItems": INTEGER}, "then": {"maxItems": 1}, "else": {"minItems": 2}},
    ],
    ids=str,
)
def test_lists_of_items_go_on_as_before_where_a_schema_must_not_hold(schema: dict[str, Any]) -> None:
    """Lists in schemas without a draft mean what 2019-09 says: `additionalItems` alone may break the schema."""
    named = {"$schema": SYNTAX_OF_DRAFT_2019_09, "type": "array", **schema}
    verdicts = set()
    for value in ([], ["a"], ["a", 1], [1], [1, 2], ["a", "b"], ["a", 1, 2, 3]):
        verdicts.add(is_valid(named, json.dumps(value)))
        assert generates_value({"type": "array", **schema}, value) is is_valid(named, json.dumps(value)), value
    assert verdicts == {True, False}
