"""Texts of the JSON Schema dialect: strings and keys, order of members, white space, formats."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.constraint import Whitespace
from grammar_cache.dialects.json_schema.compiler import parse
from tests.expression_matcher import matches
from tests.grammar_cache.dialects.json_schema.oracle import generates, generates_value, is_valid

TEXTS = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**19), 10**19) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ANY_VALUE, ANY_STRING = parse("{}"), parse('{"type": "string"}')


@given(JSON)
def test_any_value_is_generated_however_python_writes_it(value: object) -> None:
    """Every JSON value belongs to the schema that says nothing, escaped or not, on one line or indented."""
    for escaped in (True, False):
        for indent in (None, 2, 4, "\t"):
            text = json.dumps(value, ensure_ascii=escaped, indent=indent)
            assert matches(ANY_VALUE, text.encode()), text


@given(st.text(st.sampled_from('"\\/bfnrtu0dD8cCfF9 \x1fé'), max_size=9))
def test_strings_are_those_that_json_reads(content: str) -> None:
    """A string is generated exactly if what stands between its quotation marks is read back as text of UTF-8."""
    text = f'"{content}"'
    try:
        value = json.loads(text)
        value.encode()
    except (ValueError, UnicodeEncodeError):
        assert not matches(ANY_STRING, text.encode())
    else:
        assert matches(ANY_STRING, text.encode())


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ('""', 0),
        ('"a"', 1),
        ('"\\n"', 1),
        ('"\\u00e9"', 1),
        ('"\\ud83d\\ude00"', 1),
        ('"😀é"', 2),
        ('"\\\\u0041"', 6),
    ],
)
def test_lengths_count_code_points(text: str, length: int) -> None:
    """An escape, and a pair of surrogates, is one character."""
    assert len(json.loads(text)) == length
    for bound in range(4):
        assert generates({"type": "string", "minLength": bound}, text) is (length >= bound)
        assert generates({"type": "string", "maxLength": bound}, text) is (length <= bound)


@pytest.mark.parametrize("lone", ['"\\ud83d"', '"\\ude00\\ud83d"', '"\\ud83d\\u0041"', '"\\ud83dx"'])
def test_lone_surrogates_are_not_generated(lone: str) -> None:
    """Half a pair is not text, though some readers take it."""
    assert not generates({"type": "string"}, lone)


@given(st.text(st.sampled_from('"\\/\n\x01\x7féa😀 '), max_size=5), st.integers(0, 4), st.integers(0, 5))
def test_patterns_see_the_text_and_not_its_spelling(value: str, least: int, most: int) -> None:
    """Pattern and lengths hold together for strings with characters that have to be escaped."""
    schema = {"type": "string", "pattern": '^["\\\\\\n\\x01é😀]+$', "minLength": least, "maxLength": most}
    assert generates_value(schema, value) is is_valid(schema, json.dumps(value))


@pytest.mark.parametrize("key", ['"a"', '"\\u0061"', '"\\u0001"', '"\\u000b"', '"\\u000B"', '"q\\""', '"q\\u0022"'])
def test_no_spelling_of_a_declared_name_slips_in(key: str) -> None:
    """An additional member never has a declared name, however it is written."""
    schema = {"properties": {"a": {"type": "null"}, "\x01": False, "\x0b": False, 'q"': False}}
    assert not generates(schema, f"{{{key}: 1}}")
    assert generates(schema, '{"a": null, "b": 1, "aa": 2, "": 3}')


ORDERED = {
    "type": "object",
    "properties": {"a": {}, "b": {}, "c": {}, "d": {}},
    "required": ["z", "c"],
    "additionalProperties": {"type": "boolean"},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"c": 1, "z": true}', True),
        ('{"a": 1, "b": 2, "c": 1, "d": 2, "z": true, "x": false}', True),
        ('{"b": 2, "c": 1, "z": true}', True),
        ('{"b": 2, "a": 1, "c": 1, "z": true}', False),
        ('{"z": true, "c": 1}', False),
        ('{"c": 1, "z": 1}', False),
        ('{"c": 1, "x": true, "z": true}', False),
        ('{"c": 1, "c": 1, "z": true}', False),
        ('{"a": 1, "z": true}', False),
        ('{"c": 1, "z": true,}', False),
        ('{, "c": 1, "z": true}', False),
        ('{"a": 1 "c": 1, "z": true}', False),
    ],
)
def test_members_come_in_the_order_of_the_schema(text: str, expected: bool) -> None:
    """Declared ones, then names that are only required, then any others; commas only between them."""
    assert generates(ORDERED, text) is expected


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_any_subset_of_optional_members_may_be_left_out(musts: list[bool], data: st.DataObject) -> None:
    """Required members alone decide, of those present in schema order."""
    names = [f"p{place}" for place in range(len(musts))]
    schema = {
        "type": "object",
        "properties": {name: {"type": "integer"} for name in names},
        "required": [name for name, must in zip(names, musts, strict=True) if must],
        "additionalProperties": data.draw(st.sampled_from([False, True])),
    }
    present = data.draw(st.lists(st.booleans(), min_size=len(musts), max_size=len(musts)))
    value = {name: 1 for name, there in zip(names, present, strict=True) if there}
    assert generates_value(schema, value) is is_valid(schema, json.dumps(value))
    extra = {**value, "other": []}
    assert generates_value(schema, extra) is is_valid(schema, json.dumps(extra))


@pytest.mark.parametrize("required", [[], ["p100"]])
def test_many_optional_members_stay_small(required: list[str]) -> None:
    """200 optional members make an expression of n log n size."""
    schema = {
        "type": "object",
        "properties": {f"p{n}": {"type": "null"} for n in range(200)},
        "required": required,
    }
    grammar = parse(json.dumps(schema))
    assert len(repr(grammar)) < 2_000_000
    assert matches(grammar, b'{"p3": null, "p100": null, "p199": null, "x": 1}')
    assert not matches(grammar, b'{"p3": null, "p100": null, "p99": null}')


@given(
    st.lists(st.sampled_from(["s", "i"]), max_size=5),
    st.integers(0, 6),
    st.none() | st.integers(0, 6),
    st.data(),
)
def test_lengths_and_places_of_arrays_hold_together(
    kinds: list[str], least: int, most: int | None, data: st.DataObject
) -> None:
    """Items by position, the others, and both bounds on their number, in any combination."""
    types = {"s": {"type": "string"}, "i": {"type": "integer"}}
    schema: dict[str, Any] = {
        "type": "array",
        "minItems": least,
        "items": data.draw(st.sampled_from([True, False])),
    }
    schema |= {"prefixItems": [types[kind] for kind in kinds]} if kinds else {}
    schema |= {} if most is None else {"maxItems": most}
    for value in data.draw(st.lists(st.lists(st.sampled_from(["a", 1]), max_size=7), min_size=4, max_size=8)):
        assert generates_value(schema, value) is is_valid(schema, json.dumps(value))


VALUE = '{"a": [1, {"b": []}], "c": {}}'
SPACED = {"type": "object", "properties": {"a": {"type": "array"}, "c": {"type": "object"}}}


@pytest.mark.parametrize(
    ("text", "modes"),
    [
        ('{"a":[1,{"b":[]}],"c":{}}', "compact bounded any"),
        (VALUE, "bounded any"),
        (json.dumps(json.loads(VALUE), indent=2), "bounded any"),
        (json.dumps(json.loads(VALUE), indent=4), "bounded any"),
        ('{"a": [ ], "c": { } }', "bounded any"),
        ('{"a":  []}', "any"),
        ('{"a" : []}', "any"),
        ('{"a": [] , "c": {}}', "any"),
        ('{"a":\r\n[]}', "any"),
        ('{"a":\n\n[]}', "any"),
        ('{"a":\n' + " " * 21 + "[]}", "any"),
        (' \n{"a": []}', "any"),
        ('{"a": []} ', ""),
        ('{"a": []}\n', ""),
    ],
)
def test_white_space_is_what_the_mode_allows(text: str, modes: str) -> None:
    """Each mode allows more than the one before it, and none allows any after the end."""
    json.loads(text)
    mode: Whitespace
    for mode in ("compact", "bounded", "any"):
        assert generates(SPACED, text, mode) is (mode in modes.split())


def test_enumerated_values_follow_the_mode() -> None:
    """White space between the tokens of a const is that of the mode."""
    schema = {"const": {"a": [1, 2]}}
    assert generates(schema, '{"a":[1,2]}', "compact")
    assert not generates(schema, '{"a": [1, 2]}', "compact")
    assert generates(schema, '{\n  "a": [\n    1,\n    2\n  ]\n}')
