"""Every enforced keyword tells values apart, and every annotation none."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.dialects.json_schema.schema.keywords import ANNOTATIONS, ENFORCED
from grammar_cache.errors import GrammarError
from grammar_cache.limits import Limits
from grammar_cache.network.network import build
from tests.expression_matcher import matches
from tests.grammar_cache.dialects.grammar_sampler import Sampler
from tests.grammar_cache.dialects.json_schema.oracle import SYNTAX_OF_DRAFT_7, generates_value, is_valid, records
from tests.grammar_cache.dialects.json_schema.test_each_keyword import PAIRS

STRING = {"type": "string"}
ONE = {"const": 1}
DRAFT_2019_09 = "https://json-schema.org/draft/2019-09/schema"

# schema, keyword to delete wherever it stands, an instance that only the schema without it allows, one that both allow
FURTHER: list[tuple[dict[str, Any], str, Any, Any]] = [
    ({"oneOf": [{"minimum": 3}, {"maximum": 5}, STRING]}, "oneOf", 4, 2),
    ({"not": {"type": "string", "maxLength": 2}}, "not", "ab", "abc"),
    ({"if": STRING, "then": {"minLength": 2}, "else": {"maximum": 3}}, "if", 4, "ab"),
    ({"if": STRING, "then": {"minLength": 2}}, "then", "a", 7),
    ({"if": STRING, "else": {"maximum": 3}}, "else", 4, "ab"),
    ({"dependentRequired": {"a": ["b"]}}, "dependentRequired", {"a": 1}, {"b": 1}),
    ({"dependentSchemas": {"a": {"minProperties": 2}}}, "dependentSchemas", {"a": 1}, {"b": 1}),
    ({"$schema": SYNTAX_OF_DRAFT_7, "dependencies": {"a": ["b"]}}, "dependencies", {"a": 1}, {"b": 1}),
    (
        {"$dynamicAnchor": "node", "properties": {"a": {"$dynamicRef": "#node"}}, "type": "object"},
        "$dynamicRef",
        {"a": 1},
        {"a": {}},
    ),
    (
        {
            "$schema": DRAFT_2019_09,
            "$recursiveAnchor": True,
            "type": "object",
            "properties": {"a": {"$recursiveRef": "#"}},
        },
        "$recursiveRef",
        {"a": 1},
        {"a": {}},
    ),
    ({"patternProperties": {"^a": STRING}}, "patternProperties", {"ab": 1}, {"ab": "x", "b": 1}),
    ({"propertyNames": {"maxLength": 2}}, "propertyNames", {"abc": 1}, {"ab": 1}),
    ({"minProperties": 1}, "minProperties", {}, {"a": 1}),
    ({"maxProperties": 1}, "maxProperties", {"a": 1, "b": 2}, {"a": 1}),
    ({"items": {"enum": ["a", "b", 3]}, "uniqueItems": True}, "uniqueItems", ["a", 3, "a"], ["b", "a"]),
    ({"contains": ONE}, "contains", [2, 3], [2, 1]),
    ({"contains": ONE, "minContains": 2}, "minContains", [1, 2], [1, 2, 1]),
    ({"contains": ONE, "maxContains": 1}, "maxContains", [1, 1], [1, 2]),
    (
        {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
        "unevaluatedProperties",
        {"b": 1},
        {"a": 1},
    ),
    ({"allOf": [{"prefixItems": [{}]}], "unevaluatedItems": False}, "unevaluatedItems", [1, 2], [1]),
    ({"type": "number", "multipleOf": 0.5}, "multipleOf", 1.25, 1.5),
    ({"type": "integer", "multipleOf": 7, "minimum": 0, "maximum": 50}, "multipleOf", 15, 49),
]


def deleted(value: Any, keyword: str) -> Any:
    """The schema without a keyword, wherever it stands."""
    if isinstance(value, dict):
        return {name: deleted(inner, keyword) for name, inner in value.items() if name != keyword}
    return [deleted(item, keyword) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("schema", "keyword", "apart", "common"), FURTHER, ids=[entry[1] for entry in FURTHER])
def test_each_keyword_is_enforced(schema: dict[str, Any], keyword: str, apart: Any, common: Any) -> None:
    """An instance tells the schema with the keyword from the one without it, as the validator finds."""
    without = deleted(schema, keyword)
    judged = [(form, value) for form in (schema, without) for value in (apart, common)]
    assert [generates_value(form, value) for form, value in judged] == [False, True, True, True]
    assert [is_valid(form, json.dumps(value)) for form, value in judged] == [False, True, True, True]


def test_no_enforced_keyword_is_left_out() -> None:
    """Every keyword that the dialect calls enforced has such a pair."""
    assert {entry[1] for entry in (*PAIRS, *FURTHER)} == ENFORCED


ABOUT_NOTHING = sorted(ANNOTATIONS - {"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"})


@pytest.mark.parametrize("keyword", ABOUT_NOTHING)
def test_an_annotation_changes_nothing(keyword: str) -> None:
    """The grammar is the same with it and without it."""
    value = {"x": {"type": "null"}} if keyword in ("$defs", "definitions", "$vocabulary") else "x"
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}, "required": ["a"]}
    with_it = {**schema, keyword: value, "properties": {"a": {**STRING, "maxLength": 3, keyword: value}}}
    made, other = (build(parse(json.dumps(one)), Limits()) for one in (with_it, schema))
    assert (made.rule_names, made.contents) == (other.rule_names, other.contents)


def _deletions(schema: Any) -> Iterator[tuple[str, Any]]:
    """The schema without each enforced keyword of the root, or of the schemas of its members."""
    for keyword in schema:
        if keyword in ENFORCED:
            yield keyword, {name: value for name, value in schema.items() if name != keyword}
    members = schema.get("properties")
    for name, member in members.items() if isinstance(members, dict) else ():
        for keyword in member if isinstance(member, dict) else ():
            if keyword in ENFORCED:
                less = {key: value for key, value in member.items() if key != keyword}
                yield keyword, {**schema, "properties": {**members, name: less}}


def test_a_keyword_that_matters_to_real_schemas_changes_the_grammar() -> None:
    """A text that is generated once a keyword is deleted, and is invalid with it, is not generated with it."""
    chance = random.Random(7)
    told_apart = set()
    for record in records("jsonschemabench", "corpus.jsonl")[::45]:
        schema = record["schema"]
        if len(json.dumps(schema)) > 4_000:
            continue
        try:
            grammar = parse(json.dumps(schema))
        except GrammarError:
            continue
        deletions = list(_deletions(schema))
        for keyword, less in chance.sample(deletions, min(5, len(deletions))):
            try:
                texts = Sampler(parse(json.dumps(less))).texts(4)
            except GrammarError:
                continue
            for text in texts:
                if len(text) < 2_000 and not is_valid(schema, text.decode()):
                    assert not matches(grammar, text), (record["id"], keyword, text)
                    told_apart.add(keyword)
    assert len(told_apart) >= 5
