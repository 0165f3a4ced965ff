"""Loading of a schema's text as values, with every number exact and no depth beyond the limit.

Knows JSON, not JSON Schema.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import NoReturn, TypeAlias

import numpy as np

from grammar_cache.dialects.position import line_and_column
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded
from grammar_cache.limits import Limits

Json: TypeAlias = "bool | int | Decimal | str | list[Json] | dict[str, Json] | None"

_LONGEST_NUMBER = 4000
_TOLD = 50
"""Characters of a literal by which it is found again."""
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_SURROGATES = re.compile(
    r"\\\\|\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]|(?P<lone>\\u[dD][89a-fA-F])"  # an escaped backslash, a pair, or one
)


def load(text: str, limits: Limits, subject: str = "the schema") -> Json:
    """The value of a JSON text (RFC 8259; neither NaN nor Infinity, no lone surrogates, no name twice in an object).

    `subject`: that of messages. Raises GrammarSyntaxError, LimitExceeded(text_bytes, nesting).
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise _syntax(text, f"{subject} holds a lone surrogate", error.start) from error
    if size > limits.text_bytes:
        message = f"{subject} is longer than {limits.text_bytes} bytes"
        raise LimitExceeded(message, limit="text_bytes", line=1, column=1)
    _check_nesting(text, limits.nesting, subject)
    try:
        value: Json = json.loads(
            text, parse_float=_decimal, parse_int=_integer, parse_constant=_refuse, object_pairs_hook=_unique
        )
    except json.JSONDecodeError as error:
        raise _syntax(text, f"{subject} is not JSON: {error.msg}", error.pos) from error
    except _Unreadable as error:
        raise _syntax(text, f"{subject} {error}", _place(text, error.literal)) from error
    escaped = _SURROGATES.finditer(text) if "\\u" in text else ()
    lone = next((match for match in escaped if match["lone"]), None)
    if lone is not None:
        raise _syntax(text, f"{subject} holds a lone surrogate, which UTF-8 can't write", lone.start())
    return value


class _Unreadable(Exception):
    """A literal that is no number of JSON, or too large a one. The message lacks its subject."""

    def __init__(self, message: str, literal: str) -> None:
        super().__init__(message)
        self.literal = literal


def _place(text: str, literal: str) -> int:
    """Offset of a literal outside of strings."""
    found = re.finditer(rf'"(?:[^"\\]++|\\.)*+"|(?P<literal>{re.escape(literal[:_TOLD])})', text)
    return next((match.start() for match in found if match["literal"]), 0)


def _check_nesting(text: str, most: int, subject: str) -> None:
    if text.count("[") + text.count("{") <= most:
        return
    if _deepest(text) <= most:
        return
    depth = 0
    for match in _BRACKETS.finditer(text):
        bracket = match[0][0]
        if bracket in "[{":
            depth += 1
            if depth > most:
                message = f"{subject} nests more than {most} levels"
                line, column = line_and_column(text, match.start())
                raise LimitExceeded(message, limit="nesting", line=line, column=column)
        elif bracket in "]}":
            depth -= 1


def _deepest(text: str) -> int:
    """Levels of brackets outside of strings, as far as the text is JSON."""
    plain = text.replace("\\\\", "").replace('\\"', "") if "\\" in text else text
    codes = np.frombuffer(plain.encode("ascii", "replace"), np.uint8)
    outside = np.cumsum(codes == ord('"')) % 2 == 0
    opened = np.cumsum(outside & ((codes == ord("[")) | (codes == ord("{"))))
    closed = np.cumsum(outside & ((codes == ord("]")) | (codes == ord("}"))))
    return int(np.max(opened - closed, initial=0))


_ZERO = Decimal("0.0")
"""Zero, however it is written: by its exponent 0E70 would count as a large number, and by its sign -0.0 as negative."""


def _decimal(literal: str) -> Decimal:
    if len(literal) > _LONGEST_NUMBER:
        raise _Unreadable(f"holds a number of more than {_LONGEST_NUMBER} characters", literal)
    try:
        return Decimal(literal) or _ZERO
    except InvalidOperation as error:
        raise _Unreadable(f"holds a number out of range: {literal}", literal) from error


def _integer(literal: str) -> int:
    if len(literal) > _LONGEST_NUMBER:
        raise _Unreadable(f"holds a number of more than {_LONGEST_NUMBER} digits", literal)
    return int(literal)


def _unique(members: list[tuple[str, Json]]) -> dict[str, Json]:
    # Parsers differ in which of the two counts: what one has checked another would not enforce.
    made = dict(members)
    if len(made) < len(members):
        [(name, _)] = Counter(name for name, _ in members).most_common(1)
        raise GrammarSyntaxError(f"an object has the name {name[:_TOLD]!r} twice")
    return made


def _refuse(literal: str) -> NoReturn:
    raise _Unreadable(f"is not JSON: {literal} is not a number of JSON", literal)


def _syntax(text: str, message: str, place: int) -> GrammarSyntaxError:
    line, column = line_and_column(text, place)
    return GrammarSyntaxError(message, line=line, column=column)
