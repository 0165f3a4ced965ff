"""Refusals of the JSON Schema dialect, with the pointer to the reason, and how fast they come."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.errors import GrammarError, GrammarSyntaxError, LimitExceeded, UnsupportedFeature
from grammar_cache.limits import Limits
from tests.expression_matcher import matches
from tests.grammar_cache.dialects.json_schema.oracle import (
    SYNTAX_OF_DRAFT_4,
    SYNTAX_OF_DRAFT_7,
    SYNTAX_OF_DRAFT_2020_12,
    generates_value,
)
from tests.timing import within

UNSUPPORTED: dict[str, Any] = {
    "divisibleBy": 2,
    "disallow": "string",
    "extends": {"type": "string"},
    "$ref": "https://example.org/other.json",
}

WITHOUT_EFFECT: dict[str, Any] = {
    "uniqueItems": False,
    "minProperties": 0,
    "patternProperties": {},
    "unevaluatedProperties": True,
    "propertyNames": True,
    "not": False,
    "then": {"const": 1},
}

MALFORMED: list[tuple[Any, str]] = [
    ({"type": "stsring"}, "/type"),
    ({"type": []}, "/type"),
    ({"type": {"a": 1}}, "/type"),
    ({"required": "a"}, "/required"),
    ({"required": ["a", 1]}, "/required/1"),
    ({"required": True}, "/required"),
    ({"minLength": -1}, "/minLength"),
    ({"minLength": 1.5}, "/minLength"),
    ({"maxLength": True}, "/maxLength"),
    ({"pattern": "("}, "/pattern"),
    ({"pattern": 1}, "/pattern"),
    ({"properties": {"a": {"pattern": "[b-a]"}}}, "/properties/a/pattern"),
    ({"properties": []}, "/properties"),
    ({"properties": {"a/b": 3}}, "/properties/a~1b"),
    ({"items": "x"}, "/items"),
    ({"$schema": SYNTAX_OF_DRAFT_2020_12, "items": [{}]}, "/items"),
    ({"prefixItems": {}}, "/prefixItems"),
    ({"anyOf": []}, "/anyOf"),
    ({"anyOf": [{}, 1]}, "/anyOf/1"),
    ({"enum": 3}, "/enum"),
    ({"minimum": "1"}, "/minimum"),
    ({"$schema": SYNTAX_OF_DRAFT_7, "exclusiveMinimum": True}, "/exclusiveMinimum"),
    ({"$schema": SYNTAX_OF_DRAFT_4, "minimum": 1, "exclusiveMinimum": 3}, "/exclusiveMinimum"),
    ({"$ref": 3}, "/$ref"),
    ({"$ref": "#/$defs/none"}, "/$ref"),
    ({"$ref": "#nowhere"}, "/$ref"),
    ({"$ref": "#/properties", "properties": {"type": 3}}, "/properties/type"),
    ({"$schema": 3}, "/$schema"),
    ([], ""),
    ("string", ""),
]


@pytest.mark.parametrize("keyword", UNSUPPORTED)
def test_what_is_not_enforced_is_refused_at_its_pointer(keyword: str) -> None:
    """A keyword that can't be enforced is refused where it is reached, or dropped and reported if lenient."""
    text = json.dumps({"type": "object", "properties": {"a": {keyword: UNSUPPORTED[keyword]}}})
    with pytest.raises(UnsupportedFeature) as refusal:
        parse(text)
    assert refusal.value.pointer == f"/properties/a/{keyword}"
    assert parse(text, lenient=True).ignored == (f"/properties/a/{keyword}: not enforced",)


@pytest.mark.parametrize("keyword", WITHOUT_EFFECT)
def test_values_that_ask_for_nothing_are_accepted(keyword: str) -> None:
    """A keyword that can't be enforced is welcome where there is nothing to enforce."""
    schema = {keyword: WITHOUT_EFFECT[keyword]}
    assert generates_value(schema, {"a": [1, 1]})
    assert parse(json.dumps(schema)).ignored == ()


