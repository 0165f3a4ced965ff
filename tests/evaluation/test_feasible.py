"""The feasible line."""

from __future__ import annotations

from typing import Any

import pytest

from server.evaluation.feasible import compact, fewest_tokens, is_valid, small


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
    """What is built is the small instance one would write by hand, and `jsonschema` agrees."""
    assert small(schema, schema) == expected
    assert is_valid(compact(expected), schema)


def test_schemas_that_call_themselves_end() -> None:
    """A schema without a finite instance is followed a few levels down."""
    schema = {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}
    assert not is_valid(compact(small(schema, schema)), schema)


@pytest.mark.parametrize(
    ("schema", "completion", "expected"),
    [
        ({"type": "integer"}, "17", 1),
        ({"type": "string", "pattern": "^b{4}$"}, '"bbbb"', 6),
        ({"type": "string", "pattern": "^b$"}, '"c"', None),
    ],
)
def test_the_shortest_valid_text_counts(schema: Any, completion: str, expected: int | None) -> None:
    """The reference answer counts where the small instance isn't valid; neither, where neither is."""
    assert fewest_tokens(schema, completion, lambda text: text.encode()) == expected
