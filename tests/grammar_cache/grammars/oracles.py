"""Judges of the shipped languages: libraries that know them, or a few lines of recursive descent.

Each oracle answers whether a text is right. None of them knows a grammar of ours. `json`, `ast` and the like take more
than our grammars do (any white space, for example), so that they are asked about accepted texts only.
"""

from __future__ import annotations

import ast
import csv
import json
import re
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime
from io import StringIO

SEMANTIC = re.compile(
    r"no such (table|column)|ambiguous (column name|reference to)|cannot join using column"
    r"|misuse of (aliased )?(aggregate|window)|aggregate functions are not allowed|same number of result columns"
    r"|(ORDER|GROUP) BY term (out of range|does not match)|ON clause references tables to its right"
    r"|sub-select returns|values for \d+ columns|duplicate WITH table name|circular reference"
    r"|recursive (table|reference)"
)
"""SQLite's messages on a query whose syntax is right: no context-free grammar could know better."""
FUNCTIONS = re.compile(
    r"no such function|wrong number of arguments|may not be used (as a window function|with non-aggregate)"
    r"|FILTER clause may only be used"
)
"""SQLite's messages on function calls whose syntax is right. A grammar could know better, by a list of functions."""


def sql(text: str, database: sqlite3.Connection, *, any_function: bool = False) -> str | None:
    """Objection of SQLite to the syntax of a query, or None."""
    try:
        database.execute(f"EXPLAIN {text}")
    except sqlite3.Error as error:
        message = str(error)
        passes = SEMANTIC.search(message) or (any_function and FUNCTIONS.search(message))
        return None if passes else message
    return None


_UNKNOWN = re.compile(r"no such (?:table: (?P<table>.*)|column: (?:(?P<qualifier>.*)\.)?(?P<column>.*))", re.DOTALL)


def unknown_name(text: str, database: sqlite3.Connection) -> tuple[str, str]:
    """The first name that SQLite doesn't know: a table or qualifier, and a column. Empty where there is none."""
    try:
        database.execute(f"EXPLAIN {text}")
    except sqlite3.Error as error:
        if found := _UNKNOWN.match(str(error)):
            return found["table"] or found["qualifier"] or "", found["column"] or ""
    return "", ""


def is_json(text: str) -> bool:
    return _passes(json.loads, text)


def is_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return _passes(ast.parse, text)


def is_arithmetic(text: str) -> bool:
    """Python's own expressions of numbers, the four operations and negation."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    allowed = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub)
    return all(isinstance(node, allowed) for node in ast.walk(tree))


def is_date(text: str) -> bool:
    return _passes(datetime.fromisoformat, text)


def is_csv(text: str) -> bool:
    """Read strictly, and written again the same but for quotation marks that weren't needed, and line breaks."""
    try:
        rows = list(csv.reader(StringIO(text, newline=""), strict=True))
    except csv.Error:
        return False
    written = StringIO(newline="")
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return bool(rows) and all(rows) and list(csv.reader(StringIO(written.getvalue(), newline=""), strict=True)) == rows


def _passes(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except (ValueError, SyntaxError):
        return False
    return True


_LTL = re.compile(r" *(<->|<=>|->|=>|<>|\[\]|&&|\|\||/\\|\\/|[!~XFG&|UWRM()01]|[a-z_][a-z_0-9]*)")
_UNARY = {"!", "~", "X", "F", "G", "<>", "[]"}
_BINARY = {"U", "W", "R", "M", "&", "&&", "/\\", "|", "||", "\\/", "->", "=>", "<->", "<=>"}


def is_ltl(text: str) -> bool:
    """Formulas with any spacing: an operand, then pairs of an operator and an operand, parentheses counted."""
    tokens = list(_tokens(_LTL, text))
    if "" in tokens:
        return False
    depth, wants_operand = 0, True
    for token in tokens:
        if wants_operand:
            if token == "(":
                depth += 1
            elif token not in _UNARY:
                if token in _BINARY or token == ")":
                    return False
                wants_operand = False
        elif token == ")":
            depth -= 1
            if depth < 0:
                return False
        elif token in _BINARY:
            wants_operand = True
        else:
            return False
    return not wants_operand and depth == 0


_LISP = re.compile(
    r'[ \n]*([()\']|"(?:[^"\\\n]|\\["\\nt])*"|[+-]?\d+(?:\.\d+)?(?=[ \n()]|$)|\.(?=[ \n])|(?![\d.])[^ \n()"\';`,#|\\]+)'
)


def is_s_expression(text: str) -> bool:
    """One expression: open lists on an explicit stack, each with how many items it has and what its dot still wants."""
    stack: list[tuple[int, str]] = [(0, "")]
    quoted = False
    for token in _tokens(_LISP, text):
        items, dot = stack[-1]
        if token == "":
            return False
        if token == "'":
            if quoted:
                return False
            quoted = True
        elif token == "." and not quoted:
            if len(stack) == 1 or not items or dot:
                return False
            stack[-1] = (items, "wants")
        elif token == ")":
            if len(stack) == 1 or dot == "wants" or quoted:
                return False
            stack.pop()
        else:
            if dot == "has" or token == ".":
                return False
            stack[-1] = (items + 1, "has" if dot else "")
            quoted = False
            if token == "(":
                stack.append((0, ""))
    return len(stack) == 1 and stack[0][0] == 1 and not quoted


def _tokens(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    """The tokens, and the empty text where none can be read."""
    offset = 0
    while offset < len(text.rstrip(" \n")):
        found = pattern.match(text, offset)
        if found is None:
            yield ""
            return
        yield found[1]
        offset = found.end()
