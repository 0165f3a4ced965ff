"""Files that are no store: they are refused, and nothing of them or beside them changes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from grammar_cache.limits import Limits
from grammar_cache.store.backends.sqlite import EmbeddedStore
from grammar_cache.store.contract import Put, StoreError, StoreForeign, StoreLimits
from grammar_cache.store.opening import StoreAddressError, open_database
from tests.grammar_cache.store.backends.test_contract import NOW, A

DAMAGED = b"SQLite format 3\0" + b"\xff" * 10_000


def somebodys(path: Path, *statements: str) -> None:
    """Makes a database that isn't ours."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def held(folder: Path) -> dict[str, bytes]:
    """Files of a folder, and what is in them."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE people (name TEXT)", "INSERT INTO people VALUES ('Ada')"],
        ["PRAGMA journal_mode = WAL", "CREATE TABLE people (name TEXT)"],
        ["CREATE TABLE infos (name TEXT)", "PRAGMA user_version = 1"],
        ["PRAGMA user_version = 7"],
        ["PRAGMA application_id = 252006674"],
    ],
)
def test_a_database_of_somebody_else_is_left_alone(tmp_path: Path, statements: list[str]) -> None:
    """Tables or marks of another program: neither opening nor asking nor writing changes anything."""
    path = tmp_path / "people.db"
    somebodys(path, *statements)
    before = held(tmp_path)
    with pytest.raises(StoreAddressError, match=r"people\.db is no store of this program"):
        open_database(f"sqlite://{path}", Limits(), origin="me")
    store = EmbeddedStore(path, StoreLimits())
    with pytest.raises(StoreForeign):
        store.look([A])
    with pytest.raises(StoreForeign):
        store.write([Put(A, b"1", "me", NOW)])
    store.close()
    assert held(tmp_path) == before


@pytest.mark.parametrize("content", [b"{}", b'{"a": 1}\n' * 1000, b"SQLite format 2\0" + bytes(5000), bytes(4096)])
def test_what_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """A text isn't put aside as if it were a damaged store, and gets no secret beside it."""
    path = tmp_path / "notes.json"
    path.write_bytes(content)
    with pytest.raises(StoreAddressError, match=r"notes\.json is no store of this program"):
        open_database(f"sqlite://{path}", Limits(), origin="me", secret="x" * 32)
    with pytest.raises(StoreAddressError):
        open_database(f"sqlite://{path}", Limits(), origin="me")
    assert held(tmp_path) == {"notes.json": content}


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreAddressError, match="folder is no store of this program, nor a file"):
        open_database(f"sqlite://{tmp_path}/folder", Limits(), origin="me")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_stores_from_before_they_had_a_mark_go_on(tmp_path: Path) -> None:
    """A store without an `application_id` is known by its tables; a new one has the mark. An empty file is begun."""
    path = tmp_path / "store.sqlite3"
    path.touch()
    store = EmbeddedStore(path, StoreLimits())
    store.write([Put(A, b"1", "me", NOW)])
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"SWYB"),)
        connection.execute("PRAGMA application_id = 0")
    store = EmbeddedStore(path, StoreLimits())
    store.check()
    assert store.load(A).artefact == b"1"
    store.close()


def test_files_that_were_put_aside_stay(tmp_path: Path) -> None:
    """A second damaged file takes another name."""
    path = tmp_path / "store.sqlite3"
    for number in range(3):
        path.write_bytes(DAMAGED + bytes([number]))
        store = EmbeddedStore(path, StoreLimits())
        with pytest.raises(StoreError):
            store.look([A])
        store.close()
    assert held(tmp_path) == {
        f"store.sqlite3.damaged{end}": DAMAGED + bytes([number]) for number, end in enumerate(("", "1", "2"))
    }


def test_who_only_reads_begins_no_store(tmp_path: Path) -> None:
    """Whoever wants a store that is there is told that there is none: no folder, no file, no secret is made."""
    with pytest.raises(StoreAddressError, match="there is no store at"):
        open_database(f"sqlite://{tmp_path}/new/store.sqlite3", Limits(), origin="me", begin=False)
    assert list(tmp_path.iterdir()) == []
