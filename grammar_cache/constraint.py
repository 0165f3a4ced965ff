"""The one shape that every request's constraint is normalised to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from grammar_cache.errors import GrammarSyntaxError, UnsupportedFeature

Kind: TypeAlias = Literal["json_schema", "gbnf", "lark", "regex", "choice", "structural_tag"]
Whitespace: TypeAlias = Literal["compact", "bounded", "any"]


@dataclass(frozen=True, slots=True)
class Constraint:
    """Language that the answer must belong to.

    `text` is the grammar in its dialect: a JSON Schema, a GBNF grammar, a Lark grammar, a regular expression, a JSON
    array of strings for a choice, or a structural tag as JSON. `start` names the start rule where the dialect has rules
    (by default "root" in GBNF, "start" in Lark). `lexer` is for Lark grammars: "dynamic" (the default) or "contextual".
    `whitespace` says how much of it generated JSON may hold between tokens. `lenient` accepts a schema with keywords
    that can't be enforced and reports them instead of refusing it.
    """

    kind: Kind
    text: str
    start: str | None = None
    lexer: Literal["dynamic", "contextual"] | None = None
    whitespace: Whitespace = "bounded"
    lenient: bool = False

    @staticmethod
    def of(source: Any) -> Constraint:
        """Constraint of what people have at hand.

        A text is a JSON Schema if it is a JSON object, a GBNF grammar if it holds `::=`, else a Lark grammar. A mapping
        is a JSON Schema. Anything else is a type that pydantic has a schema for: a model, a dataclass, a TypedDict, an
        enumeration, `list[int]`, a union. Raises GrammarSyntaxError, UnsupportedFeature.
        """
        match source:
            case Constraint():
                return source
            case str():
                return Constraint(_kind(source), source)
            case Mapping():
                return Constraint("json_schema", _written(source))
        return Constraint("json_schema", _written(_schema_of(source)))


def _kind(text: str) -> Kind:
    try:
        if isinstance(json.loads(text), dict):
            return "json_schema"
    except (ValueError, RecursionError):
        pass
    return "gbnf" if "::=" in text else "lark"


def _written(schema: Mapping[str, Any]) -> str:
    """JSON text of a schema, with its keys in their order, which is that of generated properties."""
    try:
        return json.dumps(schema, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise GrammarSyntaxError(f"the schema is no JSON: {error}") from error


def _schema_of(source: Any) -> Mapping[str, Any]:
    """Schema of the JSON texts that a type is read from."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        schema: Mapping[str, Any] = TypeAdapter(source).json_schema()
    except PydanticUserError as error:  # no schema for its values, or for the type at all
        raise UnsupportedFeature(f"pydantic has no JSON Schema for {source!r}: {error.message}") from error
    except (NameError, TypeError) as error:
        raise UnsupportedFeature(f"pydantic has no JSON Schema for {source!r}: {error}") from error
    return schema
