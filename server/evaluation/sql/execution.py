"""Running a query that nobody vouches for on an SQLite file: it reads, it ends, and it changes nothing.

The work of a query is bounded by instructions of SQLite's virtual machine, not by seconds: a verdict is the same on
every machine, however busy.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeAlias

Value: TypeAlias = int | float | str | bytes | None
Row: TypeAlias = tuple[Value, ...]

_READING = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE))
_TICK = 1000
"""Instructions between two looks at how many there were."""
_SYNTAX = re.compile(r"syntax error|incomplete input|unrecognized token|clause should come after|parser stack overflow")


class QueryFailed(Exception):
    """SQLite doesn't run the query; the message says why. `syntax`: its parser has refused the text."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.syntax = bool(_SYNTAX.search(message))


@dataclass(frozen=True, slots=True)
class Allowance:
    """Allowance of one query: instructions, rows that are fetched, bytes of a value."""

    instructions: int = 100_000_000
    rows: int = 50_000
    value_bytes: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Result:
    """The rows in their order; not `whole`: there were more than the allowance has."""

    rows: list[Row]
    whole: bool


def run_query(database: Path, query: str, allowance: Allowance = Allowance()) -> Result:
    """The result of one statement that only reads.

    Text that isn't UTF-8 loses the wrong bytes, as in Spider's own evaluation. Raises QueryFailed, FileNotFoundError.
    """
    if not database.is_file():
        raise FileNotFoundError(f"there is no database {database}")
    uri = f"{database.resolve().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        _restrict(connection, allowance)
        try:
            rows = connection.execute(query).fetchmany(allowance.rows + 1)
        # ValueError: a null character or a lone surrogate. sqlite3.Warning: a second statement (Python 3.11).
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            message = "too many instructions" if str(error) == "interrupted" else str(error)
            raise QueryFailed(message) from error
    return Result(rows[: allowance.rows], len(rows) <= allowance.rows)


def _restrict(connection: sqlite3.Connection, allowance: Allowance) -> None:
    ticks = count(1)
    most = allowance.instructions // _TICK
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, allowance.value_bytes)
    connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY)
    connection.set_progress_handler(lambda: next(ticks) > most, _TICK)
    connection.text_factory = lambda data: data.decode(errors="ignore")
