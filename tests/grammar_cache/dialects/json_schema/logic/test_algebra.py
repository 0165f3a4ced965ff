"""Schemas that exclude, condition and deny each other, against the reference validator."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.errors import GrammarError, LimitExceeded, UnsupportedFeature
from tests.expression_matcher import matches
from tests.grammar_cache.dialects.json_schema.oracle import SYNTAX_OF_DRAFT_4, generates, generates_value, is_valid
from tests.grammar_cache.dialects.json_schema.schemas import VALUES, orders, schemas
from tests.strategies import examples

STRING, INTEGER, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}
KINDS = {
    "oneOf": [
        {"properties": {"kind": {"const": kind}, "v": {"type": kind}}, "required": ["kind"]}
        for kind in ("string", "integer", "null")
    ]
}
BARE = {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}}
"""A condition from which nothing follows, but that it evaluates a member."""
CASES: list[tuple[Any, list[Any]]] = [
    ({"not": STRING}, ["a", 1, None, [], {}, 1.5]),
    ({"not": {"type": ["integer", "object"]}}, [1, 1.5, {}, "a", True]),
    ({"not": {"minLength": 2}}, ["a", "ab", 1]),
    ({"type": "string", "not": {"maxLength": 2}}, ["ab", "abc"]),
    ({"type": "string", "not": {"pattern": "^a"}}, ["ab", "ba", ""]),
    ({"type": "string", "not": {"enum": ["a", "\n", 1]}}, ["a", "b", "\n"]),
    ({"type": "string", "not": {"format": "ipv4"}}, ["1.2.3.4", "1.2.3", "x"]),
    ({"type": "number", "not": {"minimum": 2}}, [2, 1.5, 3]),
    ({"type": "number", "not": {"exclusiveMaximum": 2}}, [2, 1.5, 3]),
    ({"type": "number", "not": {"const": 1}}, [1, 1.5, 2]),
    ({"not": {"const": True}}, [True, False, 1]),
    ({"not": {"const": {"a": [1, {}]}}}, [{"a": [1, {}]}, {"a": [1]}, {"a": [1, {}], "b": 1}, {}, {"a": [2, {}]}]),
    ({"not": {"enum": [[], [1, "a"]]}}, [[], [1], [1, "a"], [1, "a", 1], ["a", 1], "a"]),
    ({"not": {"required": ["a", "b"]}}, [{"a": 1}, {"a": 1, "b": 1}, {}, 1]),
    ({"not": {"properties": {"a": STRING}}}, [{"a": 1}, {"a": "x"}, {}]),
    ({"not": {"additionalProperties": STRING}}, [{"a": 1}, {"a": "x"}, {}]),
    ({"not": {"patternProperties": {"^a": STRING}}}, [{"a": 1}, {"a": "x"}, {"b": 1}]),
    ({"not": {"propertyNames": {"maxLength": 1}}}, [{"a": 1}, {"ab": 1}, {}]),
    ({"not": {"minProperties": 1}}, [{}, {"a": 1}]),
    ({"not": {"items": STRING}}, [[], ["a"], ["a", 1]]),
    ({"not": {"prefixItems": [STRING, INTEGER]}}, [[], ["a"], [1], ["a", "b"], ["a", 1]]),
    ({"not": {"contains": STRING}}, [[], ["a"], [1]]),
    ({"not": {"minItems": 1}}, [[], [1]]),
    ({"not": {"anyOf": [STRING, INTEGER]}}, ["a", 1, None]),
    ({"not": {"allOf": [{"minLength": 2}, {"pattern": "a"}]}}, ["a", "ab", "bb", 1]),
    ({"not": {"not": STRING}}, ["a", 1]),
    ({"not": {"oneOf": [STRING, {"minLength": 2}]}}, ["a", "ab", 1]),
    ({"not": {"if": STRING, "then": {"minLength": 2}, "else": NULL}}, ["a", "ab", 1, None]),
    ({"not": True}, [1]),
    ({"oneOf": [INTEGER, {"minimum": 2}]}, [1, 2, 2.5, 1.5, "a"]),
    ({"oneOf": [STRING, STRING]}, ["a", 1]),
    ({"oneOf": [True, False, False]}, [1]),
    (KINDS, [{"kind": "string", "v": "x"}, {"kind": "null", "v": "x"}, {"kind": "integer"}, {"v": 1}, 3]),
    ({"if": INTEGER, "then": {"minimum": 3}, "else": STRING}, [1, 3, "a", None]),
    ({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, [{"a": 1}, {"a": 1, "b": 2}, {}, {"b": 1}]),
    ({"if": INTEGER}, [1, "a"]),
    ({"then": INTEGER}, [1, "a"]),
    ({"oneOf": [{"enum": [[1], [2, 4], {}]}, {"enum": [[1], [1, 2], {"a": 1}]}]}, [[1], [2, 4], [1, 2], {}, {"a": 1}]),
    ({"dependentRequired": {"a": ["b"]}}, [{"a": 1}, {"a": 1, "b": 2}, {"b": 1}, 1]),
    ({"dependentSchemas": {"a": {"maxProperties": 1}}}, [{"a": 1}, {"a": 1, "b": 2}, {"b": 1}]),
    ({"dependentSchemas": {"a": False}}, [{"a": 1}, {"b": 1}]),
    ({"properties": {"a": {}}, "unevaluatedProperties": False}, [{"a": 1}, {"b": 1}]),
    (
        {"allOf": [{"properties": {"a": {}}}], "patternProperties": {"^x": {}}, "unevaluatedProperties": False},
        [{"a": 1}, {"x1": 1}, {"b": 1}],
    ),
    (
        {"anyOf": [{"properties": {"a": STRING}, "required": ["a"]}, {"required": ["b"], "properties": {"b": {}}}]}
        | {"unevaluatedProperties": INTEGER},
        [{"a": "x"}, {"a": "x", "b": 1}, {"a": "x", "b": "x"}, {"a": "x", "c": 1}, {"a": "x", "c": "x"}],
    ),
    (
        {"if": {"properties": {"a": STRING}, "required": ["a"]}, "else": {"properties": {"b": {}}}}
        | {"unevaluatedProperties": False},
        [{"a": "x"}, {"a": 1}, {"b": 1}, {"a": "x", "b": 1}],
    ),
    (
        {"not": {"not": {"properties": {"a": {}}}}, "unevaluatedProperties": False},
        [{}, {"a": 1}],
    ),
    *(
        ({"type": "object", **holder, "unevaluatedProperties": False}, [{"a": 1}, {"a": 2}, {}, {"b": 1}])
        for holder in (BARE, {"allOf": [BARE]}, {"anyOf": [BARE]}, {"$ref": "#/$defs/x", "$defs": {"x": BARE}})
    ),
    ({"if": {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}}, [{"a": 1}, {"b": 1}, 1]),
    ({"if": {"type": "array", "uniqueItems": True}, "unevaluatedProperties": False}, [[1, 1], [1], {}, {"a": 1}]),
    *(
        ({"type": "object", **asked, "unevaluatedProperties": False}, [{"k": 1, "a": 1}, {"k": 2, "c": 1}, {"a": 1}])
        for asked in (
            {"oneOf": [{"properties": {"k": {"const": 1}, "a": {}}}, {"properties": {"k": {"const": 2}, "c": {}}}]},
            {"anyOf": [{"properties": {"k": {}, "a": {}}}, {"properties": {"c": {}}}], "required": ["k"]},
            {"if": {"properties": {"k": {"const": 1}}}, "then": {"properties": {"a": {}}}, "required": ["a"]},
        )
    ),
    ({"allOf": [{"prefixItems": [STRING]}], "unevaluatedItems": INTEGER}, [["a"], ["a", 1], ["a", "a"], [1]]),
    ({"allOf": [{"contains": STRING}], "unevaluatedItems": INTEGER}, [["a"], ["a", 1], [1], [None, "a"]]),
]


@pytest.mark.parametrize(("schema", "values"), CASES, ids=[str(schema)[:60] for schema, _ in CASES])
def test_each_way_to_exclude_means_what_the_validator_says(schema: Any, values: list[Any]) -> None:
    """Verdicts of the grammar on each value are those of the reference validator."""
    for value in values:
        assert is_valid(schema, json.dumps(value)) is generates_value(schema, value), value


@given(schemas(), st.lists(VALUES, min_size=5, max_size=5))
@examples(120)
def test_what_is_generated_is_what_is_valid(schema: Any, values: list[Any]) -> None:
    """Random schemas generate no invalid value, and nearly every valid one with members in some order."""
    _compare(schema, schema, values)


@given(
    schemas(without=("unevaluatedItems", "contains", "prefixItems", "exclusiveMinimum")), st.lists(VALUES, max_size=5)
)
@examples(60)
def test_what_a_draft_does_not_know_never_makes_it_laxer(schema: Any, values: list[Any]) -> None:
    """Keywords that draft 7 doesn't know are enforced, but let nothing through that they would deny."""
    typed = {"$schema": "http://json-schema.org/draft-07/schema#", **schema}
    grammar = _grammar(typed)
    for value in values if grammar is not None else ():
        if matches(grammar, json.dumps(value, separators=(",", ":")).encode()):
            assert jsonschema.Draft7Validator(typed).is_valid(value), value