@pytest.mark.parametrize(("schema", "pointer"), MALFORMED, ids=str)
def test_a_malformed_schema_is_refused_at_its_pointer(schema: Any, pointer: str) -> None:
    """A schema that the standard doesn't allow is a syntax error, also if lenient."""
    for lenient in (False, True):
        with pytest.raises(GrammarSyntaxError) as refusal:
            parse(json.dumps(schema), lenient=lenient)
        assert refusal.value.pointer == pointer


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("{", 1, 2),
        ('{\n  "a": }', 2, 8),
        ("{} {}", 1, 4),
        ('{"a": "\ud800"}', 1, 8),
        ("{'a': 1}", 1, 2),
    ],
)
def test_text_that_is_not_json_is_refused_at_its_place(text: str, line: int, column: int) -> None:
    """A syntax error of JSON carries line and column."""
    with pytest.raises(GrammarSyntaxError) as refusal:
        parse(text)
    assert (refusal.value.line, refusal.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ('{"enum": ["NaN", NaN]}', 18),
        ('{"const": "\\ud800"}', 12),
        ('{"const": "\\\\ud800 \\ud83d\\ude00 \\ude00"}', 33),
        ('{"const": 1e99999999999999999999}', 11),
        ('{"const": ' + "1" * 5_000 + "}", 11),
    ],
)
def test_values_that_no_json_text_can_hold_are_refused(text: str, column: int) -> None:
    """NaN, lone surrogates and numbers beyond reading are syntax errors, at their places."""
    with pytest.raises(GrammarSyntaxError) as refusal:
        parse(text)
    assert (refusal.value.line, refusal.value.column) == (1, column)


TOO_MUCH: list[tuple[Any, str]] = [
    ({"allOf": [{"multipleOf": 1999}, {"multipleOf": 1997}]}, "/properties/a/allOf/0"),
    ({"contains": {"minimum": 3}, "minContains": 3_000, "maxContains": 4_000}, "/properties/a"),
    ({"contains": {"minimum": 3}, "allOf": [{"contains": {"const": n}} for n in range(5)]}, "/properties/a"),
]


@pytest.mark.parametrize(("schema", "pointer"), TOO_MUCH, ids=str)
def test_a_limit_names_the_schema_that_asks_for_too_much(schema: Any, pointer: str) -> None:
    """Whatever counts the states, the refusal says where the schema is; a limit holds also if lenient."""
    for lenient in (False, True):
        with pytest.raises(LimitExceeded) as refusal:
            parse(json.dumps({"properties": {"a": schema}}), lenient=lenient)
        assert refusal.value.pointer == pointer


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"pattern": r"(a)\1"}, "/pattern"),
        ({"multipleOf": 12_347}, "/multipleOf"),
        ({"minimum": 1e70}, "/minimum"),
        ({"$schema": SYNTAX_OF_DRAFT_4, "multipleOf": 12_347, "const": 3}, "/multipleOf"),
        ({"minProperties": 50}, ""),
    ],
    ids=str,
)
def test_what_is_too_large_to_be_enforced_is_dropped_if_lenient(schema: Any, pointer: str) -> None:
    """The rest of a schema is enforced without a keyword that is too large."""
    with pytest.raises(UnsupportedFeature) as refusal:
        parse(json.dumps(schema))
    assert refusal.value.pointer == pointer
    assert f"{pointer}: not enforced" in parse(json.dumps(schema), lenient=True).ignored


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"anyOf": [{"type": "string"}, {"$ref": "#"}]},
        {"allOf": [{"$ref": "#"}], "enum": [1, 2]},
    ],
    ids=str,
)
def test_a_reference_that_only_leads_back_is_refused(schema: Any) -> None:
    """A loop of references that consumes nothing is a syntax error, not an endless loop."""
    with pytest.raises(GrammarSyntaxError, match="leads back"):
        parse(json.dumps(schema))


def _deep(levels: int) -> str:
    return '{"items":' * levels + "{}" + "}" * levels


