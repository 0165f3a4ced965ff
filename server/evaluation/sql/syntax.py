"""Queries as sqlglot reads them: a parser that is neither ours nor SQLite's.

sqlglot is lenient. It takes what no SQLite does (`SELECT`, `SELECT a, FROM t`, `SELECT a FROM t GROUP BY`), and falls
back to an opaque command for statements that it doesn't know. What SQLite's own parser says of a text is found out by
running it: see `server.evaluation.sql.execution`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import ErrorLevel, TokenType, exp
from sqlglot.dialects import SQLite
from sqlglot.errors import ParseError, SqlglotError

_OPENINGS = (TokenType.SELECT, TokenType.WITH)
_FRAMES = 10_000
"""Calls within calls. Python's own bound lets sqlglot read 46 nested parentheses, and SQLite reads 93."""


def syntax_error(text: str) -> str | None:
    """Reason why a text isn't one query of SQLite (SELECT, a set operation, either with WITH before it); None if it
    is.
    """
    dialect = SQLite()
    try:
        tokens = dialect.tokenize(text)
        if not tokens or tokens[0].token_type not in _OPENINGS:
            return "a query begins with SELECT or WITH"
        with _deep_recursion():
            statements = dialect.parser(error_level=ErrorLevel.RAISE).parse(tokens, text)
    except SqlglotError as error:
        return _first_line(error)
    except RecursionError:
        return "nested too deeply"
    if len(statements) != 1:
        return f"{len(statements)} statements"
    if not isinstance(statements[0], exp.Select | exp.SetOperation):
        return "another statement than a query"
    return None


def without_distinct(query: str) -> str:
    """The query without the word DISTINCT, except in quotation marks. Raises SqlglotError for what isn't tokens."""
    kept, start = [], 0
    for token in SQLite().tokenize(query):
        if token.token_type == TokenType.DISTINCT:
            kept.append(query[start : token.start])
            start = token.end + 1
    return "".join([*kept, query[start:]])


@contextmanager
def _deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _first_line(error: SqlglotError) -> str:
    """The message without the excerpt of the text, which sqlglot colours for terminals."""
    if isinstance(error, ParseError) and error.errors:
        return str(error.errors[0]["description"])
    return str(error).partition("\n")[0]
