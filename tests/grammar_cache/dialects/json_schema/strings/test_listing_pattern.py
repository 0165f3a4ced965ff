"""Patterns that list texts, beside Python's own regular expressions and the reference validator."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.dialects.json_schema.strings.listing_pattern import listed_texts
from tests.grammar_cache.dialects.json_schema.oracle import generates_value, is_valid

_SYNTAX = frozenset("^$\\.*+?()[]{}|")
TEXTS = st.text(st.sampled_from("ab-_ /é@\"'" + "".join(sorted(_SYNTAX))), min_size=1, max_size=5)


def written(text: str) -> str:
    return "".join("\\" + char if char in _SYNTAX else char for char in text)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.sampled_from(["({})", "(?:{})"]), st.lists(TEXTS, max_size=9))
def test_a_listing_is_what_the_pattern_matches(texts: list[str], group: str, others: list[str]) -> None:
    """All texts that a listing pattern was written from are listed, once, and it matches no others."""
    listing = "|".join(map(written, texts))
    pattern = f"^{listing if len(texts) == 1 else group.format(listing)}$"
    found = listed_texts(pattern)
    assert found == tuple(dict.fromkeys(texts))
    assert all((re.fullmatch(pattern[1:-1], other) is not None) is (other in found) for other in others)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "a",
            "^a",
            "a$",
            "^a|b$",
            "^a$|^b$",
            "^(a|b)",
            "^(a|b)?$",
            "^a?$",
            "^a.c$",
            "^[ab]$",
            "^a{2}$",
            "^(a)(b)$",
            "^$",
        ),
        *("^\\d$", "^\\u0061$", "^\\n$", "^(a||b)$", "^(?=a)$", "^((a|b))$", "^\n$", "^a\\$", "", 1, None, ["^a$"]),
    ],
)
def test_other_patterns_list_nothing(pattern: Any) -> None:
    assert listed_texts(pattern) is None


@pytest.mark.parametrize(
    "beside", [{}, {"minLength": 2}, {"enum": ["ab", "b", 1]}, {"not": {"const": "ab"}}, {"format": "date"}]
)
@pytest.mark.parametrize("pattern", ["^ab$", '^(ab|b|a\\."c)$', "^(2020-01-01|ab)$"])
def test_values_are_those_of_the_schema(pattern: str, beside: dict[str, Any]) -> None:
    """A listing pattern allows what the reference validator says, alone, denied and beside other keywords."""
    schema = {"type": "string", "pattern": pattern} | beside
    for tried in (schema, {"not": schema}, {"anyOf": [schema, {"type": "null"}]}):
        for value in ("ab", "b", 'a."c', "abc", "", "2020-01-01", 1, None):
            assert generates_value(tried, value) is is_valid(tried, json.dumps(value)), (tried, value)


def test_long_lists_stay_patterns() -> None:
    """A hundred texts are a list; more are read by an automaton, where each of a list is compared by itself."""
    few, many = ([f"w{number}" for number in range(count)] for count in (100, 101))
    assert listed_texts(f"^({'|'.join(few)})$") == tuple(few)
    assert listed_texts(f"^({'|'.join(many)})$") is None


def test_many_kinds_are_told_apart_by_their_patterns() -> None:
    """A tree of nodes of forty kinds, each named by a pattern, is read: not each pair is compared, node by node."""
    kinds = [f"Kind{number}" for number in range(40)]
    node = {"oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in kinds]}
    named = {kind: {"type": "string", "pattern": f"^{kind}$"} for kind in kinds}
    schema: dict[str, Any] = {"$ref": "#/$defs/node", "$defs": {"node": node}}
    for kind in kinds:
        properties = {"type": named[kind], "left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"}}
        schema["$defs"][kind] = {"type": "object", "properties": properties, "required": ["type"]}
    grammar = parse(json.dumps(schema))
    assert sum(name.startswith("object #/$defs/Kind") for name in grammar.rules) == len(kinds)
