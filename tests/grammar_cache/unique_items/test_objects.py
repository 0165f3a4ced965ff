"""Objects and arrays as items that may not repeat: each value has one text, white space apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache import CompiledGrammar, Vocabulary
from grammar_cache.constraint import Whitespace
from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.unique_items.open_arrays import DEEPEST
from server.checking.membership import Recogniser
from tests.grammar_cache.unique_items.schemas import compiled, judge
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
        layouts = [{}, {"separators": (",", " :\n")}, {"indent": rng.choice([0, 2, "\t"])}]
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


def test_arrays_have_orders_of_their_own() -> None:
    """Objects in two arrays, which list the same members in other orders, are written as each of them says."""
    forms = [{name: {"type": "integer"} for name in names} for names in ("ab", "ba")]
    lists = [arrays({"type": "object", "properties": form}) for form in forms]
    accepted = accepts({"type": "object", "properties": {"one": lists[0], "other": lists[1]}})
    assert accepted('{"one": [{"a": 1, "b": 2}], "other": [{"b": 2, "a": 1}]}')
    assert not accepted('{"one": [{"b": 1, "a": 2}]}')


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
    """A value that one alternative lists is written as another one writes it: in the order that is met first."""
    form = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "string"}}}
    accepted = accepts(arrays({"anyOf": [{"const": {"b": "x", "a": 0.5}}, form]}))
    texts = ['[{"b": "x", "a": 0.5}]', '[{"a": 0.5, "b": "x"}]', '[{"b": "x", "a": 0.5}, {"b": "x", "a": 0.50}]']
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


def test_arrays_in_many_others_have_one_item() -> None:
    """Arrays in each other are followed up to a depth, and allow nothing invalid beyond it."""
    accepted = accepts({"$defs": {"tree": arrays({"$ref": "#/$defs/tree"})}, "$ref": "#/$defs/tree"}, "compact")
    for depth, inner, is_accepted in (
        (DEEPEST, "[],[[]]", True),
        (DEEPEST, "[],[]", False),
        (DEEPEST + 1, "[],[[]]", False),
        (DEEPEST + 1, "[]", True),
        (DEEPEST + 1, "[[]]", True),
    ):
        assert accepted("[" * depth + inner + "]" * depth) == is_accepted


def test_nothing_repeats_among_many_objects() -> None:
    """The hundredth object is told from the first one."""
    accepted = accepts(arrays(POINT))
    values = [{"x": number, "label": "same"} for number in range(100)]
    for more, is_valid in (([], True), ([values[7]], False), ([{"x": 7}], True)):
        assert accepted(json.dumps([*values, *more])) == is_valid


def test_bytes_that_no_item_has_may_be_missing() -> None:
    """The last of 64 objects is found, though no token is a byte that strings elsewhere may have."""
    flags = [f"f{number}" for number in range(6)]
    item = {"type": "object", "properties": {name: {"type": "boolean"} for name in flags}, "required": flags}
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "seen": arrays(item, maxItems=64)}}
    values = [json.dumps(dict(zip(flags, bits, strict=True))) for bits in product((False, True), repeat=6)]
    words = Vocabulary([*(bytes((byte,)) for byte in range(256) if byte not in (0xF1, 0xF2)), None], [254])
    table = compiled(schema | {"additionalProperties": False}, words)
    at = table.take_bytes(table.start, f'{{"seen":[{",".join(values[:-1])}'.encode())
    last = table.take_bytes(at, b",")
    assert table.mask(at)[words.spelling.index(b",")]
    assert (table.distance(last) or 0) < 2 * len(values[-1])


def grammar(schema: Any, *several: bytes, whitespace: Whitespace = "compact") -> CompiledGrammar:
    """A schema's grammar over bytes and some tokens of several."""
    words = Vocabulary([*(bytes((byte,)) for byte in range(256)), *several, None], [256 + len(several)])
    return compiled(schema, words, whitespace)


LETTERS = {"type": "string", "pattern": "^(a|b|cccccc)$"}


@pytest.mark.parametrize("order", [1, -1])
def test_distances_of_nested_items_are_those_of_their_own_arrays(order: int) -> None:
    """An outer item goes on along an earlier one by a comma of the inner array, whose items have to differ too."""
    nested = grammar(arrays(arrays(LETTERS)))
    before = b'[["a"],["a","b"],["cccccc"],["cccccc","b"],'
    places = [nested.take_bytes(nested.start, before + text) for text in (b'["a"', b'["cccccc"')][::order]
    assert [nested.distance(place) for place in places] == [11, 6][::order]
    assert [len(nested.witness(place)) for place in places] == [11, 6][::order]


def test_an_item_may_differ_by_what_follows_an_inner_comma() -> None:
    """An inner array that is the beginning of a longer one may come again, where it goes on."""
    nested = grammar(arrays(arrays({"type": "string"})))
    at = nested.take_bytes(nested.start, b'[["a"],["a')
    assert nested.mask(at, 20)[ord('"')]
    assert not nested.mask(nested.take_bytes(at, b'"'), 20)[ord("]")]
    assert nested.consume_bytes(at, b'","b"]]') is not None


