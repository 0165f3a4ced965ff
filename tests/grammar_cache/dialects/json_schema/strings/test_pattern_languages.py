"""Languages of patterns that are kept: the same object for many schemas, and nothing else."""

from __future__ import annotations

import json

import pytest

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.dialects.json_schema.strings import pattern_languages
from grammar_cache.errors import GrammarSyntaxError
from grammar_cache.expression import Expression
from grammar_cache.limits import Limits
from tests.expression_matcher import matches


def string_rule(schema: object) -> Expression:
    rules = parse(json.dumps(schema)).rules
    return next(body for name, body in rules.items() if name.startswith("string "))


def test_schemas_share_the_strings_of_a_pattern_and_of_a_format() -> None:
    """Whatever else they say, so that what is made of them is found again; lengths make other ones."""
    for about in ({"pattern": "^([a-f]+-[0-9]+|x[0-9]*y|z+w|v[1-3]+)$"}, {"format": "date-time"}):
        first = string_rule({"type": "string", **about})
        assert string_rule({"type": "object", "properties": {"when": {"type": ["string", "null"], **about}}}) is first
        assert string_rule({"type": "string", **about, "maxLength": 30}) is not first


def test_counted_parts_are_rules_of_their_schema() -> None:
    """A pattern with a count in a fixed place is written anew, and means the same."""
    grammar = parse('{"pattern": "^a[b-d]{20,6000}$", "type": "string"}')
    assert any("part" in name for name in grammar.rules)
    assert matches(grammar, b'"a' + b"bcd" * 8 + b'"')
    assert not matches(grammar, b'"a' + b"bcd" * 6 + b'"')


@pytest.mark.parametrize("times", [1, 2])
def test_a_wrong_pattern_is_blamed_on_its_own_place(times: int) -> None:
    """However often it is met."""
    for name in ("a", "b") * times:
        with pytest.raises(GrammarSyntaxError) as caught:
            parse(json.dumps({"properties": {name: {"type": "string", "pattern": "^(x$"}}}))
        assert caught.value.pointer == f"/properties/{name}/pattern"


def test_large_languages_are_not_kept() -> None:
    """A few would fill the room of all others; within one schema they are read once."""
    pattern = "|".join(f"word{number}x+" for number in range(5_000))
    assert pattern_languages.texts(pattern, Limits()) is not pattern_languages.texts(pattern, Limits())
    small = pattern[:200]
    assert pattern_languages.texts(small, Limits()) is pattern_languages.texts(small, Limits())
    assert pattern_languages.texts(small, Limits()) is not pattern_languages.texts(small, Limits(nesting=20))
