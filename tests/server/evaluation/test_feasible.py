"""The feasible line."""

from __future__ import annotations

from typing import Any

import pytest

from server.evaluation.feasible import compact, small
from server.evaluation.json_judge import SchemaJudge


def is_valid(value: Any, schema: Any) -> bool:
    """Whether the judge finds a value's text valid."""
    return SchemaJudge(schema, lambda _: True)(compact(value)).valid


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}, {"a": ""}),
        ({"type": "array", "items": {"enum": ["long", 1]}, "minItems": 2}, [1, 1]),
        ({"anyOf": [{"type": "string", "minLength": 3}, {"type": "boolean"}]}, True),
        ({"$ref": "#/$defs/x~1y", "$defs": {"x/y": {"const": None}}}, None),
        ({"type": ["string", "null"], "format": "date"}, None),
        ({"type": "string", "format": "ipv6"}, "::"),
        ({"type": "integer", "minimum": 7}, 7),
        (True, 0),
    ],
)
def test_small_instances_are_valid(schema: Any, expected: Any) -> None:
    """Instances are the small ones that one would write by hand, and `jsonschema` agrees."""
    assert small(schema, schema) == expected
    assert is_valid(expected, schema)


def test_schemas_that_call_themselves_end() -> None:
    """A schema without a finite instance is followed a few levels down."""
    schema = {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}
    assert not is_valid(small(schema, schema), schema)
