"""Counts of an object's members, their keys, and what is asked of some of them, by the reference validator."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.errors import EmptyLanguage, GrammarError, LimitExceeded, UnsupportedFeature
from server.checking.membership import Recogniser
from tests.grammar_cache.dialects.json_schema.oracle import generates_value

KEYS = ["a", "b", "ab", "ba", "c", ""]
PATTERNS = ["^a", "b", "^.$", "a$", "^ab?$", ".*", "^b."]
VALUES = ["1", "2", '"a"', "null", "[1]", '{"a":1}']


def judge_of(schema: Any) -> Callable[[str], bool]:
    """Judge of a text without white space: whether it is generated for the schema."""
    try:
        recogniser = Recogniser(parse(json.dumps(schema), whitespace="compact"))
    except EmptyLanguage:
        return lambda _: False
    return lambda text: recogniser.judge(text.encode()).accepted


def accepts(schema: Any, text: str) -> bool:
    return judge_of(schema)(text)


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"patternProperties": {"^a": {"type": "integer"}}}, '{"a1":2}', True),
        ({"patternProperties": {"^a": {"type": "integer"}}}, '{"a1":"x"}', False),
        ({"patternProperties": {"^a": {"type": "integer"}}}, '{"b":"x"}', True),
        ({"patternProperties": {"^a": {"type": "integer"}, "b": {"minimum": 5}}}, '{"ab":4}', False),
        ({"patternProperties": {"^a": {"type": "integer"}, "b": {"minimum": 5}}}, '{"ab":5}', True),
        ({"properties": {"ab": {}}, "patternProperties": {"b": {"type": "null"}}}, '{"ab":1}', False),
        ({"properties": {"ab": {}}, "patternProperties": {"b": {"type": "null"}}}, '{"ab":null}', True),
        ({"required": ["ab"], "patternProperties": {"b": {"type": "null"}}}, '{"ab":1}', False),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, '{"x":1,"xy":2}', True),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, '{"y":1}', False),
        (
            {"allOf": [{"patternProperties": {"x": {}}, "additionalProperties": False}, {"properties": {"y": {}}}]},
            '{"y":1}',
            False,
        ),
        ({"patternProperties": {"é": {"type": "null"}}}, '{"né":1}', False),
        ({"patternProperties": {'"': {"type": "null"}}}, '{"\\"":1}', False),
        ({"propertyNames": {"pattern": "^.$"}, "properties": {"ab": {}}}, '{"ab":1}', False),
        ({"propertyNames": {"pattern": "^.$"}, "properties": {"a": {}}}, '{"a":1,"b":2}', True),
        ({"propertyNames": {"pattern": "^.$"}, "required": ["ab"]}, '{"ab":1}', False),
        ({"propertyNames": {"maxLength": 1}}, '{"bc":2}', False),
        ({"propertyNames": {"not": {"pattern": "b"}}}, '{"c":2}', True),
        ({"propertyNames": {"not": {"pattern": "b"}}}, '{"bc":2}', False),
        ({"propertyNames": {"enum": ["b", 3]}}, '{"b":2}', True),
        ({"propertyNames": False}, "{}", True),
        ({"propertyNames": False}, '{"a":1}', False),
        ({"minProperties": 1}, "{}", False),
        ({"minProperties": 1}, '{"a":1,"a":1}', True),
        ({"minProperties": 2}, '{"a":1,"a":1}', False),
        ({"minProperties": 2}, '{"a":1,"b":1}', True),
        ({"minProperties": 3}, '{"a":1,"b":1,"a":2}', False),
        ({"minProperties": 3}, '{"a":1,"b":1,"c":2}', True),
        ({"minProperties": 2, "required": ["a", "b"]}, '{"a":1,"b":1}', True),
        ({"maxProperties": 0}, "{}", True),
        ({"maxProperties": 0}, '{"a":1}', False),
        ({"maxProperties": 1, "required": ["a", "b"]}, '{"a":1,"b":1}', False),
        ({"maxProperties": 2, "properties": {"a": {}, "b": {}}}, '{"a":1,"b":1}', True),
        ({"maxProperties": 2, "properties": {"a": {}, "b": {}}}, '{"a":1,"b":1,"c":2}', False),
        ({"maxProperties": 2, "properties": {"a": {}, "b": {}}}, '{"b":1,"c":2}', True),
        ({"minProperties": 2, "maxProperties": 2, "properties": {"a": {}, "b": {}, "c": {}}}, '{"a":1,"c":1}', True),
        ({"minProperties": 2, "maxProperties": 2, "properties": {"a": {}, "b": {}, "c": {}}}, '{"c":1}', False),
    ],
)
def test_members_are_counted_and_keys_told_apart(schema: Any, text: str, expected: bool) -> None:
    """Patterns, names and counts hold together with properties, required and additionalProperties."""
    schema = {"type": "object", **schema}
    assert accepts(schema, text) is expected
    assert not expected or Draft202012Validator(schema).is_valid(json.loads(text))


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        ({"not": {"additionalProperties": {"type": "integer"}}}, '{"a":1,"b":"x"}', True),
        ({"not": {"additionalProperties": {"type": "integer"}}}, '{"a":"x","a":1}', False),
        ({"not": {"patternProperties": {"^a": {"type": "integer"}}}}, '{"b":1,"a":"x"}', True),
        ({"not": {"patternProperties": {"^a": {"type": "integer"}}}}, '{"a":"x","b":1}', True),
        ({"not": {"patternProperties": {"^a": {"type": "integer"}}}}, '{"a":"x","a":1}', False),
        ({"not": {"propertyNames": {"pattern": "^a"}}}, '{"a":1,"b":1}', True),
        ({"not": {"propertyNames": {"pattern": "^a"}}}, '{"a":1}', False),
        ({"properties": {"p": {}}, "not": {"patternProperties": {".": {"type": "null"}}}}, '{"p":1}', True),
        ({"properties": {"p": {}}, "not": {"patternProperties": {".": {"type": "null"}}}}, '{"p":null}', False),
    ],
)
def test_some_member_may_be_asked_for(schema: Any, text: str, expected: bool) -> None:
    """A condition that some member is to break is met by one that no later member of the same key replaces."""
    schema = {"type": "object", **schema}
    assert accepts(schema, text) is expected
    assert not expected or Draft202012Validator(schema).is_valid(json.loads(text))


SCALARS = st.sampled_from([{}, True, False, {"type": "integer"}, {"type": "string"}, {"const": 1}, {"minimum": 2}])
NAMES = st.sampled_from(
    [
        {"pattern": "^a"},
        {"pattern": "b"},
        {"minLength": 2},
        {"maxLength": 1},
        {"enum": ["a", "b"]},
        {"not": {"const": "a"}},
    ]
)
PLAIN = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(st.sampled_from(KEYS), SCALARS, max_size=3),
        "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), SCALARS, max_size=3),
        "additionalProperties": SCALARS,
        "required": st.lists(st.sampled_from(KEYS), max_size=2, unique=True),
        "propertyNames": NAMES,
        "minProperties": st.integers(0, 3),
        "maxProperties": st.integers(0, 4),
    },
)
SCHEMAS = st.one_of(
    PLAIN,
    st.tuples(PLAIN, PLAIN).map(lambda two: two[0] | {"allOf": [two[1]]}),
    st.tuples(PLAIN, PLAIN).map(lambda two: two[0] | {"not": two[1]}),
).map(lambda schema: {"type": "object", **schema})
MEMBERS = st.lists(st.tuples(st.sampled_from([*KEYS, "abc", "d"]), st.sampled_from(VALUES)), max_size=4)


def written(members: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in members) + "}"


@settings(max_examples=50)
@given(SCHEMAS, st.lists(MEMBERS, min_size=1, max_size=12))
def test_nothing_invalid_is_generated(schema: Any, candidates: list[list[tuple[str, str]]]) -> None:
    """No text is accepted that the validator refuses, even if its members repeat one another's keys."""
    try:
        judge = judge_of(schema)
    except GrammarError:
        return
    validator = Draft202012Validator(schema)
    for members in candidates:
        text = written(members)
        assert not judge(text) or validator.is_valid(json.loads(text)), (schema, text)


