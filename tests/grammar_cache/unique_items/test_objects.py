"""Objects and arrays as items that may not repeat: each value has one text, white space apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.constraint import Whitespace
from grammar_cache.dialects.json_schema.compiler import parse
from server.checking.membership import Recogniser
from tests.grammar_cache.unique_items.schemas import judge
from tests.strategies import examples

POINT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "x": {"type": "integer"},
        "label": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    },
    "required": ["x"],
}
STRINGS = st.sampled_from(["", "a", "a b", "a,b", "]}", '"', "\\", "é"])
POINTS = st.fixed_dictionaries(
    {"x": st.integers(0, 2)}, optional={"label": STRINGS | st.none(), "tags": st.lists(STRINGS, max_size=3)}
).map(lambda point: {name: point[name] for name in POINT["properties"] if name in point})
MORE = st.lists(POINTS, max_size=4).flatmap(lambda points: st.permutations([*points, *points[:1]]) | st.just(points))


def arrays(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "uniqueItems": True, **more}


def accepts(schema: Any, whitespace: Whitespace = "bounded") -> Callable[[str], bool]:
    table = Recogniser(parse(json.dumps(schema), whitespace=whitespace))
    return lambda text: table.judge(text.encode()).accepted


@given(st.lists(MORE, min_size=1, max_size=8), st.randoms(use_true_random=False))
@examples(80)
def test_objects_are_accepted_where_the_validator_accepts_them(candidates: list[list[Any]], rng: Any) -> None:
    """Objects as Python writes them, and with other white space: what is equal is equal in any."""
    schema, accepted = arrays(POINT), accepts(arrays(POINT), "any")
    for values in candidates:
        layouts = [{}, {"separators": (",", ":")}, {"indent": rng.choice([0, 2, "\t"])}]
        parts = [json.dumps(value, ensure_ascii=False, **rng.choice(layouts)) for value in values]
        text = f"[{', '.join(parts)}]"
        assert accepted(text) == judge(schema, text.encode()), text


@given(st.lists(st.lists(st.lists(STRINGS, max_size=2), max_size=3), min_size=1, max_size=8))
@examples(60)
def test_arrays_in_arrays_differ_at_each_level(candidates: list[list[list[str]]]) -> None:
    """Items of items may not repeat either."""
    schema = arrays(arrays({"type": "string"}))
    accepted = accepts(schema)
    for values in candidates:
        text = json.dumps(values, ensure_ascii=False)
        assert accepted(text) == judge(schema, text.encode()), text


def test_members_have_one_order_whatever_the_alternative() -> None:
    """Two alternatives list the same members in other orders: a value is written in one of them, that of the first."""
    forward = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    back = {"type": "object", "properties": {"b": {"type": "integer"}, "c": {"type": "null"}, "a": {"type": "integer"}}}
    accepted = accepts(arrays({"anyOf": [forward, back]}))
    texts = ['[{"a": 1, "b": 2}]', '[{"b": 2, "a": 1}]', '[{"a": 1, "b": 2, "c": null}]', '[{"a": 1}, {"b": 1}]']
    assert [accepted(text) for text in texts] == [True, False, True, True]


def test_other_members_come_alone() -> None:
    """Members that no schema declares would have any order, so there is one at most."""
    accepted = accepts(arrays({"type": "object", "properties": {"a": {"type": "integer"}}}))
    texts = ['[{"z": 1}, {"z": 2}]', '[{"z": [1]}, {"z": [1]}]', '[{"y": 1, "z": 2}]', '[{"a": 1, "z": 2}]']
    assert [accepted(text) for text in texts] == [True, False, False, False]
    assert not accepts(arrays({"type": "object"}))(r'[{"z": 1}, {"\u007a": 1}]')


def test_any_value_may_be_an_item() -> None:
    """Values of each type, where the schema says nothing of them."""
    accepted = accepts({"type": "array", "uniqueItems": True})
    texts = ['[1, "1", [1], {"1": 1}, {}, [], null, [[1]]]', "[[1], [1]]", "[[1, 2], [2, 1]]", "[{}, { }]", "[1, 1.0]"]
    assert [accepted(text) for text in texts] == [True, False, True, False, False]


def test_listed_objects_are_equal_to_others() -> None:
    """A value that one alternative lists is written as another one writes it."""
    form = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "string"}}}
    accepted = accepts(arrays({"anyOf": [{"const": {"b": "x", "a": 0.5}}, form]}))
    texts = ['[{"a": 0.5, "b": "x"}]', '[{"b": "x", "a": 0.5}]', '[{"a": 0.5, "b": "x"}, {"a": 0.50, "b": "x"}]']
    assert [accepted(text) for text in texts] == [True, False, False]


@pytest.mark.parametrize("member", ["a", "b"])
def test_an_item_that_is_asked_for_comes_first(member: str) -> None:
    """The first item is what the array has to contain; any may follow."""
    accepted = accepts(arrays(POINT, contains={"required": ["label"]}))
    first, other = json.dumps({"x": 1, "label": member}), '{"x": 1}'
    assert [accepted(f"[{text}]") for text in ("", other, first, f"{first}, {other}", f"{other}, {first}")] == [
        False, False, True, True, False
    ]  # fmt: skip


def test_recursive_items() -> None:
    """Trees whose children differ, at any depth."""
    node = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "of": arrays({"$ref": "#/$defs/node"})},
        "required": ["name"],
    }
    accepted = accepts({"$ref": "#/$defs/node", "$defs": {"node": node}})
    leaf = '{"name": "a"}'
    same, other = f'{{"name": "b", "of": [{leaf}, {leaf}]}}', f'{{"name": "b", "of": [{leaf}, {{"name": "b"}}]}}'
    assert [accepted(text) for text in (leaf, same, other)] == [True, False, True]
    assert [accepted(f'{{"name": "c", "of": [{other}, {one}]}}') for one in (other, same, leaf)] == [False, False, True]


def test_nothing_repeats_among_many_objects() -> None:
    """The hundredth object is told from the first one."""
    accepted = accepts(arrays(POINT))
    values = [{"x": number, "label": "same"} for number in range(100)]
    for more, is_valid in (([], True), ([values[7]], False), ([{"x": 7}], True)):
        assert accepted(json.dumps([*values, *more])) == is_valid