def _grammar(schema: Any) -> Any:
    """The grammar of a schema; None where it is refused, as negated formats and repeated items are."""
    try:
        return parse(json.dumps(schema), whitespace="compact")
    except GrammarError:
        return None


def _compare(schema: Any, stated: Any, values: list[Any]) -> None:
    grammar = _grammar(schema)
    if grammar is None:
        return
    validator = jsonschema.Draft202012Validator(stated)
    for value in values:
        text = json.dumps(value, separators=(",", ":"))
        generated = matches(grammar, text.encode())
        if not validator.is_valid(value):
            assert not generated, text
        elif not generated:
            texts = (json.dumps(other, separators=(",", ":")) for other in islice(orders(value), 50))
            assert any(matches(grammar, other.encode()) for other in texts), text


def test_a_name_that_alternatives_declare_may_be_required_beside_unevaluated_members() -> None:
    """Names that are evaluated are known once all is chosen: such a union was taken for unsatisfiable."""
    ways = [{"properties": {"k": {"const": n}, f"a{n}": {}}} for n in range(3)]
    schema = {"type": "object", "oneOf": ways, "required": ["k"], "unevaluatedProperties": False}
    for value in ({"k": 0, "a0": 1}, {"k": 2, "a2": 1}, {"k": 1, "a2": 1}, {"k": 3}, {"a1": 1}):
        assert generates_value(schema, value) is is_valid(schema, json.dumps(value)), value


