"""White space between the tokens of a JSON text.

`compact` has none, `any` all that JSON allows. `bounded` is what people and models write, and finite: after a
comma, a colon or an opening bracket, and before a closing one, a space or a line break with its indentation.
Loops of white space are what models fall into (vllm #13260), so it is the default.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from grammar_cache.constraint import Whitespace
from grammar_cache.dialects.json_schema.expressions.combine import alt, chars, seq
from grammar_cache.expression import EMPTY, Bytes, Expression, Ref, Repeat

RULE = "ws"
DEEPEST_INDENTATION = 20


@dataclass(frozen=True, slots=True)
class Layout:
    """`gap` stands after commas, colons and opening brackets and before closing ones; `lead` before commas,
    colons and the whole text. Nothing ever stands after the last token."""

    gap: Expression
    lead: Expression
    comma: Expression
    colon: Expression

    @staticmethod
    def of(gap: Expression, lead: Expression) -> Layout:
        return Layout(gap, lead, seq(lead, Bytes(b","), gap), seq(lead, Bytes(b":"), gap))

    def enclosed(self, opening: bytes, content: Expression, closing: bytes) -> Expression:
        """Brackets around something that is not empty."""
        return seq(Bytes(opening), self.gap, content, self.gap, Bytes(closing))

    def empty(self, opening: bytes, closing: bytes) -> Expression:
        return seq(Bytes(opening), self.gap, Bytes(closing))


@cache
def layout(mode: Whitespace) -> Layout:
    match mode:
        case "compact":
            return Layout.of(EMPTY, EMPTY)
        case "bounded":
            return Layout.of(Ref(RULE), EMPTY)
        case "any":
            return Layout.of(Ref(RULE), Ref(RULE))


def rules(mode: Whitespace) -> dict[str, Expression]:
    """The rules that the layout of this mode refers to."""
    match mode:
        case "compact":
            return {}
        case "bounded":
            line = seq(Bytes(b"\n"), Repeat(chars(" \t"), 0, DEEPEST_INDENTATION))
            return {RULE: alt((EMPTY, Bytes(b" "), line))}
        case "any":
            return {RULE: Repeat(chars(" \t\n\r"), 0, None)}