@settings(max_examples=50)
@given(PLAIN, st.lists(MEMBERS, min_size=1, max_size=12))
def test_what_is_valid_and_in_order_is_generated(plain: Any, candidates: list[list[tuple[str, str]]]) -> None:
    """Members with keys of their own, declared ones first, are accepted unless many names must be told apart."""
    schema = {"type": "object", **plain}
    validator = Draft202012Validator(schema)
    order = [*plain.get("properties", {}), *plain.get("required", [])]
    if plain.get("minProperties", 0) > max(1, len(plain.get("required", []))):
        return
    judge = judge_of(schema)
    for members in candidates:
        given_names = dict(members)
        names = sorted(given_names, key=lambda name: order.index(name) if name in order else len(order))
        text = written([(name, given_names[name]) for name in names])
        assert judge(text) is validator.is_valid(json.loads(text)), (schema, text)


@pytest.mark.parametrize(
    "counts", [{"maxProperties": 5}, {"minProperties": 5}, {"minProperties": 2, "maxProperties": 4}]
)
def test_counts_over_many_members_stay_small(counts: Any) -> None:
    """Two hundred optional members and a count take rules in proportion to both, and no subsets."""
    properties = {f"p{index}": {"type": "null"} for index in range(200)}
    schema = {"type": "object", "properties": properties, "additionalProperties": False, **counts}
    assert len(parse(json.dumps(schema)).rules) < 1_500
    judge = judge_of(schema)
    for count in range(8):
        text = written([(f"p{20 * index}", "null") for index in range(count)])
        assert judge(text) is Draft202012Validator(schema).is_valid(json.loads(text))


