"""The one shape that every request's constraint is normalised to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

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
