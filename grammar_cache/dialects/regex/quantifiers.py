"""Quantifiers: how often what stands before them is repeated."""

from __future__ import annotations

import re

from grammar_cache.dialects.regex.escapes import Scanner

MAX_COUNT = 10**9
"""Counts in braces beyond this are taken for an attack."""

_COUNTS = re.compile(r"\{([0-9]*)(?:(,)([0-9]*))?\}")
_SIMPLE: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def at_quantifier(cursor: Scanner) -> bool:
    """Whether a quantifier comes next. Raises GrammarSyntaxError for one that ECMA-262 doesn't have."""
    char = cursor.peek()
    return char in _SIMPLE or (char == "{" and _counts(cursor) is not None)


def read_quantifier(cursor: Scanner) -> tuple[int, int | None] | None:
    """The least and the most times that the quantifier at the cursor says, which is then passed; None where there is
    none. Raises GrammarSyntaxError, LimitExceeded(expression_size).
    """
    start, char = cursor.offset, cursor.peek()
    if char in _SIMPLE:
        cursor.offset += 1
        return _SIMPLE[char]
    found = _counts(cursor) if char == "{" else None
    if found is None:
        return None
    cursor.offset = found.end()
    least = _count(cursor, found[1] or "0", start)
    most = _count(cursor, found[3], start) if found[3] else None if found[2] else least
    if most is not None and most < least:
        raise cursor.syntax_error(f"the counts {least} and {most} are in the wrong order", start)
    return least, most


def _counts(cursor: Scanner) -> re.Match[str] | None:
    """The counts in braces at the cursor; other braces are ordinary characters."""
    found = _COUNTS.match(cursor.text, cursor.offset)
    if found is None or not (found[1] or found[2]):
        return None
    if cursor.ecma and not found[1]:
        raise cursor.syntax_error("{,n} is not a quantifier of ECMA-262: write {0,n}", cursor.offset)
    return found


def _count(cursor: Scanner, digits: str, start: int) -> int:
    digits = digits.lstrip("0") or "0"
    if len(digits) > 10 or int(digits) > MAX_COUNT:
        raise cursor.limit_exceeded(f"a count beyond {MAX_COUNT}", "expression_size", start)
    return int(digits)
