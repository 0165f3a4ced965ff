"""The shapes of `response_format`, one model a type; `server.request_constraint` says what they constrain."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from server.protocol.strict import StrictModel

Schema = dict[str, Any] | bool
"""A JSON Schema, the order of its keys kept."""


class TextFormat(StrictModel):
    """No constraint."""

    type: Literal["text"]


class JsonObjectFormat(StrictModel):
    """Any JSON object; with a `schema` (as llama.cpp and Fireworks have it), what the schema says."""

    type: Literal["json_object"]
    schema_: Schema | None = Field(default=None, alias="schema")


class NamedSchema(StrictModel):
    """OpenAI's wrapping of a schema. `strict: false` weakens nothing here: every schema is enforced."""

    schema_: Schema = Field(alias="schema")
    name: str | None = None
    description: str | None = None
    strict: bool | None = None


class JsonSchemaFormat(StrictModel):
    """A JSON Schema, as OpenAI has it."""

    type: Literal["json_schema"]
    json_schema: NamedSchema


class NamedGrammar(StrictModel):
    """A grammar that comes with the server (`grammar_cache.grammars.shipped`), or one that was registered."""

    name: str = Field(max_length=1_000)


def _text_or_name(grammar: object) -> str:
    return "[name]" if isinstance(grammar, dict | NamedGrammar) else "[text]"


# Tags in brackets, as the names of other unions' members: an error's path leaves them out.
GrammarText = Annotated[
    Annotated[str, Tag("[text]")] | Annotated[NamedGrammar, Tag("[name]")], Discriminator(_text_or_name)
]
"""A grammar as it is, or by name."""


class GrammarFormat(StrictModel):
    """A context-free grammar; without `syntax`, `::=` tells GBNF from Lark."""

    type: Literal["grammar"]
    grammar: GrammarText
    syntax: Literal["gbnf", "ebnf", "lark"] | None = None


class RegexFormat(StrictModel):
    """A regular expression that the whole answer matches, under any one of the three names in use."""

    type: Literal["regex"]
    regex: str | None = None
    pattern: str | None = None
    value: str | None = None


CHOICES = 100_000
"""Texts of one list of choices."""


class ChoiceFormat(StrictModel):
    """One of the listed texts."""

    type: Literal["choice"]
    choice: Annotated[list[str], Field(max_length=CHOICES, fail_fast=True)]


def _without_null_type(given: object) -> object:
    """Format without a type that is null: it is looked at before the models see that null is absence."""
    if isinstance(given, dict) and given.get("type", "") is None:
        return {name: value for name, value in given.items() if name != "type"}
    return given


ResponseFormat = Annotated[
    TextFormat | JsonObjectFormat | JsonSchemaFormat | GrammarFormat | RegexFormat | ChoiceFormat,
    Field(discriminator="type"),
    BeforeValidator(_without_null_type),
]
