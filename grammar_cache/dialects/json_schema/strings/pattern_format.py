"""The format `regex`: patterns that ECMA-262 allows, with and without its flag `u`, and Python too.

A part of them: groups three deep, no back-references, no lookaround, no names.
"""

from __future__ import annotations

from grammar_cache.dialects.json_schema.expressions.combine import alt, optional, seq
from grammar_cache.dialects.regex import compiler as regex
from grammar_cache.expression import NOTHING, Bytes, Expression, Repeat

DEPTH = 3
"""Groups inside of each other."""

_LITERAL = r"[^\x00-\x1f\x7f\\^$.*+?()\[\]{}|/]"
_UNIT = "[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|[dD][0-7][0-9A-Fa-f]{2}"
_ESCAPE = rf"\\(?:[dDwWsSfnrtv\\^$.*+?()\[\]{{}}|/]|x[0-9A-Fa-f]{{2}}|u(?:{_UNIT}))"
_IN_CLASS = r"[^\x00-\x1f\x7f\\\[\]^&|~-]"
"""Characters that stand for themselves in a class in every reading, sets of sets included."""


def _ranges(letters: str) -> str:
    return "|".join(f"{first}-[{first}-{letters[-1]}]" for first in letters)


_RANGE = "|".join(map(_ranges, ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")))
_CLASS = rf"\[\^?(?:{_RANGE}|{_IN_CLASS}|{_ESCAPE}|\\-)+\]"
_ASCENDING = "|".join(f"{least},[{least}-9]" for least in range(10))
_COUNT = rf"(?:0|[1-9][0-9]{{0,2}}),?|{_ASCENDING}|[0-9],[1-9][0-9]{{1,2}}"
_QUANTIFIER = rf"(?:[*+?]|\{{(?:{_COUNT})\}})\??"
_ATOM = rf"(?:\.|{_LITERAL}|{_ESCAPE}|{_CLASS})"


def _disjunction(depth: int) -> Expression:
    quantifier = optional(regex.parse(_QUANTIFIER))
    group = NOTHING if depth == 0 else seq(Bytes(b"("), optional(Bytes(b"?:")), _disjunction(depth - 1), Bytes(b")"))
    atom = alt(item for item in (regex.parse(_ATOM), group) if item != NOTHING)
    return Repeat(alt((seq(atom, quantifier), *map(Bytes, (b"^", b"$", b"|")))), 0, None)


PATTERN = _disjunction(DEPTH)
