"""Members of a request's objects: which are ours, which are refused and how, and that null is absence."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from difflib import get_close_matches

from server.protocol.errors import ApiError, ErrorCode
from server.protocol.foreign_fields import Foreign

LONGEST_TOLD = 100
"""Characters of an unknown member's name that an error repeats."""


def without_neutral(
    given: Mapping[str, object], known: Collection[str], foreign: Mapping[str, Foreign], path: str = ""
) -> dict[str, object]:
    """The members that are ours. Raises ApiError at a foreign one that asks for a thing, or an unknown one."""
    kept: dict[str, object] = {}
    for name, value in given.items():
        if name in known:
            kept[name] = value
        elif name not in foreign:
            told = path + name[:LONGEST_TOLD]
            raise ApiError(ErrorCode.UNKNOWN_PARAMETER, f"{told}: {unknown_member(name, known)}", param=told)
        elif value is not None and not _is_neutral(value, foreign[name].neutral):
            raise _unsupported(path + name, foreign[name])
    return kept


def unknown_member(name: str, known: Collection[str]) -> str:
    """The complaint about a member that an object doesn't have: the closest known name, and all of them."""
    close = get_close_matches(name[:LONGEST_TOLD], known, 1, 0.5)
    meant = f"; did you mean {close[0]}?" if close else "."
    return f"unknown field{meant} Known here: {', '.join(known)}"


def _unsupported(told: str, foreign: Foreign) -> ApiError:
    values = ", ".join(json.dumps(value) for value in foreign.neutral)
    message = f"{told} is not supported{f' but for {values}' if values else ''}: {foreign.instead}"
    return ApiError(ErrorCode.UNSUPPORTED_PARAMETER, message, param=told)


def _is_neutral(value: object, neutral: Collection[object]) -> bool:
    # True == 1 in Python: a number where a boolean is meant, or the reverse, is a mistake to be told.
    return any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in neutral)
