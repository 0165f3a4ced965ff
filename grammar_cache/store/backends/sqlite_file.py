"""The file of an embedded store: connections to it, kept for the next call; a damaged file, and one that is only read.

A damaged file is put aside and a new one begun; one that was removed is begun anew by whoever asks next. A file that
can't be written is read as it is. A file of somebody else's is refused before anything in it has changed.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from urllib.parse import quote

from grammar_cache.store.contract import SCHEMA, StoreError, StoreForeign, StoreReadOnly, StoreTimeout

RETRY_SECONDS = 0.005

_TABLES = (
    "CREATE TABLE infos (name TEXT PRIMARY KEY, origin TEXT, created REAL, used REAL, uses INTEGER)",
    "CREATE TABLE artefacts (name TEXT PRIMARY KEY, value BLOB)",
    "CREATE TABLE entries (name TEXT, key BLOB, value BLOB, PRIMARY KEY (name, key)) WITHOUT ROWID",
    "CREATE TABLE leases (name TEXT PRIMARY KEY, token TEXT, ends REAL)",
)
_OWN = {"infos", "artefacts", "entries", "leases"}
_APPLICATION = int.from_bytes(b"SWYB")
"""SQLite's `application_id` of a store. Files from before it was set are known by their tables."""
_HEADER = b"SQLite format 3\0"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_CLOSED = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
"""Errors of SQLite for a writer whose file can't be written. A file that can't even be read says the same once more
when it is opened for reading.
"""
_log = logging.getLogger(__name__)


class SqliteFile:
    """Any thread. `wait`: seconds for another process that writes."""

    def __init__(self, path: Path, wait: float) -> None:
        self._path = path
        self._wait = wait
        self._idle: list[tuple[sqlite3.Connection, int]] = []  # with the number of the file that each has open
        self._closed = False
        self._read_only = False

    def check(self) -> None:
        """Raises StoreForeign for a file that is there and no store, OSError. What else is wrong with it is told by the
        next call.
        """
        if not _number(self._path):
            return
        try:
            with self.reading():
                return
        except StoreForeign:
            raise
        except StoreError as error:
            _log.debug("%s: %s", self._path, error)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that nobody else uses. Where something fails it is closed, and what was begun is undone.

        Raises StoreError.
        """
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

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Connection for writing, with all that happens in the block done or undone. Raises StoreReadOnly too."""
        with self.reading() as connection:
            if self._read_only:
                raise StoreReadOnly(f"{self._path} can only be read")
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    def close(self) -> None:
        """Connections in use are closed when they are given back."""
        self._closed = True
        while self._idle:
            self._idle.pop()[0].close()

    def _taken(self, file: int) -> tuple[sqlite3.Connection, int]:
        while self._idle:
            connection, opened = self._idle.pop()
            if opened == file:
                return connection, file
            connection.close()  # somebody has put that file aside, or removed it
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if file:
                _check_header(self._path)
            connection = self._opened()
            self._read_only = False
        except sqlite3.OperationalError as error:
            if not file or error.sqlite_errorcode & 0xFF not in _CLOSED:
                raise
            connection = self._opened_to_read()
            self._note_read_only()
        return connection, _number(self._path)

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, self._wait, isolation_level=None, check_same_thread=False)
        try:
            begun = _is_store(connection, self._path)
            _use_log(connection, self._wait)
            if not begun:
                _begin(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _opened_to_read(self) -> sqlite3.Connection:
        """Connection that reads, with the log that goes with the file, if that can be had; else as a file that nobody
        changes.
        """
        address = f"file:{quote(str(self._path))}?"
        try:
            return self._readable(f"{address}mode=ro")
        except sqlite3.OperationalError:
            return self._readable(f"{address}mode=ro&immutable=1")

    def _readable(self, address: str) -> sqlite3.Connection:
        connection = sqlite3.connect(address, self._wait, isolation_level=None, check_same_thread=False, uri=True)
        try:
            if not _is_store(connection, self._path):
                raise StoreError(f"{self._path} is empty, and can only be read")
        except BaseException:
            connection.close()
            raise
        return connection

    def _note_read_only(self) -> None:
        if not self._read_only:
            _log.warning("%s can only be read: nothing is added to it", self._path)
        self._read_only = True

    def _failure(self, error: sqlite3.Error, file: int) -> StoreError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _BUSY:
            return StoreTimeout(str(error))
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY:
            self._note_read_only()
            return StoreReadOnly(str(error))
        if code in _DAMAGED and file == _number(self._path) and not self._read_only:
            try:
                self._put_aside()
            except OSError as refused:
                return StoreError(f"{error}; it can't be put aside: {refused}")
        return StoreError(str(error))

    def _put_aside(self) -> None:
        """Makes room for a new file, unless somebody else has been faster. Files that were put aside before stay.

        Raises OSError.
        """
        for end in ("-wal", "-shm"):
            Path(f"{self._path}{end}").unlink(missing_ok=True)
        names = (f"{self._path}.damaged{number or ''}" for number in count())
        with suppress(FileNotFoundError):
            self._path.replace(next(name for name in names if not Path(name).exists()))
            _log.warning("%s was damaged: it is put aside, and a new one begun", self._path)


def _number(path: Path) -> int:
    """Number of the file that is there, 0 if none is. While somebody has a file open, no other one gets its number."""
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


def _check_header(path: Path) -> None:
    """Raises StoreForeign for what is there and no database, OSError."""
    if path.exists() and not path.is_file():
        raise StoreForeign(f"{path} is no store of this program, nor a file")
    with path.open("rb") as file:
        begin = file.read(len(_HEADER))
    if not _HEADER.startswith(begin):  # an empty file is begun
        raise StoreForeign(f"{path} is no store of this program")


def _is_store(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is a store, or else an empty one.

    Raises StoreForeign for a database of somebody else's, StoreError for a store of another version, sqlite3.Error.
    """
    connection.execute("BEGIN")  # all answers are of one moment
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master").fetchall()}
    version, application = _pragma(connection, "user_version"), _pragma(connection, "application_id")
    connection.execute("COMMIT")
    if not tables and (version, application) == (0, 0):
        return False
    if application != _APPLICATION and not tables >= _OWN:
        raise StoreForeign(f"{path} is no store of this program")
    if version != SCHEMA:
        raise StoreError(f"the file has version {version}, and {SCHEMA} is read")
    return True


def _begin(connection: sqlite3.Connection) -> None:
    """Makes the tables of an empty file. Raises sqlite3.Error."""
    connection.execute("BEGIN IMMEDIATE")
    if _pragma(connection, "user_version") == 0:  # nobody was faster
        numbers = (f"PRAGMA user_version = {SCHEMA}", f"PRAGMA application_id = {_APPLICATION}")
        for statement in (*_TABLES, *numbers):
            connection.execute(statement)
    connection.execute("COMMIT")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    [number] = connection.execute(f"PRAGMA {name}").fetchone()
    return int(number)
