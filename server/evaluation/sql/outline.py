"""The tables of an SQLite file in few tokens, for a prompt. Knows no grammar."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from grammar_cache.grammars.sql_schema import RESERVED
from server.evaluation.sql.database_names import tables_of

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIZE = re.compile(r"\s*\([^)]*\)")


def outline(database: Path) -> str:
    """One CREATE TABLE statement a line: columns with their types and what they refer to.

    Sizes of types, keys and other constraints are left out; views stand as tables. Raises sqlite3.Error where the file
    is no database.
    """
    tables = tables_of(database)
    with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        return "\n".join(_statement(connection, table, columns) for table, columns in tables.items())


def spelled(name: str) -> str:
    """A name as the grammar of its database has it: in quotation marks only where SQLite needs them."""
    if _PLAIN.fullmatch(name) and name.lower() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def _statement(connection: sqlite3.Connection, table: str, columns: list[str]) -> str:
    types = dict(connection.execute("SELECT name, type FROM pragma_table_xinfo(?)", (table,)).fetchall())
    links = connection.execute('SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)', (table,)).fetchall()
    targets = {source: (target, column) for source, target, column in links}
    listed = ", ".join(_column(name, types[name], targets.get(name)) for name in columns)
    return f"CREATE TABLE {spelled(table)} ({listed});"


def _column(name: str, type_: str, target: tuple[str, str | None] | None) -> str:
    words = [spelled(name), _SIZE.sub("", type_)]
    if target is not None:
        table, column = target
        words.append(f"REFERENCES {spelled(table)}" + (f"({spelled(column)})" if column else ""))
    return " ".join(word for word in words if word)