def test_a_union_told_apart_by_a_constant_stays_small() -> None:
    """Alternatives that exclude each other aren't denied: rules grow with their number, not with its square."""
    kinds = [
        {"type": "object", "properties": {"kind": {"const": f"k{n}"}, "a": STRING, "b": INTEGER}, "required": ["kind"]}
        for n in range(40)
    ]
    one = parse(json.dumps({"oneOf": kinds}))
    some = parse(json.dumps({"anyOf": kinds}))
    assert len(one.rules) == len(some.rules)


@pytest.mark.parametrize("outer", [{}, {"type": "object"}, {"type": ["object", "string"]}], ids=str)
def test_alternatives_without_a_type_are_told_apart_by_a_constant_of_their_objects(outer: dict[str, Any]) -> None:
    """Values of other types satisfy all of them, which is more than one. 200 were refused for their steps."""
    kinds = [{"properties": {"kind": {"const": f"k{n}"}, "a": STRING}, "required": ["kind"]} for n in range(200)]
    schema = {**outer, "oneOf": [*kinds, {"type": "object", "properties": {"kind": NULL}, "required": ["kind"]}]}
    grammar = parse(json.dumps(schema))
    assert len(grammar.rules) < 230
    for value in ({"kind": "k3", "a": "x"}, {"kind": "k9"}, {"kind": None}, {"kind": "k3", "a": 1}, {}, "k3", 3, None):
        text = json.dumps(value)
        assert matches(grammar, text.encode()) is is_valid(schema, text), value
    alone = {"oneOf": [kinds[0], {"type": "object", "minProperties": 1, "required": ["x"]}]}
    for other in ("x", 1, {"kind": "k0"}, {"x": 1}, {"x": 1, "kind": "k0"}):
        assert generates_value(alone, other) or not is_valid(alone, json.dumps(other)), other


