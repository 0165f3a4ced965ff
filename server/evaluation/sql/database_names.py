"""Names in an SQLite database, for a grammar of its queries (`sql_grammar`). Knows no grammar."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def tables_of(database: Path) -> dict[str, list[str]]:
    """The tables and views of an SQLite file with their columns, in the order of their definition.

    The file is opened for reading only. Raises sqlite3.Error where it is no database.
    """
    with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        ).fetchall()
        columns = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid"
        return {table: [column for (column,) in connection.execute(columns, (table,))] for (table,) in tables}
