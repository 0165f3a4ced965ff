"""The shapes of `response_format`, one model a type; `server.protocol.constraints.shapes` says what they constrain."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from server.protocol.strict import StrictModel

Schema = dict[str, Any] | bool
"""A JSON Schema, the order of its keys kept."""

SchemaText = Schema | str
"""A JSON Schema, or its text."""


class TextFormat(StrictModel):
    """No constraint."""

    type: Literal["text"]


class JsonObjectFormat(StrictModel):
    """Any JSON object; with a `schema` (llama.cpp, Fireworks) or `value` (TGI), what the schema says."""

    type: Literal["json_object"]
    schema_: Schema | None = Field(default=None, alias="schema")
    value: SchemaText | None = None


class JsonFormat(StrictModel):
    """A JSON Schema, as `schema` (TensorRT-LLM) or `value` (TGI)."""

    type: Literal["json"]
    schema_: Schema | None = Field(default=None, alias="schema")
    value: SchemaText | None = None


class NamedSchema(StrictModel):
    """OpenAI's wrapping of a schema. `strict: false` weakens nothing here: every schema is enforced."""

    schema_: Schema = Field(alias="schema")
    name: str | None = None
    description: str | None = None
    strict: bool | None = None


class JsonSchemaFormat(StrictModel):
    """A JSON Schema in `json_schema` (OpenAI's chats), `schema` (OpenAI's responses, Anthropic, llama.cpp), or `value`
    (TGI), which wraps it with a name.
    """

    type: Literal["json_schema"]
    json_schema: NamedSchema | None = None
    schema_: Schema | None = Field(default=None, alias="schema")
    value: SchemaText | None = None
    name: str | None = None
    description: str | None = None
    strict: bool | None = None


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
    grammar: GrammarText | None = None
    value: str | None = None
    syntax: Literal["gbnf", "ebnf", "lark"] | None = None


class EbnfFormat(StrictModel):
    """A grammar in GBNF, as TensorRT-LLM has it."""

    type: Literal["ebnf"]
    ebnf: str | None = None


class RegexFormat(StrictModel):
    """A regular expression that the whole answer matches, under any one of the three names in use."""

    type: Literal["regex"]
    regex: str | None = None
    pattern: str | None = None
    value: str | None = None


class RegexSchemaFormat(StrictModel):
    """A regular expression that the whole answer matches, as LMDeploy has it."""

    type: Literal["regex_schema"]
    regex_schema: str | None = None


TagText = dict[str, Any] | str
"""A structural tag, or its text."""

CHOICES = 100_000
"""Texts of one list of choices."""

Choices = Annotated[list[str], Field(max_length=CHOICES, fail_fast=True)]


class ChoiceFormat(StrictModel):
    """One of the listed texts."""

    type: Literal["choice"]
    choice: Choices | None = None


class StructuralTagFormat(StrictModel):
    """Free text, and tags around grammars of any kind (docs/reference/structural-tags.md): as `format`, or in the older
    form, as `structures` and `triggers`.
    """

    type: Literal["structural_tag"]
    format: dict[str, Any] | None = None
    structures: list[dict[str, Any]] | None = None
    triggers: list[str] | None = None


def _without_null_type(given: object) -> object:
    """Format without a type that is null: it is looked at before the models see that null is absence."""
    if not isinstance(given, dict):
        return given
    if given.get("type", "") is None:
        return {name: value for name, value in given.items() if name != "type"}
    return given


ResponseFormat = Annotated[
    TextFormat
    | JsonObjectFormat
    | JsonFormat
    | JsonSchemaFormat
    | GrammarFormat
    | EbnfFormat
    | RegexFormat
    | RegexSchemaFormat
    | ChoiceFormat
    | StructuralTagFormat,
    Field(discriminator="type"),
    BeforeValidator(_without_null_type),
]
