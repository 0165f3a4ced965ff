"""Alternatives that list values, against the validator, and what two long lists of them cost."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.dialects.json_schema.schema.draft import Draft
from grammar_cache.dialects.json_schema.schema.listed_alternatives import listed_alternatives
from grammar_cache.errors import GrammarSyntaxError
from grammar_cache.limits import Limits
from tests.expression_matcher import matches

VALUES: list[Any] = [1, 2, 1.5, "x", "y", None, True, False, [], [1], {}, {"k": 1}]
some = st.sampled_from(VALUES)
values = st.one_of(
    some.map(lambda value: {"const": value}), st.lists(some, max_size=4).map(lambda many: {"enum": many})
)
TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]
typed = st.tuples(values, st.sampled_from(TYPES)).map(lambda pair: pair[0] | {"type": pair[1], "title": "A title"})
both = st.tuples(some, st.lists(some, max_size=4)).map(lambda pair: {"const": pair[0], "enum": pair[1]})
more = values.map(lambda schema: schema | {"minLength": 1})


def unions(*listings: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    alternatives = st.lists(st.one_of(*listings), min_size=1, max_size=4)
    return st.fixed_dictionaries({}, optional={"anyOf": alternatives, "oneOf": alternatives, "enum": st.lists(some)})


def nested(union: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        union.map(lambda schema: {"not": schema}),
        st.tuples(union, union).map(lambda schemas: {"oneOf": list(schemas)}),
        union.map(lambda schema: {"if": schema, "then": {"type": "string"}}),
    )


def together(union: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        union,
        st.tuples(union, union).map(lambda schemas: {"allOf": list(schemas)}),
        union.map(lambda schema: {"type": "object", "properties": {"k": schema}, "required": ["k"]}),
    )


def verdicts(schema: Any) -> list[tuple[Any, bool, bool]]:
    """Values, whether each is generated, and whether it is valid."""
    rules, validator = parse(json.dumps(schema)), jsonschema.Draft202012Validator(schema)
    asked = [*VALUES, *({"k": value} for value in VALUES)]
    return [(value, matches(rules, json.dumps(value).encode()), validator.is_valid(value)) for value in asked]


@given(together(unions(values, typed, both)))
def test_lists_hold_what_the_validator_says(schema: Any) -> None:
    """Lists alone, several together, and those of a member."""
    for value, generated, valid in verdicts(schema):
        assert generated == valid, value


@given(st.one_of(nested(unions(values, typed, both, more)), together(unions(values, typed, both, more))))
def test_what_lists_hold_is_valid(schema: Any) -> None:
    """However they stand inside each other, where some may say more; less may be generated where one must not hold."""
    for value, generated, valid in verdicts(schema):
        assert valid or not generated, value


def test_one_list_is_made_of_alternatives_that_say_no_more() -> None:
    """Values of several alternatives of `oneOf` drop out; and no list is made where an alternative asks for something
    else, or a draft ignores what it says."""

    def listed(schema: Any, draft: Draft = Draft.DRAFT_2020_12) -> dict[str, tuple[Any, ...]]:
        return listed_alternatives(schema, draft)

    assert listed({"oneOf": [{"const": "a", "title": "A"}, {"enum": ["b", "c"]}, {"const": "c"}]}) == {
        "oneOf": ("a", "b")
    }
    assert listed({"anyOf": [{"const": "a", "type": "string"}, {"enum": ["a", 1], "type": "integer"}]}) == {
        "anyOf": ("a", 1)
    }
    assert listed({"anyOf": [{"enum": [1, 2], "const": 2}, {"const": 2}]}) == {"anyOf": (2,)}
    for other in (
        {"minLength": 1, "const": "a"},
        {"type": "string"},
        {"$ref": "#"},
        {"enum": "a"},
        True,
        {"const": 1, "type": []},
    ):
        assert listed({"anyOf": [{"const": "a"}, other]}) == {}
    assert listed({"anyOf": [{"const": "a"}]}, Draft.DRAFT_4) == {}
    assert listed({"anyOf": [{"enum": ["a"]}]}, Draft.DRAFT_4) == {"anyOf": ("a",)}


def test_two_long_lists_hold_together() -> None:
    """Steps are fewer than their product."""
    first, second = ({"oneOf": [{"const": f"v{n}", "title": f"V {n}"} for n in range(0, 900, k)]} for k in (2, 3))
    rules = parse(json.dumps({"allOf": [first, second]}), limits=Limits(rules=2_000))
    assert [n for n in range(900) if matches(rules, f'"v{n}"'.encode())] == list(range(0, 900, 6))


@pytest.mark.parametrize(
    "wrong", [{"oneOf": []}, {"anyOf": {}}, {"oneOf": [{"const": 1}, 1]}, {"anyOf": [{"enum": 1}]}]
)
def test_malformed_lists_are_refused(wrong: Any) -> None:
    with pytest.raises(GrammarSyntaxError):
        parse(json.dumps(wrong))