def test_a_chain_of_conditions_on_a_constant_stays_small() -> None:
    """Combinations don't multiply where conditions exclude each other, since at most one holds."""
    conditions = [
        {"if": {"properties": {"kind": {"const": f"k{n}"}}}, "then": {"required": [f"r{n}"]}} for n in range(12)
    ]
    schema = {"required": ["kind"], "properties": {"kind": STRING}, "allOf": conditions}
    assert len(parse(json.dumps(schema)).rules) < 60
    for value in ({"kind": "k3", "r3": 1}, {"kind": "k3", "r4": 1}, {"kind": "x"}, {}):
        assert is_valid(schema, json.dumps(value)) is generates_value(schema, value)


def test_where_ways_to_deny_multiply_some_are_left_out() -> None:
    """Overlapping alternatives are told apart by leaving out what the others require, rather than refused."""
    alternatives = [
        {"required": [f"r{n}"], "properties": {f"r{n}": STRING, **{f"o{n}{m}": INTEGER for m in range(6)}}}
        for n in range(6)
    ]
    schema = {"type": "object", "oneOf": alternatives}
    assert generates_value(schema, {"r1": "a", "o11": 1})
    assert not generates_value(schema, {"r1": "a", "r2": "b"})
    assert not generates_value(schema, {"r1": 1})


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "array", "not": {"uniqueItems": True}}, "/not"),
        ({"type": "string", "not": {"format": "uri-reference"}}, "/not"),
        (
            {"type": "object", "not": {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}},
            "/not",
        ),
    ],
    ids=str,
)
def test_what_can_not_be_denied_is_refused(schema: Any, pointer: str) -> None:
    """A schema is refused where no way is left to break it but one that can't be enforced."""
    with pytest.raises(UnsupportedFeature) as refusal:
        parse(json.dumps(schema))
    assert pointer == refusal.value.pointer


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "array", "not": {"uniqueItems": True}}, "/not"),
        ({"type": "string", "not": {"divisibleBy": 2}}, "/not/divisibleBy"),
        ({"oneOf": [{"type": "string"}, {"divisibleBy": 2}]}, "/oneOf/1/divisibleBy"),
    ],
    ids=str,
)
def test_what_can_not_be_denied_is_passed_over_if_lenient(schema: Any, pointer: str) -> None:
    """A lenient request gets a grammar that isn't empty, and a report."""
    grammar = parse(json.dumps(schema), lenient=True)
    assert f"{pointer}: not enforced" in grammar.ignored
    assert matches(grammar, b'"a"') or matches(grammar, b"[]")


def test_keywords_that_the_draft_does_not_know_deny_nothing() -> None:
    """Draft 4 knows no const: what is not const there is nothing, and what is const is enforced."""
    for schema in ({"not": {"const": 1}}, {"oneOf": [{"const": 1}, {"const": 2}]}):
        assert not generates({"$schema": SYNTAX_OF_DRAFT_4, **schema}, "2")
    assert not generates({"$schema": SYNTAX_OF_DRAFT_4, "const": 1}, "2")


def test_combinations_without_end_are_refused() -> None:
    """Choices that multiply are LimitExceeded, with a pointer."""
    schema = {"allOf": [{"anyOf": [{"minLength": n}, {"maxLength": 50 + n}]} for n in range(40)]}
    with pytest.raises(LimitExceeded) as refusal:
        parse(json.dumps(schema))
    assert refusal.value.pointer is not None
