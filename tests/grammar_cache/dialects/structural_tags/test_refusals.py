"""Refusals of structural tags that can't be enforced."""

from __future__ import annotations

import json
from string import ascii_letters

import pytest

from grammar_cache import GrammarError
from grammar_cache.dialects.structural_tags.compiler import parse
from grammar_cache.errors import LimitExceeded
from tests.grammar_cache.dialects.structural_tags.formats import CALL, SCHEMA, compiled
from tests.grammar_cache.dialects.structural_tags.matcher import Format


@pytest.mark.parametrize(
    ("format", "pointer", "message"),
    [
        ({"type": "any_text", "max_tokens": 5}, "/format/max_tokens", "max_tokens"),
        ({"type": "any_text", "new": 1}, "/format/new", "no member new"),
        ({"type": "anything"}, "/format/type", "a format of type anything"),
        ({"type": "exclude_token"}, "/format", "any_tokens is"),
        ({"type": "token", "token": "<f=b>"}, "/format", "near it: <f=a>"),
        ({"type": "tag", "begin": "a", "content": {"type": "any_text"}, "end": "<|end|>"}, "/format", "ends an answer"),
        ({"type": "json_schema", "json_schema": SCHEMA, "style": "kimi_k3_xml"}, "/format/style", "kimi_k3_xml"),
        ({"type": "json_schema", "json_schema": SCHEMA, "excludes": ["a"]}, "/format/excludes", "excludes"),
        ({"type": "json_schema", "json_schema": {"$ref": "x:y"}}, "/format/json_schema/$ref", "x:y"),
        (
            {"type": "qwen_xml_parameter", "json_schema": {"type": "object", "additionalProperties": "no"}},
            *("/format/json_schema/additionalProperties", "is a schema"),
        ),
        (
            {
                "type": "qwen_xml_parameter",
                "json_schema": {"type": "object", "properties": {"a": {}}, "required": ["a", ["b"]]},
            },
            *("/format/json_schema/required/1", "a required name is a text"),
        ),
        ({"type": "any_text", "a/b~c": 1}, "/format/a~1b~0c", "no member a/b~c"),
        ({"type": "grammar", "grammar": "root ::= a"}, "/format/grammar", "line 1, column 10"),
        ({"type": "regex", "pattern": "("}, "/format/pattern", "group is not closed"),
        ({"type": "sequence", "elements": []}, "/format/elements", "not empty"),
        ({"type": "const_string"}, "/format/value", "value"),
        ({"type": "repeat", "min": 3, "max": 2, "content": {"type": "any_text"}}, "/format/max", "below"),
        ({**CALL, "triggers": ["<g"]}, "/format/tags/0/begin", "none"),
        ({**CALL, "triggers": ["<t", "<tool"]}, "/format/tags/0/begin", "several"),
        ({**CALL, "excludes": [""]}, "/format/excludes", "everywhere"),
    ],
)  # fmt: skip
def test_refusals(format: Format, pointer: str, message: str) -> None:
    """A format that can't be enforced is refused by name, with a JSON Pointer to it."""
    with pytest.raises(GrammarError, match=message) as refusal:
        compiled(format)
    assert refusal.value.pointer == pointer


@pytest.mark.parametrize(
    ("structure", "pointer"),
    [
        (
            {"begin": "<f>", "schema": {"type": "integer", "minimum": "x"}, "end": "</f>"},
            "/structures/1/schema/minimum",
        ),
        ({"begin": "<g>", "schema": {}, "end": "</f>"}, "/structures/1/begin"),
    ],
)
def test_the_older_form_is_refused_where_it_is_wrong(structure: object, pointer: str) -> None:
    """Places are those of what was sent, not of the newer form that it is read as."""
    right = {"begin": "<f=a>", "schema": {}, "end": "</f>"}
    tag = {"type": "structural_tag", "triggers": ["<f"], "structures": [right, structure], "format": None}
    with pytest.raises(GrammarError) as refusal:
        parse(json.dumps(tag))
    assert refusal.value.pointer == pointer


def test_members_of_both_forms_may_be_null() -> None:
    """Programs that write all members write null for those of the other form."""
    tag = {"type": "structural_tag", "format": {"type": "const_string", "value": "a"}, "structures": None}
    assert parse(json.dumps(tag)).rules


def test_attacks_meet_a_limit() -> None:
    """Formats inside each other, and tags by the thousand, are refused by the limit that they meet."""
    deep: Format = {"type": "any_text"}
    for _ in range(300):
        deep = {"type": "optional", "content": deep}
    words = [f"{first}{n:03}>" for first in ascii_letters for n in range(700)]
    many = {"type": "dispatch", "rules": [[word, {"type": "any_text"}] for word in words]}
    for format in (deep, many):
        with pytest.raises(LimitExceeded):
            compiled(format)
