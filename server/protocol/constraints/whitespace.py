"""White space of JSON, as vLLM's fields say it: they are honoured where they mean a mode that is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from grammar_cache.constraint import Whitespace
from server.protocol.constraints.fields import StructuredOutputs
from server.protocol.errors import ApiError, ErrorCode

_ALL = re.compile(r"\[((?:\\[ntr]|[ \n\t\r])+)\]\*")
_ESCAPED = {r"\n": "\n", r"\t": "\t", r"\r": "\r"}


def modes(field: str, value: object) -> Iterator[tuple[str, Whitespace]]:
    """Modes that a field of a request asks for, with their paths. Raises ApiError for a pattern that is none."""
    if field == "guided_whitespace_pattern" and isinstance(value, str):
        yield field, mode(value, field)
    if not isinstance(value, StructuredOutputs):
        return
    if value.whitespace_pattern is not None:
        path = f"{field}.whitespace_pattern"
        yield path, mode(value.whitespace_pattern, path)
    if value.disable_any_whitespace:
        yield f"{field}.disable_any_whitespace", "compact"


def mode(pattern: str, field: str) -> Whitespace:
    """The mode that a pattern of white space means. Raises ApiError for another pattern."""
    if pattern == "":
        return "compact"
    found = _ALL.fullmatch(pattern)
    # All of JSON's own: what else \s matches, JSON doesn't allow.
    if pattern == r"\s*" or (found and _characters(found[1]) == set(" \t\n\r")):
        return "any"
    raise ApiError(
        ErrorCode.UNSUPPORTED_PARAMETER,
        rf'{field} is not supported but for "" and "[ \t\n\r]*": send swyb {{"whitespace": "bounded"}}, say',
        param=field,
    )


def _characters(inside: str) -> set[str]:
    return {_ESCAPED.get(found, found) for found in re.findall(r"\\?.", inside, re.DOTALL)}