@pytest.mark.parametrize("first", [0, 1])
def test_tokens_over_a_comma_are_those_of_the_arrays_that_are_open(first: int) -> None:
    """Two texts lead to one configuration, of which one has an inner array whose items may not repeat."""
    plain = {"type": "array", "items": {"enum": ["q", "ad"]}}
    ways: list[dict[str, Any]] = [{"k": {"const": 1}, "x": arrays({"type": "string"})}, {"x": plain}]
    forms = [{"type": "object", "properties": way, "additionalProperties": False} for way in ways]
    found = grammar(arrays({"anyOf": forms}), b'","', b'",')
    places = [found.take_bytes(found.start, text) for text in (b'[{"k":1,"x":["ab', b'[{"x":["ab')]
    masks = {place: found.mask(place, 60) for place in (places[first], places[1 - first])}
    assert [masks[place][256:258].tolist() for place in places] == [[True, True], [False, False]]
    assert [found.consume(place, 256) is None for place in places] == [False, True]


def test_a_token_may_leave_one_array_and_enter_another() -> None:
    """Tokens and their bytes lead to one place, also out of an array that is read in two ways."""
    one = {"anyOf": [arrays(LETTERS), {"type": "array", "items": {"enum": ["a", "q"]}}]}
    schema = {"type": "object", "properties": {"x": one, "y": arrays(LETTERS)}, "additionalProperties": False}
    found = grammar(schema, b'"],"y":["a"')
    at = found.take_bytes(found.start, b'{"x":["a')
    assert found.consume(at, 256) == found.consume_bytes(at, b'"],"y":["a"')
    assert found.mask(found.take(at, 256), 20)[ord(",")]


def test_white_space_before_a_comma_ends_nothing() -> None:
    """An item that has to go on by a comma may have white space before it, where any may stand."""
    nested = grammar(arrays(arrays({"type": "string"})), whitespace="any")
    at = nested.take_bytes(nested.start, b'[["a"],["a","b"],["a" ')
    assert nested.consume_bytes(at, b',"c"]]') is not None
    assert nested.consume_bytes(at, b"]") is None
    assert [ord(" ") in np.flatnonzero(nested.mask(at, left)) for left in (4, 9)] == [False, True]


def test_memory_grows_with_a_text_and_its_depth() -> None:
    """Twice as long a string takes twice the memory, byte by byte; so does twice as deep a tree, a level."""
    node = {"type": "object", "properties": {"of": arrays({"$ref": "#"})}, "additionalProperties": False}

    def size(schema: Any, text: bytes) -> int:
        found = grammar(schema)
        before, at = found.size_bytes, found.start
        for byte in text:
            at = found.take_bytes(at, bytes((byte,)))
        return found.size_bytes - before

    assert size(arrays({"type": "string"}), b'["' + b"x" * 4000) < 2.5 * size(
        arrays({"type": "string"}), b'["' + b"x" * 2000
    )
    assert size(node, b'{"of":[' * 60) < 5 * size(node, b'{"of":[' * 30)


def test_ways_over_an_outer_comma_are_alike_as_long_as_outer_items_are() -> None:
    """Next items begin as one of two does, whose ends differ in length: each token leaves what its own item needs."""
    inner = arrays({"type": "string", "pattern": "^ab(bzzzz|c)$"}, minItems=1)
    table = grammar(arrays(inner), b'bzzzz"],', b'c"],')
    at, ids = table.take_bytes(table.start, b'[["ab'), np.arange(table.vocabulary.size, dtype=np.int32)
    behind = table.consume_batch(np.array([at], np.int32), ids[None, :])[0]
    for left in range(1, 20):
        assert np.array_equal(table.mask(at, left), table.distances_behind(at, behind, left - 1) < left)


def test_distances_depend_on_no_text_that_was_asked_for_before() -> None:
    """A comma behind an item that may still become an earlier one leads on by what was before it."""
    spelled = [b"[", b",", b"1", b"5", b"7,", b"2,", b"2]]", b"7]]", b"57]]", b"12]]"]
    words = Vocabulary([*spelled, None], [len(spelled)])
    fresh = compiled(arrays(arrays({"enum": [1, 12, 57, 9000, 9001, 9002, 9003, 9004]})), words, "compact")
    texts = [(b"[", b"[", b"1", b"2,", b"1"), (b"[", b"[", b"5", b"7,", b"1", b"2,", b"1")]

    def distances(table: CompiledGrammar, text: tuple[bytes, ...]) -> list[int | None]:
        return [table.distance(at) for at in table.followed([spelled.index(token) for token in text])]

    one, other = fresh.anew(), fresh.anew()
    forth = [distances(one, text) for text in texts]
    back = [distances(other, text) for text in reversed(texts)]
    assert forth == back[::-1]
