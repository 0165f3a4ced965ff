"""Schemas that listed values tell apart, and what several schemas say of a member, against looking at each pair."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.dialects.json_schema.compiler import parse
from grammar_cache.dialects.json_schema.containers.keys import ByName
from grammar_cache.dialects.json_schema.logic.assertions import FactReader
from grammar_cache.dialects.json_schema.logic.conjunction import Conjunctions
from grammar_cache.dialects.json_schema.logic.tags import alike, told_by
from grammar_cache.dialects.json_schema.schema.document import Document
from grammar_cache.dialects.json_schema.schema.loading import load
from grammar_cache.dialects.json_schema.schema.unenforced import Unenforced
from grammar_cache.dialects.json_schema.schema.values import ANY_TYPE
from grammar_cache.dialects.json_schema.strings.patterns import Patterns
from grammar_cache.limits import Limits

VALUES: list[Any] = [1, 2.0, 2, "1", "x", None, True, [1], {"a": 1}]
listed = st.one_of(
    st.sampled_from(VALUES).map(lambda value: {"const": value}),
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=3).map(lambda values: {"enum": values}),
)
members = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["object", ["object", "null"]]),
        "properties": st.fixed_dictionaries({"k": listed}, optional={"l": listed, "m": st.just({"type": "string"})}),
        "required": st.lists(st.sampled_from(["k", "l", "m"]), unique=True),
    }
)
schemas = st.one_of(listed, members, st.just({"type": "string"}), st.just({"not": {"const": 1}}))
INSTANCES: list[Any] = [
    *VALUES,
    *({"k": k, "l": other, "m": "t"} for k in VALUES for other in VALUES),
    {"k": 1},
    {"l": 1},
    {},
]


@given(st.one_of(st.lists(listed, max_size=5), st.lists(members, max_size=5), st.lists(schemas, max_size=5)))
def test_what_is_told_apart_excludes_each_other(alternatives: list[Any]) -> None:
    """No value satisfies two schemas that are told apart; and each pair that is gives the verdict of the search."""
    root = load(json.dumps({"oneOf": alternatives or [{}]}), Limits())
    document, patterns = Document(root), Patterns(Limits())
    reader = FactReader(document, patterns, Unenforced(lenient=False))
    conjunctions = Conjunctions(reader, patterns, Limits())
    names = [f"/oneOf/{place}" for place in range(len(alternatives))]
    told = [told_by(reader.loose(name), reader.loose) for name in names]
    validators = [jsonschema.Draft202012Validator(schema) for schema in alternatives]
    for place, others in enumerate(alike(told)):
        assert others == sorted(others)
        for other in set(range(len(names))) - {place, *others}:
            assert conjunctions.empty((names[place], names[other]))
            assert not any(validators[place].is_valid(x) and validators[other].is_valid(x) for x in INSTANCES)
    if names:
        ways = conjunctions.one_alone(tuple(names), ANY_TYPE)
        pairs = [
            [n for n in names if n != own and not conjunctions.empty((min(own, n), max(own, n)), 2)] for own in names
        ]
        assert ways == tuple((own, *(f"!{n}" for n in rest)) for own, rest in zip(names, pairs, strict=True))


def test_one_schema_without_a_tag_takes_no_comparison_of_all_others() -> None:
    """The nodes of a tree of expressions, and numbers beside them: the comparisons of each with each were refused."""
    nodes = [
        {"type": "object", "properties": {"op": {"const": f"o{n}"}, "of": {"$ref": "#"}}, "required": ["op", "of"]}
        for n in range(200)
    ]
    assert len(parse(json.dumps({"oneOf": [{"type": "integer"}, *nodes]})).rules) > 200


@dataclass(frozen=True)
class Said:
    """Statement of one schema about members."""

    properties: dict[str, str] = field(default_factory=dict)
    patterns: dict[str, str] = field(default_factory=dict)
    additional: str | None = None


NAMES = "abcd"
said = st.builds(
    Said,
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["/1", "/2", "/3"])),
    st.one_of(st.just({}), st.dictionaries(st.sampled_from(NAMES[:2]), st.sampled_from(["/4", "/5"]))),
    st.sampled_from([None, None, "/6", "/7"]),
)


def _matches(name: str | None, regex: str, pointer: str) -> bool:
    return regex == name


@given(st.lists(said, max_size=5), st.sets(st.sampled_from(NAMES)))
def test_schemas_of_a_member_are_those_of_each_in_order(all_said: list[Said], names: set[str]) -> None:
    """Asking only the schemas that may speak of a name gives what asking each of them gives."""
    by_name = ByName(all_said, names)
    for name in (*names, None):
        expected: list[str] = []
        for one in all_said:
            own = [one.properties[name]] if name in one.properties else []
            own += [atom for regex, atom in one.patterns.items() if regex == name]
            expected += own or ([] if one.additional is None else [one.additional])
        assert by_name.schemas(name, partial(_matches, name)) == tuple(dict.fromkeys(expected))
