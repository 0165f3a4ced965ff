"""Many conditions on one array or object, most of which are apart or satisfied anyway, by the reference validator."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.errors import LimitExceeded
from server.checking.membership import Recogniser


def check(schema: Any, values: Iterable[Any]) -> list[bool]:
    """The verdicts, which are those of the validator."""
    validator, table = Draft202012Validator(schema), Recogniser(parse(json.dumps(schema)))
    values = list(values)
    found = [table.judge(json.dumps(value).encode()).accepted for value in values]
    assert found == [validator.is_valid(value) for value in values]
    return found


def test_lists_of_different_values_exclude_each_other() -> None:
    """Arrays of one kind of eight, by values that none shares: each item tells of which, so nothing is counted."""
    kinds = [[f"{kind}{number}" for number in range(5)] for kind in "abcdefgh"]
    schema = {"oneOf": [{"type": "array", "items": {"enum": kind}, "maxItems": 25} for kind in kinds]}
    assert check(schema, [["a1"], ["h1", "h1"], ["a1", "b1"], ["x"], [], ["c0"] * 26]) == [True, True, *[False] * 4]


def test_items_that_are_all_asked_for_are_counted_as_items() -> None:
    """`minContains` and `maxContains` of what each item is are numbers of items."""
    schema = {"type": "array", "items": {"enum": [1, 2]}, "contains": {"type": "integer"}, "minContains": 2}
    values: list[list[int]] = [[], [1], [1, 2], [1, 2, 1], [1, 2, 1, 2]]
    assert check(schema, values) == [False, False, True, True, True]
    assert check({**schema, "maxContains": 3}, values) == [False, False, True, True, False]
    assert check({**schema, "minContains": 0, "maxContains": 0}, values) == [True, False, False, False, False]


def test_patterns_that_list_words_are_apart() -> None:
    """Keys of each of ten patterns satisfy that one, and others none: ten sets of keys, not a thousand."""
    patterns = {f"^(k{number}|K{number})$": {"const": number} for number in range(10)}
    schema = {"type": "object", "patternProperties": patterns}
    values = [{"k3": 3}, {"K3": 3}, {"k3": 4}, {"k9": 9, "K0": 0}, {"other": 4}, {"k33": 1}]
    assert check(schema, values) == [True, True, False, True, True, True]


def others_than_each(letters: str) -> dict[str, Any]:
    """Objects of members by one letter that have, for each of some letters, another member too."""
    every = {letter: {"type": "integer"} for letter in "abcdefgmn"}
    each = [{"not": {"properties": {letter: True}, "additionalProperties": False}} for letter in letters]
    return {"type": "object", "properties": every, "additionalProperties": False, "allOf": each}


def test_seven_conditions_on_some_member() -> None:
    """One member meets all conditions but its own, a second one that too."""
    values: list[dict[str, int]] = [{}, {"a": 1}, {"a": 1, "c": 2}, {"n": 1}, {"m": 1, "n": 1}]
    assert check(others_than_each("abcdefg"), values) == [False, False, True, True, True]


def test_more_conditions_are_refused() -> None:
    """Each condition doubles what an object has to remember."""
    with pytest.raises(LimitExceeded, match="more than 12 conditions on some member"):
        parse(json.dumps(others_than_each("abcdefghijklm")))


def test_one_of_eleven_kinds_by_a_member_that_may_be_missing() -> None:
    """Kinds are told apart by a value that meets the conditions of all others at once."""
    kinds = [
        {
            "type": "object",
            "properties": {"kind": {"enum": [kind]}, "label": {"type": "string"}, f"of {kind}": {"type": "integer"}},
            "required": ["label"],
            "additionalProperties": False,
        }
        for kind in "abcdefghijk"
    ]
    values: list[dict[str, Any]] = [{"label": "x"}, {"kind": "a", "label": "x"}, {"kind": "l", "label": "x"}]
    values += [
        {"kind": "k", "label": "x", "of k": 1},
        {"kind": "k", "label": "x", "of a": 1},
    ]
    values += [{"kind": "b"}, {"label": "x", "of b": 2, "of c": 1}, {"label": "x", "other": 1}]
    assert check({"oneOf": kinds}, values) == [False, True, False, True, False, False, False, False]