def test_what_grows_too_large_is_refused() -> None:
    """Patterns that may match together, or names to be told apart, are refused by pointer where they are too many."""
    patterns = {"type": "object", "patternProperties": {f"{letter}": {} for letter in "abcdefgh"}}
    with pytest.raises(LimitExceeded) as limit:
        parse(json.dumps({"properties": {"x": patterns}}))
    assert limit.value.pointer == "/properties/x"
    with pytest.raises(UnsupportedFeature) as unsupported:
        parse(json.dumps({"type": "object", "minProperties": 50}))
    assert unsupported.value.pointer == ""


def test_patterns_that_exclude_each_other_may_be_many() -> None:
    """Patterns with different beginnings make one cell each, not one for each set of them."""
    patterns = {f"^{letter}:": {"const": letter} for letter in "abcdefghijklmnopqrstuvwxyz"}
    schema = {"type": "object", "patternProperties": patterns, "additionalProperties": False}
    assert accepts(schema, '{"c:1":"c","z:":"z"}')
    assert not accepts(schema, '{"c:1":"d"}')


@pytest.mark.parametrize("choice", ["anyOf", "oneOf", "if", "dependentSchemas"])
@pytest.mark.parametrize("first", [True, False])
def test_members_come_as_they_are_written(choice: str, first: bool) -> None:
    """Members that a choice lists come where it is written; what is listed anyway keeps its place."""
    listing = {"properties": {"a": {}, "c": {}}, "required": ["c"]}
    stated = {"anyOf": [listing], "oneOf": [listing, False], "if": True, "dependentSchemas": {"a": listing}}[choice]
    chosen = {choice: stated, **({"then": listing} if choice == "if" else {})}
    others = {"allOf": [{"properties": {"b": {}}}], "properties": {"d": {}, "a": {}}}
    schema = {**chosen, **others} if first else {**others, **chosen}
    judge = judge_of({**schema, "additionalProperties": {"type": "null"}})
    assert judge('{"c":null,"b":null,"d":1,"a":1}') is first
    assert judge('{"b":null,"d":1,"a":1,"c":null}') is not first
    assert not judge('{"b":null,"d":1,"c":null,"a":1}')
    assert not judge('{"a":1,"c":null,"b":null,"d":1}')


def test_required_names_come_behind() -> None:
    """Names that no schema lists come behind those that one does, first those that every branch requires."""
    schema = {"anyOf": [{"required": ["b"]}], "required": ["a"], "properties": {"c": {}}}
    judge = judge_of({**schema, "minProperties": 3, "maxProperties": 3})
    assert judge('{"c":1,"a":1,"b":1}')
    assert not judge('{"c":1,"b":1,"a":1}')


@pytest.mark.parametrize(
    ("names", "generated"),
    [("ab", True), ("ca", True), ("aé", True), ("a1", False), ("qa", False), ("pé", False), ("éü", False)],
)
def test_two_further_names_are_told_apart_by_their_last_characters(names: str, generated: bool) -> None:
    """Codes that are equal modulo 16 are alike, and so are `p` and all characters beyond ASCII, as the docs say."""
    assert generates_value({"type": "object", "minProperties": 2}, dict.fromkeys(names, 1)) is generated
