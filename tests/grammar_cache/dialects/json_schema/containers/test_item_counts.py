"""Items of an array that are of a kind, and that none repeats, by the reference validator."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.errors import EmptyLanguage, GrammarError, LimitExceeded, UnsupportedFeature
from server.checking.membership import Recogniser
from tests.grammar_cache.dialects.json_schema.oracle import SYNTAX_OF_DRAFT_7

VALUES = ["1", "2", '"a"', "null", "true", "[1]"]


def accepts(schema: Any, text: str) -> bool:
    """Whether the text, without white space, is generated for the schema."""
    try:
        return Recogniser(parse(json.dumps(schema), whitespace="compact")).judge(text.encode()).accepted
    except EmptyLanguage:
        return False


SCALARS = st.sampled_from([{}, True, False, {"type": "integer"}, {"type": "string"}, {"const": 1}, {"enum": [1, None]}])
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("array")},
    optional={
        "prefixItems": st.lists(SCALARS, min_size=1, max_size=2),
        "items": SCALARS,
        "minItems": st.integers(0, 3),
        "maxItems": st.integers(0, 4),
        "contains": SCALARS,
        "minContains": st.integers(0, 2),
        "maxContains": st.integers(0, 2),
        "allOf": st.lists(st.fixed_dictionaries({"contains": SCALARS}), min_size=1, max_size=2),
        "not": st.fixed_dictionaries({"contains": SCALARS}, optional={"maxContains": st.integers(0, 2)}),
    },
)


@settings(max_examples=80)
@given(SCHEMAS, st.lists(st.lists(st.sampled_from(VALUES), max_size=4), min_size=1, max_size=12))
def test_contains_is_exact(schema: Any, candidates: list[list[str]]) -> None:
    """Arrays that are generated are those that the validator accepts, whatever else is asked of the items."""
    validator = Draft202012Validator(schema)
    try:
        judge = Recogniser(parse(json.dumps(schema), whitespace="compact")).judge
    except EmptyLanguage:
        judge = None
    for items in candidates:
        text = f"[{','.join(items)}]"
        found = judge is not None and judge(text.encode()).accepted
        assert found is validator.is_valid(json.loads(text)), (schema, text)


UNIQUE = st.fixed_dictionaries(
    {"type": st.just("array"), "uniqueItems": st.just(True)},
    optional={
        "items": st.lists(st.sampled_from([1, "a", None, True, [1], 2]), min_size=1, unique_by=repr).map(
            lambda values: {"enum": values}
        ),
        "prefixItems": st.just([{"enum": [1, 2]}]),
        "minItems": st.integers(0, 3),
        "maxItems": st.integers(0, 4),
    },
)


@settings(max_examples=50)
@given(UNIQUE, st.lists(st.lists(st.sampled_from(VALUES), max_size=4), min_size=1, max_size=12))
def test_few_values_come_once_in_any_order(schema: Any, candidates: list[list[str]]) -> None:
    """Items out of a handful of values are generated exactly where the validator accepts them; others are refused."""
    validator = Draft202012Validator(schema)
    try:
        judge = Recogniser(parse(json.dumps(schema), whitespace="compact")).judge
    except EmptyLanguage:
        judge = None
    except UnsupportedFeature:
        assert "items" not in schema
        return
    for items in candidates:
        text = f"[{','.join(items)}]"
        found = judge is not None and judge(text.encode()).accepted
        assert found is validator.is_valid(json.loads(text)), (schema, text)


def test_one_and_one_point_nought_are_the_same_item() -> None:
    """Equal numbers count as one value, however the schema writes them; true is not 1."""
    schema = {"type": "array", "uniqueItems": True, "items": {"enum": [1, 1.0, True]}}
    assert accepts(schema, "[1,true]")
    assert not accepts(schema, "[1,1.0]")
    assert not accepts(schema, "[1,1]")


def test_many_values_come_in_the_order_of_the_schema() -> None:
    """A part is generated where values have more subsets than can be kept: those in order, each at most once."""
    schema = {"type": "array", "uniqueItems": True, "items": {"enum": list(range(40))}, "minItems": 2, "maxItems": 3}
    assert accepts(schema, "[0,39]")
    assert accepts(schema, "[3,7,30]")
    assert not accepts(schema, "[3]")
    assert not accepts(schema, "[3,3]")
    assert not accepts(schema, "[1,2,3,4]")


@pytest.mark.parametrize("schema", [{"maxItems": 1}, {"items": False}, {"prefixItems": [{}], "items": False}])
def test_unique_items_ask_for_nothing_of_one_item(schema: Any) -> None:
    """Schemas that allow no second item are never refused."""
    assert accepts({"type": "array", "uniqueItems": True, **schema}, "[]")


PLACES = st.lists(
    st.sampled_from(
        [
            {"type": "integer"},
            {"type": "number"},
            {"type": "string"},
            {"type": "array"},
            {"enum": ["a", 1]},
            {"const": 2},
        ]
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60)
@given(PLACES, st.lists(st.lists(st.sampled_from([*VALUES, "1.0", "2.5"]), max_size=4), min_size=1, max_size=12))
def test_items_that_are_apart_by_their_places_are_free(places: Any, candidates: list[list[str]]) -> None:
    """Types that have nothing in common, and values that differ, need no counting; all others are still refused."""
    schema = {"type": "array", "uniqueItems": True, "prefixItems": places, "items": False}
    try:
        judge = Recogniser(parse(json.dumps(schema), whitespace="compact")).judge
    except UnsupportedFeature:
        kinds = [place.get("type", "listed") for place in places]
        assert len(set(kinds)) < len(kinds) or "listed" in kinds or {"integer", "number"} <= set(kinds)
        return
    for items in candidates:
        text = f"[{','.join(items)}]"
        accepted = judge(text.encode()).accepted
        valid = Draft202012Validator(schema).is_valid(json.loads(text))
        # 1.0 is a valid integer that is never generated
        assert accepted is valid or ("1.0" in items and not accepted), (schema, text)


@pytest.mark.parametrize("text", ['["a",1,true]', '["a"]', "[]"])
def test_a_tuple_of_three_types_may_be_unique(text: str) -> None:
    """A closed tuple of a string, a number and a boolean was refused, though its items can't be equal."""
    places = [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]
    assert accepts({"type": "array", "uniqueItems": True, "prefixItems": places, "items": False}, text)


