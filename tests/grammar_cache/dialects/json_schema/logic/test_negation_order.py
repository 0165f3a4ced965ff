"""Many alternatives that are not told apart by a constant: how much of what is valid is generated, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import jsonschema
import pytest

from grammar_cache.dialects.json_schema.compiler import parse
from tests.expression_matcher import matches
from tests.grammar_cache.dialects.json_schema.oracle import generates_value, is_valid
from tests.grammar_cache.dialects.json_schema.schemas import orders

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
OBJECT = {"type": "object"}
FLAGGED: dict[str, Any] = {"properties": {"name": STRING, "flag": {"const": True}}}
"""A kind of service that is known by no required member."""
CLOSED: dict[str, Any] = {**FLAGGED, "additionalProperties": False}
NAMED: list[dict[str, Any]] = [
    {
        "properties": {"name": STRING, kind: STRING, f"{kind}Options": INTEGER, f"{kind}Retries": INTEGER},
        "required": ["name", kind],
    }
    for kind in ("image", "project", "script", "function", "folder", "remote")
]
OF_OBJECTS: list[dict[str, Any]] = [{**OBJECT, **service} for service in NAMED]
SMALL = {
    "name": ("a", 1),
    "image": ("a", 1),
    "imageOptions": (1, "a"),
    "project": ("a",),
    "flag": (True, 1),
    "other": (1,),
}
"""Names, each with the values that are tried."""
SCHEMAS: dict[str, tuple[Any, int]] = {
    "closed": ({**OBJECT, "oneOf": [*NAMED, CLOSED]}, 0),
    "closed, first": ({**OBJECT, "oneOf": [CLOSED, *NAMED]}, 0),
    "open": ({**OBJECT, "oneOf": [*NAMED, FLAGGED]}, 1),
    "without types": ({"oneOf": [*NAMED, CLOSED]}, 0),
    "some without types": ({"oneOf": [*OF_OBJECTS, FLAGGED]}, 1),
    "all closed": ({"oneOf": [{**service, "additionalProperties": False} for service in [*NAMED, FLAGGED]]}, 0),
    "beside other choices": (
        {**OBJECT, "oneOf": [*NAMED, FLAGGED], "anyOf": [{"required": ["name"]}, {"required": ["flag"]}]},
        1,
    ),
    "not": ({**OBJECT, "properties": {"name": STRING, "flag": {}}, "not": {"anyOf": NAMED}}, 1),
    "below": ({**OBJECT, **FLAGGED, "required": ["flag"], "allOf": [{"not": service} for service in NAMED]}, 0),
}
"""Each with the number of small valid values that are not generated with members in any order."""


def small_values() -> Iterator[Any]:
    """Objects of up to three members, and a value of each other type."""
    yield from ("a", 1, True, None, [])
    for count in range(4):
        for names in combinations(SMALL, count):
            for values in product(*(SMALL[name] for name in names)):
                yield dict(zip(names, values, strict=True))


@pytest.mark.parametrize("name", SCHEMAS)
def test_nearly_all_that_is_valid_is_generated(name: str) -> None:
    """No invalid one of all small values is generated, and of the valid ones all but those counted."""
    schema, lost = SCHEMAS[name]
    grammar = parse(json.dumps(schema), whitespace="compact")
    validator = jsonschema.Draft202012Validator(schema)
    generated, valid = [], []
    for value in small_values():
        texts = (json.dumps(other, separators=(",", ":")).encode() for other in orders(value))
        if any(matches(grammar, text) for text in texts):
            generated.append(value)
        if validator.is_valid(value):
            valid.append(value)
    assert all(value in valid for value in generated)
    assert len(valid) - len(generated) <= lost < len(valid)


@pytest.mark.parametrize("last", [CLOSED, FLAGGED], ids=["closed", "open"])
def test_what_an_alternative_lists_is_generated(last: Any) -> None:
    """An alternative isn't told from the others by leaving out what it lists itself."""
    for schema in ({**OBJECT, "oneOf": [*NAMED, last]}, {**OBJECT, "oneOf": [last, *NAMED]}):
        for service in ({"name": "a", "flag": True}, {"flag": True}, {"name": "a"}, {}):
            assert is_valid(schema, json.dumps(service)) and generates_value(schema, service), service
    for kind in ("image", "remote"):
        assert generates_value({**OBJECT, "oneOf": [*NAMED, CLOSED]}, {"name": "a", kind: "b", f"{kind}Options": 1})


@pytest.mark.parametrize("denied", ["not", "oneOf", "else"])
def test_a_denial_is_not_taken_for_its_own_reason(denied: str) -> None:
    """A schema that must not hold beside others is excluded by those only, not by being denied."""
    both = {"required": ["a", "b"]}
    schema = {
        "not": {**OBJECT, "properties": {"a": {}, "b": {}}, "not": both},
        "oneOf": {
            **OBJECT,
            "properties": {"a": {}, "b": {}},
            "oneOf": [{"required": ["a"]}, both, {"maxProperties": 0}],
        },
        "else": {**OBJECT, "properties": {"a": {}, "b": {}}, "if": both, "then": {"required": ["c"]}, "else": {}},
    }[denied]
    for value in ({}, {"a": 1}, {"b": 1}, {"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 1}):
        assert is_valid(schema, json.dumps(value)) is generates_value(schema, value), value


def test_what_comes_to_deny_itself_excludes_nothing() -> None:
    """A schema in place inside of its own denial has no meaning, so that nothing is concluded from it."""
    schema = {"allOf": [STRING], "not": {"minLength": 2, "allOf": [{"$ref": "#"}]}}
    assert generates_value(schema, "a")
    assert not generates_value(schema, "ab")


def test_what_is_excluded_anyway_makes_no_alternatives() -> None:
    """Kinds without a type, each with a constant: of objects they exclude each other, and other values are all."""
    kinds = [
        {
            "properties": {"kind": {"const": f"k{n}"}, "a": STRING, f"b{n}": INTEGER},
            "required": ["kind"],
            "additionalProperties": False,
        }
        for n in range(7)
    ]
    untyped = parse(json.dumps({"oneOf": kinds}))
    assert len(untyped.rules) == len(parse(json.dumps({**OBJECT, "oneOf": kinds})).rules)
    for value in (*({"kind": f"k{n}", "a": "x", f"b{n}": 1} for n in range(7)), {"kind": "k1", "b2": 1}, "a", 1, {}):
        assert is_valid({"oneOf": kinds}, json.dumps(value)) is generates_value({"oneOf": kinds}, value)
