"""Refusals as people read them: one line of error, and for a grammar the line of its text with a caret below."""

from __future__ import annotations

from argparse import Namespace
from typing import NamedTuple
from unicodedata import combining, east_asian_width

from grammar_cache.errors import GrammarError
from server.checking.json_text import Piece, read, write
from server.console.options import CONSTRAINTS, print_json, report, source
from server.protocol.errors import ApiError, of_grammar

WIDEST = 100
"""Characters of a line that are shown: schemas come in lines of any length."""


class Place(NamedTuple):
    """Line and column in a text, from 1."""

    line: int
    column: int


def refused(error: GrammarError | ApiError, arguments: Namespace, text: str | None, *, json: bool) -> None:
    """Tells it on the standard error; where the standard output is JSON, the error's body is there.

    `text` is that of the constraint, where there is one.
    """
    told = of_grammar(error, None) if isinstance(error, GrammarError) else error
    if json:
        print_json(told.body)
    report(f"swyb {arguments.command}: error: {told.message} [{told.code.value}]")
    if told.details.get("example"):
        report(f"  a shortest answer: {told.details['example']}")
    found = None if text is None else place_of(told, text)
    if text is not None and found is not None:
        report(excerpt(text, found, _source(arguments)))


def place_of(error: ApiError, text: str) -> Place | None:
    """Place that a refusal points to; None where it points to none."""
    line, column, pointer = (error.details.get(name) for name in ("line", "column", "pointer"))
    if isinstance(line, int) and isinstance(column, int):
        return Place(line, column)
    return pointed(text, pointer) if isinstance(pointer, str) else None


def pointed(text: str, pointer: str) -> Place | None:
    """Place where a value of a JSON text begins, or the name of a member; None where the pointer leads to another
    text. Only the whole of a text may be no JSON.
    """
    offset = 0
    for piece in write(read(text)) if pointer else (Piece(text, ""),):
        if piece.pointer == pointer:
            begin = offset + len(piece.text) - len(piece.text.lstrip(" \t\r\n"))
            return Place(text.count("\n", 0, begin) + 1, begin - text.rfind("\n", 0, begin))
        offset += len(piece.text)
    return None


def excerpt(text: str, place: Place, source: str) -> str:
    """Two lines: the one that is meant, behind its name and number, and a caret below the column."""
    lines = text.split("\n")
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    at = min(place.column - 1, len(line))
    first = max(0, at - WIDEST // 2)
    before, after = _printable(line[first:at]), _printable(line[at : first + WIDEST])
    cut = "…" if first else ""
    more = "…" if first + WIDEST < len(line) else ""
    head = f"  {source}:{place.line} | "
    under = " " * (_columns(head) - 2) + "| " + " " * _columns(cut + before)
    return f"{head}{cut}{before}{after}{more}\n{under}^"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _columns(text: str) -> int:
    """Width of a text in a terminal."""
    wide = sum(east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(combining(character) > 0 for character in text)


def _source(arguments: Namespace) -> str:
    """Source from which the constraint was read."""
    named = next((getattr(arguments, name) for name in CONSTRAINTS if getattr(arguments, name) is not None), None)
    return source(str(named or arguments.shipped))
