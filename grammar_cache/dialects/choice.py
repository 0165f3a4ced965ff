"""A list of texts, one of which is the answer: a JSON array of strings.

It is read item by item, since only strings may stand in it: no nesting, however deep, is ever followed.
"""

from __future__ import annotations

import json
import re

from grammar_cache.dialects.position import line_and_column
from grammar_cache.errors import GrammarSyntaxError, LimitExceeded
from grammar_cache.expression import Alt, Expression, Grammar
from grammar_cache.expression import text as literal
from grammar_cache.limits import DEFAULT_LIMITS, Limits

START_RULE = "root"
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def parse(text: str, *, limits: Limits = DEFAULT_LIMITS) -> Grammar:
    """Any one of the strings in the array; repeated ones count once."""
    if len(text.encode(errors="surrogatepass")) > limits.text_bytes:
        raise LimitExceeded(f"choice: longer than {limits.text_bytes} bytes", limit="text_bytes", pointer="")
    items: dict[str, Expression] = {}
    for index, value in enumerate(_strings(text)):
        if value not in items:
            try:
                items[value] = literal(value)
            except UnicodeEncodeError as error:
                raise GrammarSyntaxError("choice: a lone surrogate", pointer=f"/{index}") from error
    if not items:
        raise GrammarSyntaxError("choice: an empty list", pointer="")
    choices = tuple(items.values())
    return Grammar({START_RULE: choices[0] if len(choices) == 1 else Alt(choices)}, START_RULE)


def _strings(text: str) -> list[str]:
    offset = _skip_space(text, 0)
    if not text.startswith("[", offset):
        raise _refused("not a JSON array of strings", text, offset, pointer="")
    offset = _skip_space(text, offset + 1)
    values: list[str] = []
    if not text.startswith("]", offset):
        value, offset = _string(text, offset, 0)
        values.append(value)
        while text.startswith(",", offset):
            value, offset = _string(text, _skip_space(text, offset + 1), len(values))
            values.append(value)
    if not text.startswith("]", offset):
        raise _refused("not JSON: expected , or ]", text, offset)
    offset = _skip_space(text, offset + 1)
    if offset < len(text):
        raise _refused("not JSON: more text behind the array", text, offset)
    return values


def _string(text: str, offset: int, index: int) -> tuple[str, int]:
    """The string at `offset`, and the offset of what follows it."""
    if offset >= len(text) or text[offset] in ",]":
        raise _refused("not JSON: expected a string", text, offset)
    if text[offset] != '"':
        raise _refused("not a string", text, offset, pointer=f"/{index}")
    try:
        value, end = _DECODER.raw_decode(text, offset)
    except json.JSONDecodeError as error:
        raise _refused(f"not JSON: {error.msg}", text, error.pos) from error
    return value, _skip_space(text, end)


def _skip_space(text: str, offset: int) -> int:
    found = _SPACE.match(text, offset)
    return found.end() if found else offset


def _refused(message: str, text: str, offset: int, pointer: str | None = None) -> GrammarSyntaxError:
    line, column = line_and_column(text, offset)
    return GrammarSyntaxError(f"choice: {message}", pointer=pointer, line=line, column=column)
