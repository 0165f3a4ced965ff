"""A store in a file, by SQLite: for one machine, and any number of processes at once.

Readers don't wait for a writer, nor a writer for readers (a write-ahead log, so the file must not be on a network file
system). A writer waits a while for another one, then gives up. Whose clock is wrong takes nothing from others that a
right one wouldn't: see `_age`.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from grammar_cache.store.backends.sqlite_file import SqliteFile
from grammar_cache.store.contract import (
    Change,
    Discard,
    Held,
    Info,
    Merge,
    Put,
    Release,
    Size,
    Store,
    StoreLimits,
    Use,
)

WAIT_SECONDS = 0.25
NOTICE_SECONDS = 86400
"""Between the notice that something is old and its end: a clock that is ahead is put right within a day."""


_OURS = "typeof(value) = 'blob'"
"""Condition on values that may be ours. What is of another type, in a file that has rotted or that somebody else has
written to, is not read, and gives way to what is written.
"""
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM entries WHERE name = ? LIMIT ?)"
_NOTICES = "CREATE TABLE IF NOT EXISTS notices (name TEXT PRIMARY KEY, at REAL)"


class EmbeddedStore(Store):
    """Store in the file of this path, whose folder is made. Connections are kept for the next call.

    `wait`: seconds for another process that writes.
    """

    def __init__(self, path: Path, limits: StoreLimits, wait: float = WAIT_SECONDS) -> None:
        self._limits = limits
        self._file = SqliteFile(path, wait)

    def check(self) -> None:
        """Raises StoreForeign for a file that is there and no store, OSError."""
        self._file.check()

    def look(self, names: Sequence[str]) -> list[Held | Size]:
        with self._file.reading() as connection:
            sizes = [self._size(connection, name) for name in names]
            return [
                self._held(connection, name) if size.small else size for name, size in zip(names, sizes, strict=True)
            ]

    def load(self, name: str) -> Held:
        with self._file.reading() as connection:
            return self._held(connection, name)

    def write(self, changes: Sequence[Change]) -> None:
        with self._file.writing() as connection:
            for change in changes:
                self._make(connection, change)
            self._shrink(connection)

    def acquire(self, name: str, token: str, seconds: float) -> bool:
        now = time.time()
        with self._file.writing() as connection:
            connection.execute("DELETE FROM leases WHERE ends <= ? OR typeof(ends) <> 'real'", (now,))
            # Nobody's lease is longer than one's own: its holder, whose clock may be ahead, renews it if it is alive.
            connection.execute(
                "INSERT INTO leases VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
                " SET ends = iif(token = excluded.token, excluded.ends, min(ends, excluded.ends))",
                (name, token, now + seconds),
            )
            holder = connection.execute("SELECT token FROM leases WHERE name = ?", (name,)).fetchone()
        return bool(holder[0] == token)

    def infos(self, names: Sequence[str] | None = None) -> list[Info]:
        which = "" if names is None else " WHERE name IN (SELECT value FROM json_each(?))"
        with self._file.reading() as connection:
            rows = connection.execute(
                "SELECT name, coalesce(length(value), 0),"
                " (SELECT count(*) FROM entries WHERE entries.name = infos.name), origin, created, used, uses"
                f" FROM infos LEFT JOIN artefacts USING (name){which} ORDER BY used DESC, name",
                () if names is None else (json.dumps(names),),
            ).fetchall()
        return [Info.read(*row) for row in rows]

    def remove(self, *names: str) -> bool:
        with self._file.writing() as connection:
            return sum(_forget(connection, name) for name in names) > 0

    def close(self) -> None:
        self._file.close()

    def _held(self, connection: sqlite3.Connection, name: str) -> Held:
        artefact = connection.execute(
            f"SELECT substr(value, 1, ?) FROM artefacts WHERE name = ? AND {_OURS}",
            (self._limits.artefact_bytes + 1, name),
        ).fetchone()
        entries = connection.execute(
            f"SELECT key, value FROM entries WHERE name = ? AND {_OURS} AND typeof(key) = 'blob'"
            f" AND length(key) = 16 AND length(value) <= ? AND ({_COUNT}) <= ?",
            (name, self._limits.entry_bytes, name, self._limits.entries + 1, self._limits.entries),
        ).fetchall()
        return Held(artefact[0] if artefact else None, dict(entries))

    def _size(self, connection: sqlite3.Connection, name: str) -> Size:
        length = f"SELECT length(value) FROM artefacts WHERE name = ? AND {_OURS}"
        artefact = connection.execute(length, (name,)).fetchone()
        return Size(artefact[0] if artefact else 0, self._count(connection, name))

    def _count(self, connection: sqlite3.Connection, name: str) -> int:
        """Number of a table's values; none where there are more than any of our processes writes."""
        most = self._limits.entries
        [count] = connection.execute(_COUNT, (name, most + 1)).fetchone()
        return int(count) if count <= most else 0

    def _make(self, connection: sqlite3.Connection, change: Change) -> None:
        match change:
            case Put(name, value, origin, at):
                connection.execute("INSERT OR REPLACE INTO artefacts VALUES (?, ?)", (name, value))
                connection.execute(
                    "INSERT INTO infos VALUES (?, ?, ?, ?, 0)"
                    " ON CONFLICT DO UPDATE SET origin = excluded.origin, used = max(used, excluded.used)",
                    (name, origin, at, at),
                )
            case Merge(name, entries, at):
                self._merge(connection, name, entries.items())
                connection.execute(
                    "INSERT INTO infos VALUES (?, '', ?, ?, 0) ON CONFLICT DO UPDATE SET used = max(used, ?)",
                    (name, at, at, at),
                )
            case Discard(name, entries):
                wrong = [(name, *entry) for entry in entries.items()]
                connection.executemany("DELETE FROM entries WHERE name = ? AND key = ? AND value = ?", wrong)
            case Use(name, at):
                connection.execute("UPDATE infos SET uses = uses + 1, used = max(used, ?) WHERE name = ?", (at, name))
            case Release(name, token):
                connection.execute("DELETE FROM leases WHERE name = ? AND token = ?", (name, token))

    def _merge(self, connection: sqlite3.Connection, name: str, entries: Iterable[tuple[bytes, bytes]]) -> None:
        count = self._count(connection, name)
        if not count:
            connection.execute("DELETE FROM entries WHERE name = ?", (name,))
        for key, value in entries:
            lesser = f"UPDATE entries SET value = iif({_OURS}, min(value, ?1), ?1) WHERE name = ?2 AND key = ?3"
            known = connection.execute(lesser, (value, name, key)).rowcount
            if not known and count < self._limits.entries:
                connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (name, key, value))
                count += 1

    def _shrink(self, connection: sqlite3.Connection) -> None:
        """Shrinks the store to its limits, what was used least recently first; the file shrinks too."""
        now = time.time()
        self._age(connection, now)
        while _bytes(connection) > self._limits.total_bytes:
            oldest = connection.execute("SELECT name FROM infos ORDER BY min(used, ?), name LIMIT 1", (now,)).fetchone()
            if oldest is None:
                break
            _forget(connection, oldest[0])
        connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _age(self, connection: sqlite3.Connection, now: float) -> None:
        """Gives notice to what nobody uses, and removes what has had notice for a while.

        A clock that is ahead gives notice to everything. The next one that is right takes it back.
        """
        before = now - self._limits.kept_seconds
        connection.execute(_NOTICES)
        young = "name NOT IN (SELECT name FROM infos WHERE used < ?)"
        connection.execute(f"DELETE FROM notices WHERE at > ? OR {young}", (now, before))
        due = connection.execute("SELECT name FROM notices WHERE at <= ?", (now - NOTICE_SECONDS,)).fetchall()
        for (name,) in due:
            _forget(connection, name)
        connection.execute("INSERT OR IGNORE INTO notices SELECT name, ? FROM infos WHERE used < ?", (now, before))


def _bytes(connection: sqlite3.Connection) -> int:
    """Bytes of the pages that hold something."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _forget(connection: sqlite3.Connection, name: str) -> bool:
    counts = [
        connection.execute(f"DELETE FROM {table} WHERE name = ?", (name,)).rowcount
        for table in ("infos", "artefacts", "entries")
    ]
    return any(counts)
