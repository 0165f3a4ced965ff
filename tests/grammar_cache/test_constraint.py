"""Constraints of what people have at hand: types, schemas, texts; whatever has no schema is an error at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import TypedDict

from grammar_cache import Constraint, GrammarError, compile_grammar
from grammar_cache.hosts.conformance.cases import small_vocabulary
from grammar_cache.hosts.conformance.hostile_scores import HOSTILE
from tests.grammar_cache.hosts.generating import generated


class Person(BaseModel):
    name: str = Field(max_length=6)
    age: int | None = None


@dataclass
class Point:
    x: int
    y: int


class Movie(TypedDict):
    title: str
    year: int


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize("source", [Person, Point, Movie, Colour, list[Point], Literal["a", 1], Person | Point])
def test_answers_are_read_back_by_the_type(source: Any) -> None:
    """Answers of hostile models are values of the type that constrains them, as pydantic reads JSON."""
    grammar = compile_grammar(Constraint.of(source), small_vocabulary())
    for name in ("by chance", "always deeper"):
        for budget in (grammar.minimum.tokens, 60):
            tokens = generated(grammar, budget, HOSTILE[name](grammar.vocabulary))
            TypeAdapter(source).validate_json(grammar.vocabulary.text(tokens))


def test_texts_say_which_dialect_they_are() -> None:
    """A JSON object is a schema, `::=` makes GBNF, and other texts are Lark; a mapping is a schema in its own order."""
    assert Constraint.of('{"type": "integer"}').kind == "json_schema"
    assert Constraint.of('root ::= "a"').kind == "gbnf"
    assert Constraint.of('start: "a"').kind == "lark"
    made = Constraint.of({"properties": {"b": {}, "a": {}}})
    assert list(json.loads(made.text)["properties"]) == ["b", "a"]
    assert Constraint.of(made) is made
    Draft202012Validator.check_schema(json.loads(made.text))


def unspeakable() -> Any:
    return Callable[[int], int]


class Odd:
    """A class that pydantic knows nothing of."""


@pytest.mark.parametrize("source", [unspeakable(), Odd, 7, object(), {"minimum": float("nan")}, {"a": {1, 2}}])
def test_what_has_no_schema_is_refused_at_once(source: Any) -> None:
    """Values that are no type, types without a JSON form and mappings that are no JSON raise a typed error."""
    with pytest.raises(GrammarError):
        Constraint.of(source)


def test_choices_that_there_are_not_are_refused() -> None:
    """White space and lexers have names; another one is a typed error."""
    for wrong in (Constraint("json_schema", "{}", whitespace="weird"), Constraint("lark", 'start: "a"', lexer="x")):  # type: ignore[arg-type]
        with pytest.raises(GrammarError, match="unknown"):
            compile_grammar(wrong, small_vocabulary())