def test_unique_items_are_dropped_where_that_is_allowed() -> None:
    """`lenient` reports the keyword instead of refusing it."""
    schema = json.dumps({"type": "array", "items": {"type": "object"}, "uniqueItems": True, "minItems": 65})
    with pytest.raises(UnsupportedFeature) as refusal:
        parse(schema)
    assert refusal.value.pointer == "/uniqueItems"
    assert parse(schema, lenient=True).ignored == ("/uniqueItems: not enforced",)


def test_an_older_draft_wants_one_item_in_any_case() -> None:
    """`minContains` of 0 says nothing to a draft that doesn't know it."""
    schema = {"type": "array", "contains": {"const": 1}, "minContains": 0}
    assert accepts(schema, "[]")
    assert not accepts({"$schema": SYNTAX_OF_DRAFT_7, **schema}, "[]")


def test_large_counts_stay_small() -> None:
    """Many items of which one is of a kind take rules in proportion."""
    schema = {"type": "array", "items": {"type": "integer"}, "contains": {"const": 1}, "minItems": 3, "maxItems": 150}
    assert len(parse(json.dumps(schema)).rules) < 500
    assert accepts(schema, "[2,2,1]")
    assert not accepts(schema, "[2,2,2]")
    with pytest.raises(LimitExceeded):
        parse(json.dumps({**schema, "maxItems": 100_000}))


@pytest.mark.parametrize("keyword", ["minContains", "maxContains", "contains"])
def test_counts_have_the_shape_of_the_standard(keyword: str) -> None:
    """A value that is neither a count nor a schema is refused: it is no schema."""
    with pytest.raises(GrammarError):
        parse(json.dumps({"contains": {}, keyword: "x"}))
