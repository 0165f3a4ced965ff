"""Large and hostile schemas are compiled, their minimum searched for, or refused by a limit, in a second of CPU."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from grammar_cache import Constraint, EmptyLanguage, LimitExceeded, Vocabulary, compile_grammar
from tests.cached import tokenizer_folder
from tests.timing import within

STRING = {"type": "string"}


def _members(count: int, kind: Callable[[int], Any] = lambda _: STRING, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{n}": kind(n) for n in range(count)}, **more}


def _choices(levels: int, first: Callable[[str], Any], second: Callable[[str], Any], keyword: str = "anyOf") -> Any:
    """Definitions that each lead to the next one in two ways: a bomb, as alternatives double with each level."""
    definitions: dict[str, Any] = {
        f"{name}{level}": {keyword: [first(f"#/$defs/a{level + 1}"), second(f"#/$defs/b{level + 1}")]}
        for level in range(levels)
        for name in "ab"
    }
    return {"$ref": "#/$defs/a0", "$defs": {**definitions, f"a{levels}": STRING, f"b{levels}": {"type": "integer"}}}


def _ref(target: str) -> Any:
    return {"$ref": target}


def _same(target: str) -> Any:
    return {"$ref": target.replace("b", "a").replace("#/$aefs", "#/$defs")}


def _each(count: int, made: Callable[[int], Any]) -> list[Any]:
    return [made(number) for number in range(count)]


def _one_of_two(number: int) -> Any:
    return {"anyOf": [{"required": [f"p{number}"]}, {"required": [f"q{number}"]}]}


def _tagged(number: int) -> Any:
    return _members(0, properties={"kind": {"const": f"k{number}"}, "x": STRING}, required=["kind"])


NAMES = [f"p{number}" for number in range(10_000)]
BOMBS: dict[str, Callable[[], Any]] = {
    "anyOf, the same twice": lambda: _choices(30, _ref, _same),
    "anyOf, crossing": lambda: _choices(30, _ref, _ref),
    "anyOf of objects": lambda: _choices(30, lambda at: _members(0, properties={"x": _ref(at)}), _ref),
    "allOf of anyOf": lambda: {"allOf": _each(30, _one_of_two)},
    "allOf of oneOf": lambda: {"allOf": _each(30, lambda n: {"oneOf": _one_of_two(n)["anyOf"]})},
    "allOf of anyOf, bounds": lambda: {"allOf": _each(30, lambda n: {"anyOf": [{"minLength": n + 1}, {"minimum": n}]})},
}
MANY: dict[str, Callable[[], Any]] = {
    "members": lambda: _members(10_000),
    "members, required": lambda: _members(10_000, required=NAMES),
    "members, closed": lambda: _members(10_000, additionalProperties=False),
    "members, required and closed": lambda: _members(10_000, required=NAMES, additionalProperties=False),
    "members, others of a type": lambda: _members(10_000, additionalProperties={"type": "integer"}),
    "members of any value": lambda: _members(10_000, lambda _: True),
    "members that are objects": lambda: _members(10_000, lambda n: _members(n % 2 + 1)),
    "required of an open object": lambda: {"required": NAMES[:5000], "additionalProperties": STRING},
    "required by a schema each": lambda: {"allOf": _each(10_000, lambda n: {"required": [f"p{n}"]})},
    "members by a schema each": lambda: {"allOf": _each(10_000, lambda n: {"properties": {f"p{n}": STRING}})},
    "literals": lambda: {"enum": _each(10_000, lambda n: f"value {n}")},
    "literals, each in an anyOf": lambda: {"anyOf": _each(10_000, lambda n: {"const": f"value {n}"})},
    "literals, each in a oneOf": lambda: {"oneOf": _each(10_000, lambda n: {"const": f"value {n}"})},
    "tagged objects": lambda: {"oneOf": _each(1_000, _tagged)},
    "alternatives that are objects": lambda: {"anyOf": _each(10_000, lambda n: {"required": [f"p{n}"]})},
    "patterns of keys": lambda: {"patternProperties": {f"^p{n}_": STRING for n in range(1_000)}},
    "patterns of keys and names": lambda: _members(1_000, patternProperties={f"q{n}$": {} for n in range(1_000)}),
    "many patterns of keys": lambda: {"patternProperties": {f"^p{n}_": {"const": n} for n in range(10_000)}},
    "members of distinct values": lambda: _members(10_000, lambda n: {"const": f"value {n}"}),
    "members of distinct objects as values": lambda: _members(10_000, lambda n: {"const": {"a": n, "b": [n]}}),
    "members of distinct bounds": lambda: _members(
        10_000, lambda n: {"type": "integer", "minimum": n, "maximum": 9 * n}
    ),
    "members of distinct patterns": lambda: _members(10_000, lambda n: {"type": "string", "pattern": f"^x{n}y*$"}),
    "members of alternatives": lambda: _members(10_000, lambda n: {"anyOf": [{"const": n}, {"minLength": n}]}),
    "members of conditions": lambda: _members(10_000, lambda n: {"if": {"type": "string"}, "then": {"const": f"v{n}"}}),
    "members of members": lambda: _members(100, lambda n: _members(100, lambda m: {"const": f"{n} {m}"})),
    "members of distinct multiples": lambda: _members(2_000, lambda n: {"type": "integer", "multipleOf": n + 1}),
    "members of distinct objects": lambda: _members(5_000, lambda n: _members(1, properties={f"q{n}": STRING})),
    "members of patterns of keys": lambda: _members(
        2_000, lambda n: {"type": "object", "patternProperties": {f"^x{n}": STRING}}
    ),
    "places of distinct objects": lambda: {
        "prefixItems": _each(3_000, lambda n: _members(0, properties={f"q{n}": {}}))
    },
    "places of distinct objects as values": lambda: {"prefixItems": _each(3_000, lambda n: {"const": {"a": n}})},
    "alternatives that are distinct objects": lambda: {
        "anyOf": _each(2_000, lambda n: _members(0, properties={f"q{n}": STRING}))
    },
    "dependent schemas": lambda: {"dependentSchemas": {f"p{n}": {"required": [f"q{n}"]} for n in range(10_000)}},
    "dependent names": lambda: {"type": "object", "dependentRequired": {f"p{n}": [f"q{n}"] for n in range(10_000)}},
    "references in a chain": lambda: {
        "$ref": "#/$defs/0",
        "$defs": {**{str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(2_000)}, "2000": STRING},
    },
    "places": lambda: {"prefixItems": [STRING] * 10_000, "items": False},
}


@pytest.fixture(scope="module", params=["SmolLM2-135M-Instruct", pytest.param("llama3_1", marks=pytest.mark.full)])
def vocabulary(request: pytest.FixtureRequest) -> Vocabulary:
    """One whose loops are compiled and whose strings have been met, as in a server that has answered before."""
    made = Vocabulary.from_pretrained(tokenizer_folder(request.param))
    for schema in (_members(3, required=["p0"]), {"oneOf": [_tagged(1), _tagged(2)]}, {"anyOf": [_one_of_two(1)]}):
        assert compile_grammar(Constraint("json_schema", json.dumps(schema)), made).minimum.tokens > 0
    return made


def _answered(constraint: Constraint, vocabulary: Vocabulary) -> bool:
    try:
        return compile_grammar(constraint, vocabulary).minimum.tokens > 0
    except LimitExceeded:
        return False


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_of_alternatives_costs_less_than_a_second(vocabulary: Vocabulary, name: str) -> None:
    """Thirty levels of two alternatives each, in several ways."""
    constraint = Constraint("json_schema", json.dumps(BOMBS[name]()))
    with within(1):
        _answered(constraint, vocabulary)


@pytest.mark.parametrize("name", MANY)
def test_ten_thousand_of_something_cost_less_than_a_second(vocabulary: Vocabulary, name: str) -> None:
    """Members, literals, patterns, references: all that a schema may hold many of."""
    constraint = Constraint("json_schema", json.dumps(MANY[name]()))
    with within(1):
        _answered(constraint, vocabulary)


@pytest.mark.parametrize(
    "name", ["anyOf, the same twice", "anyOf of objects", "literals, each in a oneOf", "tagged objects", "literals"]
)
def test_what_only_looks_like_a_bomb_is_answered(vocabulary: Vocabulary, name: str) -> None:
    """Alternatives that come to the same, and those that their values tell apart, are no combinations."""
    assert _answered(Constraint("json_schema", json.dumps((BOMBS | MANY)[name]())), vocabulary)


def test_a_choice_of_tens_of_thousands_of_texts_costs_less_than_a_second(vocabulary: Vocabulary) -> None:
    """A choice costs little with as many texts as a request's grammar may hold, and with more than that."""
    for count, answered in ((70_000, True), (100_000, False)):
        constraint = Constraint("choice", json.dumps([f"v {number}" for number in range(count)]))
        with within(1):
            assert _answered(constraint, vocabulary) == answered


def test_alternatives_twice_are_never_one(vocabulary: Vocabulary) -> None:
    """A oneOf between a schema and itself holds of nothing, seen without going thirty levels deep."""
    bomb = Constraint("json_schema", json.dumps(_choices(30, _ref, _same, "oneOf")))
    with within(1), pytest.raises(EmptyLanguage):
        compile_grammar(bomb, vocabulary)
