"""A store in a file, by SQLite: for one machine, and any number of processes at once.

Readers don't wait for a writer, nor a writer for readers (a write-ahead log, so the file must not be on a network file
system). A writer waits a while for another one, then gives up. A damaged file is put aside and a new one begun; one
that was removed is begun anew by whoever asks next.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from grammar_cache.store.contract import (
    SCHEMA,
    Change,
    Discard,
    Held,
    Info,
    Merge,
    Put,
    Release,
    Size,
    Store,
    StoreError,
    StoreLimits,
    StoreTimeout,
    Use,
)

WAIT_SECONDS = 0.25
RETRY_SECONDS = 0.005

_TABLES = (
    "CREATE TABLE infos (name TEXT PRIMARY KEY, origin TEXT, created REAL, used REAL, uses INTEGER)",
    "CREATE TABLE artefacts (name TEXT PRIMARY KEY, value BLOB)",
    "CREATE TABLE entries (name TEXT, key BLOB, value BLOB, PRIMARY KEY (name, key)) WITHOUT ROWID",
    "CREATE TABLE leases (name TEXT PRIMARY KEY, token TEXT, ends REAL)",
)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_log = logging.getLogger(__name__)


class EmbeddedStore(Store):
    """In the file of this path, whose folder is made. Connections are kept for the next call.

    `wait`: seconds for another process that writes.
    """

    def __init__(self, path: Path, limits: StoreLimits, wait: float = WAIT_SECONDS) -> None:
        self._path = path
        self._limits = limits
        self._wait = wait
        self._idle: list[tuple[sqlite3.Connection, int]] = []  # with the number of the file that each has open
        self._closed = False

    def look(self, names: Sequence[str]) -> list[Held | Size]:
        with self._connection() as connection:
            sizes = [_size(connection, name) for name in names]
            return [
                self._held(connection, name) if size.small else size for name, size in zip(names, sizes, strict=True)
            ]

    def load(self, name: str) -> Held:
        with self._connection() as connection:
            return self._held(connection, name)

    def write(self, changes: Sequence[Change]) -> None:
        with self._transaction() as connection:
            for change in changes:
                self._make(connection, change)
            self._shrink(connection)

    def acquire(self, name: str, token: str, seconds: float) -> bool:
        now = time.time()
        with self._transaction() as connection:
            connection.execute("DELETE FROM leases WHERE ends <= ?", (now,))
            connection.execute(
                "INSERT INTO leases VALUES (?, ?, ?)"
                " ON CONFLICT DO UPDATE SET ends = excluded.ends WHERE token = excluded.token",
                (name, token, now + seconds),
            )
            holder = connection.execute("SELECT token FROM leases WHERE name = ?", (name,)).fetchone()
        return bool(holder[0] == token)

    def infos(self, names: Sequence[str] | None = None) -> list[Info]:
        which = "" if names is None else " WHERE name IN (SELECT value FROM json_each(?))"
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT name, coalesce(length(value), 0),"
                " (SELECT count(*) FROM entries WHERE entries.name = infos.name), origin, created, used, uses"
                f" FROM infos LEFT JOIN artefacts USING (name){which} ORDER BY used DESC, name",
                () if names is None else (json.dumps(names),),
            ).fetchall()
        return [Info(*row) for row in rows]

    def remove(self, name: str) -> bool:
        with self._transaction() as connection:
            return _forget(connection, name)

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop()[0].close()

    def _held(self, connection: sqlite3.Connection, name: str) -> Held:
        artefact = connection.execute(
            "SELECT substr(value, 1, ?) FROM artefacts WHERE name = ?", (self._limits.artefact_bytes + 1, name)
        ).fetchone()
        entries = connection.execute(
            "SELECT key, value FROM entries WHERE name = ? AND length(key) = 16 AND length(value) <= ? LIMIT ?",
            (name, self._limits.entry_bytes, self._limits.entries),
        ).fetchall()
        return Held(artefact[0] if artefact else None, dict(entries))

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
        [count] = connection.execute("SELECT count(*) FROM entries WHERE name = ?", (name,)).fetchone()
        for key, value in entries:
            lesser = "UPDATE entries SET value = min(value, ?) WHERE name = ? AND key = ?"
            known = connection.execute(lesser, (value, name, key)).rowcount
            if not known and count < self._limits.entries:
                connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (name, key, value))
                count += 1

    def _shrink(self, connection: sqlite3.Connection) -> None:
        """To the limits, what was used least recently first; the file shrinks too."""
        before = time.time() - self._limits.kept_seconds
        for (name,) in connection.execute("SELECT name FROM infos WHERE used < ?", (before,)).fetchall():
            _forget(connection, name)
        while _bytes(connection) > self._limits.total_bytes:
            oldest = connection.execute("SELECT name FROM infos ORDER BY used, name LIMIT 1").fetchone()
            if oldest is None:
                break
            _forget(connection, oldest[0])
        connection.execute("PRAGMA incremental_vacuum").fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """One that nobody else uses. Where something fails it is closed, and what was begun is undone."""
        file = 0
        try:
            file = _number(self._path)
            connection, file = self._taken(file)
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
        except OSError as error:
            raise StoreError(str(error)) from error
        except sqlite3.Error as error:
            raise self._failure(error, file) from error
        self._idle.append((connection, file))
        if self._closed:
            self.close()

    def _taken(self, file: int) -> tuple[sqlite3.Connection, int]:
        while self._idle:
            connection, opened = self._idle.pop()
            if opened == file:
                return connection, file
            connection.close()  # somebody has put that file aside, or removed it
        self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, self._wait, isolation_level=None, check_same_thread=False)
        try:
            _use_log(connection, self._wait)
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection, _number(self._path)

    def _failure(self, error: sqlite3.Error, file: int) -> StoreError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _BUSY:
            return StoreTimeout(str(error))
        if code in _DAMAGED and file == _number(self._path):
            _log.warning("%s is damaged: it is put aside, and a new one begun", self._path)
            for end in ("-wal", "-shm"):
                Path(f"{self._path}{end}").unlink(missing_ok=True)
            self._path.replace(f"{self._path}.damaged")
        return StoreError(str(error))


def _number(path: Path) -> int:
    """Of the file that is there, 0 if none is. While somebody has a file open, no other one gets its number."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def _use_log(connection: sqlite3.Connection, wait: float) -> None:
    """A write-ahead log. Who finds another process about to do the same is told that at once, not after a wait."""
    until = time.monotonic() + wait
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > until:
                raise
            time.sleep(RETRY_SECONDS)
    connection.execute("PRAGMA synchronous = NORMAL")


def _prepare(connection: sqlite3.Connection) -> None:
    """Makes the tables of an empty file. Raises sqlite3.Error, StoreError for a file of another make."""
    if _schema(connection) == SCHEMA:
        return
    connection.execute("BEGIN IMMEDIATE")
    if _schema(connection) == 0:  # nobody was faster
        for statement in (*_TABLES, f"PRAGMA user_version = {SCHEMA}"):
            connection.execute(statement)
    connection.execute("COMMIT")
    if _schema(connection) != SCHEMA:
        raise StoreError(f"the file has version {_schema(connection)}, and {SCHEMA} is read")


def _schema(connection: sqlite3.Connection) -> int:
    [version] = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _size(connection: sqlite3.Connection, name: str) -> Size:
    artefact = connection.execute("SELECT length(value) FROM artefacts WHERE name = ?", (name,)).fetchone()
    [entries] = connection.execute("SELECT count(*) FROM entries WHERE name = ?", (name,)).fetchone()
    return Size(artefact[0] if artefact else 0, entries)


def _bytes(connection: sqlite3.Connection) -> int:
    """Of the pages that hold something."""
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
