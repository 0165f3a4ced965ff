"""Membership of texts: they are those of the schema without the keyword whose items all differ."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.errors import UnsupportedFeature
from server.checking.membership import Recogniser
from tests.grammar_cache.unique_items.schemas import judge
from tests.strategies import examples

STRINGS = ["", "a", "ab", "abc", "b", "\n", '"', "\\", "\x1f", "é", " ", "a,b", "]"]
SCALARS = st.one_of(
    st.sampled_from(STRINGS), st.integers(-12, 12), st.booleans(), st.none(), st.sampled_from([0.5, 1.25, -0.5])
)
ITEMS: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "maxLength": 2},
    {"type": "string", "pattern": "a"},
    {"type": "integer"},
    {"type": "number", "minimum": -3},
    {"type": ["string", "integer", "boolean", "null"]},
    {"anyOf": [{"enum": ["a", "abc"]}, {"type": "string", "maxLength": 1}]},
    {"enum": ["", "a", "ab", "abc", "b", 1, 2, 3, None, True, False]},
]


def whole(schema: dict[str, Any], texts: list[str]) -> list[bool]:
    table = Recogniser(parse(json.dumps(schema)))
    return [table.judge(text.encode()).accepted for text in texts]


@given(
    st.sampled_from(ITEMS),
    st.sampled_from([{}, {"minItems": 1}, {"maxItems": 3}, {"minItems": 2}, {"minItems": 3, "maxItems": 4}]),
    st.lists(st.lists(SCALARS, max_size=5), min_size=1, max_size=12),
)
@examples(60)
def test_arrays_are_generated_where_the_validator_accepts_them(
    items: dict[str, Any], more: dict[str, int], candidates: list[list[Any]]
) -> None:
    """Arrays as Python writes them: accepted exactly where they are valid."""
    schema = {"type": "array", "items": items, "uniqueItems": True, **more}
    texts = [json.dumps(values, ensure_ascii=False) for values in candidates]
    assert whole(schema, texts) == [judge(schema, text.encode()) for text in texts]


def test_values_have_one_spelling() -> None:
    """A string or a number is generated in one spelling only, so that equal values are equal texts."""
    schema = {"type": "array", "items": {"type": ["string", "number"]}, "uniqueItems": True}
    texts = [r'["\u0061"]', '["\\/"]', '["\\u001F"]', '["\\u001f"]', "[1.0]", "[1e2]", "[-0]", "[0.50]", "[0.5]"]
    assert whole(schema, texts) == [False, False, False, True, False, False, False, False, True]


def test_nothing_repeats_behind_many_items() -> None:
    """The hundredth item is told from the first one, and from those that begin as it does."""
    schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    values = [f"x{number}" for number in range(100)]
    texts = [json.dumps(more) for more in (values, [*values, "x7"], [*values, "x100"], [*values, "x"], [*values, ""])]
    assert whole(schema, texts) == [True, False, True, True, True]


def test_each_array_has_items_of_its_own() -> None:
    """An item may be in two arrays, side by side, one in another, or one behind the other."""
    schema: dict[str, Any] = {
        "properties": {
            "a": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            "b": {"type": "array", "items": {"$ref": "#"}},
        },
        "type": "object",
        "additionalProperties": False,
    }
    texts = [
        '{"a": ["x", "y"], "b": [{"a": ["x", "y"]}, {"a": ["y", "x"]}]}',
        '{"a": ["x", "y"], "b": [{"a": ["x", "x"]}]}',
        '{"b": [{"a": ["x"]}, {"a": ["x", "y", "x"]}]}',
    ]
    assert whole(schema, texts) == [True, False, False]


def test_where_a_text_may_be_read_in_two_ways_the_other_one_goes_on() -> None:
    """Arrays that another alternative accepts may repeat items; of those whose items may not, one item is written."""
    other = {"type": "array", "items": {"type": "string", "maxLength": 1}}
    schema = {"anyOf": [{"type": "array", "items": {"type": "string"}, "uniqueItems": True}, other]}
    assert whole(schema, ['["a", "a"]', '["abc"]', '["abc", "abc"]']) == [True, True, False]


def test_alternatives_are_told_apart_by_their_first_item() -> None:
    """White space decides nothing, and equal alternatives are one."""
    of = [{"type": "array", "items": {"type": kind}, "uniqueItems": True} for kind in ("string", "integer", "string")]
    texts = ['["a", "b"]', '[ "a","b"]', "[\n1, 2]", "[1, 1]", '["a", 1]', "[]", "[ ]"]
    assert whole({"anyOf": of}, texts) == [True, True, True, False, False, True, True]


def test_alternatives_that_need_several_items_are_told_apart_later() -> None:
    """Spare items are written until it is plain which of several arrays has been begun."""
    several = {"uniqueItems": True, "type": "array"}
    of = [
        {**several, "items": {"type": "string"}, "minItems": 2},
        {**several, "items": {"type": "integer"}, "minItems": 3},
    ]
    texts = ['["", "a"]', '["", "x"]', '["x", ""]', '["", ""]', "[0, 5, 7]", "[0, 5, 5]", "[0, 5]", "[00, 1, 2]"]
    assert whole({"anyOf": of}, texts) == [True, True, True, False, True, False, False, False]


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"items": {"type": "string"}, "minItems": 65}, "/uniqueItems"),
        ({"items": {"type": "string"}, "minItems": 2, "contains": {"const": "a"}}, "/uniqueItems"),
        ({"items": {"type": "string"}, "contains": {"const": "a"}, "maxContains": 2}, "/uniqueItems"),
        ({"items": {"anyOf": [{"const": 1e30}, {"type": "string"}]}}, "/uniqueItems"),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "string"}}, "/uniqueItems"),
    ],
)
def test_other_items_are_refused(schema: dict[str, Any], pointer: str) -> None:
    """The refusal points to the keyword; `lenient` drops it."""
    text = json.dumps({"type": "array", "uniqueItems": True, **schema})
    with pytest.raises(UnsupportedFeature, match="uniqueItems can't be enforced in an array") as refusal:
        parse(text)
    assert refusal.value.pointer == pointer
    assert parse(text, lenient=True).ignored == ("/uniqueItems: not enforced",)


PAIRS: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 2}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({**PAIRS, "items": PAIRS}, "inside of another one or around it"),
        ({**PAIRS, "items": {**PAIRS, "minItems": 0}}, "inside of another one or around it"),
        ({**PAIRS, "minItems": 1, "items": {"properties": {"a": PAIRS}}}, "inside of another one or around it"),
        (
            {**PAIRS, "items": {"type": "string", "maxLength": 0}},
            "2 different items, of which a bounded search finds",
        ),
    ],
)
def test_items_that_cannot_be_required_are_refused(schema: dict[str, Any], why: str) -> None:
    """Arrays that need several items, in each other, or of fewer different texts than they need."""
    with pytest.raises(UnsupportedFeature, match=why) as refusal:
        whole(schema, [])
    assert refusal.value.pointer is not None
    assert refusal.value.pointer.endswith("/uniqueItems")


def test_each_of_the_required_items_may_be_any() -> None:
    """Spare items in any place and order, and others; fewer than the array needs are not enough."""
    schema = {**PAIRS, "minItems": 3}
    texts = ['["b", "a", ""]', '["x", "", "a", "b"]', '["a", "x", "a"]', '["x", "y", "z"]', '["", "a"]', "[]", '["a"]']
    assert whole(schema, texts) == [True, True, False, True, False, False, False]