def _doubling(levels: int) -> str:
    """Each definition asks twice for the next: the alternatives double with each level."""
    definitions: dict[str, Any] = {
        f"d{level}": {
            "allOf": [
                {"anyOf": [{"minLength": level}, {"maxLength": 99 + level}]},
                {"$ref": f"#/$defs/d{level + 1}"},
            ]
        }
        for level in range(levels)
    }
    return json.dumps({"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {}}})


def _chains(count: int) -> str:
    """Many members that each lead along a long chain of references."""
    definitions = {f"d{link}": {"$ref": f"#/$defs/d{link + 1}"} for link in range(count)}
    members = {f"p{link}": {"$ref": f"#/$defs/d{link % 7}"} for link in range(count)}
    return json.dumps({"properties": members, "$defs": {**definitions, f"d{count}": {}}})


def _deep_choices(levels: int) -> str:
    """A value against a schema with two ways to read each of its levels."""
    node = {
        "anyOf": [
            {"properties": {"c": {"$ref": "#/$defs/n"}}},
            {"required": ["c"], "properties": {"c": {"$ref": "#/$defs/n"}}},
        ]
    }
    value: Any = 1
    for _ in range(levels):
        value = {"c": value}
    return json.dumps({"$defs": {"n": node}, "allOf": [{"$ref": "#/$defs/n"}], "enum": [value]})


ATTACKS: dict[str, str] = {
    "30,000 opening brackets": "[" * 30_000,
    "30,000 opening braces": '{"items":' * 30_000,
    "30,000 closed levels": _deep(30_000),
    "30,000 parentheses in a pattern": json.dumps({"pattern": "(" * 30_000}),
    "nested repetition": json.dumps({"pattern": "((a*)*)*b"}),
    "decreasing repetition": json.dumps({"pattern": "a{2,1}"}),
    "a pattern that backtracks": json.dumps({"pattern": "^(a+)+$", "enum": ["a" * 60 + "!"]}),
    "a number of a million digits": '{"const": ' + "1" * 900_000 + "}",
    "a fraction of a million digits": '{"minimum": 0.' + "1" * 900_000 + "}",
    "bounds out of this world": '{"type": "number", "minimum": 1e-999999, "maximum": 1e999999}',
    "a huge minimum": '{"type": "number", "minimum": 1e999999}',
    "a billion characters": '{"type": "string", "maxLength": 1000000000}',
    "a billion items": '{"type": "array", "minItems": 1000000000}',
    "doubling alternatives": _doubling(60),
    "chains of references": _chains(5_000),
    "two readings of each level": _deep_choices(120),
    "members times alternatives": json.dumps(
        {
            "properties": {f"p{n}": {} for n in range(5_000)},
            "anyOf": [{"required": [f"p{n}"]} for n in range(2_000)],
        }
    ),
    "literals times alternatives": json.dumps(
        {"enum": list(range(5_000)), "anyOf": [{"minimum": n} for n in range(2_000)]}
    ),
    "literals in literals": json.dumps({"enum": [list(range(5_000))] * 20, "items": {"enum": list(range(5_000))}}),
    "patterns times alternatives": json.dumps(
        {
            "allOf": [{"pattern": f"a{n}b"} for n in range(500)],
            "anyOf": [{"minLength": n} for n in range(2_000)],
        }
    ),
    "a chain of references in a ring": json.dumps(
        {"$ref": "#/$defs/0", "$defs": {str(n): {"$ref": f"#/$defs/{(n + 1) % 5000}"} for n in range(5000)}}
    ),
    "5,000 members": json.dumps({"properties": {f"p{n}": {} for n in range(5_000)}}),
    "20,000 literals": json.dumps({"enum": [f"value {n}" for n in range(20_000)]}),
    "5,000 places": json.dumps({"prefixItems": [{}] * 5_000}),
    "more than a megabyte": '{"title": "' + "x" * (1 << 20) + '"}',
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_end_soon_in_a_grammar_or_a_typed_refusal(attack: str) -> None:
    """Hostile schemas cost a few seconds at most and raise nothing but a GrammarError."""
    with within(5), suppress(GrammarError):
        parse(ATTACKS[attack])


@pytest.mark.parametrize(
    ("attack", "limit"),
    [
        ("30,000 opening brackets", "nesting"),
        ("30,000 closed levels", "nesting"),
        ("30,000 parentheses in a pattern", "nesting"),
        ("doubling alternatives", "rules"),
        ("more than a megabyte", "text_bytes"),
    ],
)
def test_a_limit_that_was_hit_is_named(attack: str, limit: str) -> None:
    """LimitExceeded names the field of Limits."""
    with pytest.raises(LimitExceeded) as refusal:
        parse(ATTACKS[attack])
    assert refusal.value.limit == limit


@pytest.mark.parametrize("count", ["1e30", "1e400", "1" + "0" * 400])
@pytest.mark.parametrize("keyword", ["maxItems", "maxLength", "maxProperties", "minItems", "minLength"])
def test_counts_that_no_text_comes_near_are_one(keyword: str, count: str) -> None:
    """A text of another type, one that is short, and the keyword denied; recursion by digits ended in an error."""
    grammar = parse(f'{{"{keyword}": {count}}}')
    small = {"maxItems": b"[]", "minItems": b"[]", "maxProperties": b"{}"}.get(keyword, b'""')
    assert matches(grammar, b"null")
    assert matches(grammar, small) is keyword.startswith("max")
    if keyword != "maxProperties":  # so many different names can't be told apart
        denied = parse(f'{{"not": {{"{keyword}": {count}}}}}')
        assert matches(denied, small) is keyword.startswith("min")


def test_nesting_up_to_the_limit_is_accepted() -> None:
    """The deepest schema that is allowed compiles, its values included."""
    most = Limits().nesting
    assert parse(_deep(most - 1)).rules
    assert parse(json.dumps({"const": json.loads("[" * (most - 1) + "]" * (most - 1))})).rules
    with pytest.raises(LimitExceeded):
        parse(_deep(most))


def test_the_number_of_rules_is_limited() -> None:
    """A schema that makes more rules than allowed is refused by name of the limit."""
    schema: Any = {"prefixItems": [{"properties": {f"p{n}": {}}} for n in range(20)]}
    with pytest.raises(LimitExceeded) as refusal:
        parse(json.dumps(schema), limits=Limits(rules=10))
    assert refusal.value.limit == "rules"
