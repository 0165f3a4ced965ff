"""A store in a file that is damaged, removed or another program's."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from grammar_cache.store.backends.sqlite import EmbeddedStore
from grammar_cache.store.contract import (
    Held,
    Info,
    Merge,
    Put,
    StoreError,
    StoreLimits,
    Use,
)
from tests.grammar_cache.store.backends.test_contract import KEY, NOW, A, B
from tests.grammar_cache.store.backends.test_sqlite import some_bytes, store_in

DAMAGE = b"SQLite format 3\0" + b"\xff" * 10_000


def test_a_damaged_file_is_put_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The call that finds out fails; the next one begins anew. What was damaged can be looked at."""
    path = tmp_path / "store.sqlite3"
    path.write_bytes(DAMAGE)
    store = store_in(tmp_path)
    with caplog.at_level(logging.WARNING), pytest.raises(StoreError):
        store.load(A)
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} was damaged: it is put aside, and a new one begun"
    ]
    store.write([Put(A, b"1", "me", NOW)])
    assert store.load(A).artefact == b"1"
    assert (tmp_path / "store.sqlite3.damaged").read_bytes() == DAMAGE
    store.close()


def test_who_finds_the_damaged_file_gone_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has put it aside in between, or nobody can: both are errors of the store."""
    path = tmp_path / "store.sqlite3"
    path.write_bytes(DAMAGE)
    store, replace = store_in(tmp_path), Path.replace

    def faster(self: Path, target: str) -> Path:
        replace(self, target)
        return replace(self, target)

    def without_rights(self: Path, target: str) -> Path:
        raise PermissionError("not yours")

    with monkeypatch.context() as refused:
        refused.setattr(Path, "replace", without_rights)
        with pytest.raises(StoreError, match="can't be put aside: not yours"):
            store.load(A)
    with monkeypatch.context() as raced:
        raced.setattr(Path, "replace", faster)
        with pytest.raises(StoreError):
            store.load(A)
    store.write([Put(A, b"1", "me", NOW)])
    assert store.load(A).artefact == b"1"
    store.close()


def test_damage_under_way_ends_in_a_new_file(tmp_path: Path) -> None:
    """Pages are overwritten while two have it open: both go on with one new file in the end."""
    one, two = store_in(tmp_path), store_in(tmp_path)
    one.write([Put(A, some_bytes(100_000), "me", NOW), Merge(A, {KEY: b"1"}, NOW)])
    assert two.load(A).entries == {KEY: b"1"}
    one.close()
    with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    with (tmp_path / "store.sqlite3").open("r+b") as file:
        file.seek(1024)
        file.write(b"\xff" * 200_000)
    for store in (store_in(tmp_path), two):
        for _ in range(5):
            try:
                store.write([Merge(A, {KEY: b"2"}, NOW)])
            except StoreError:
                continue
        assert store.load(A) == Held(None, {KEY: b"2"})
        store.close()


def test_a_removed_file_is_begun_anew(tmp_path: Path) -> None:
    """A removed file is begun anew by whoever asks next, though they still have the old one open."""
    store = store_in(tmp_path)
    store.write([Put(A, b"1", "me", NOW)])
    for path in tmp_path.iterdir():
        path.unlink()
    assert store.load(A) == Held()
    store.write([Put(A, b"2", "me", NOW)])
    other = store_in(tmp_path)
    assert other.load(A).artefact == b"2"
    store.close()
    other.close()


def test_a_file_of_another_version_is_left_alone(tmp_path: Path) -> None:
    """A file of another version is neither read nor changed."""
    path = tmp_path / "store.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 77")
        for name in ("infos", "artefacts", "entries", "leases"):
            connection.execute(f"CREATE TABLE {name} (x)")
    connection.close()
    store = store_in(tmp_path)
    with pytest.raises(StoreError, match="version 77"):
        store.look([A])
    with pytest.raises(StoreError, match="version 77"):
        store.write([Put(A, b"2", "me", NOW)])
    assert sqlite3.connect(path).execute("SELECT count(*) FROM infos").fetchone() == (0,)


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    """A folder that can't be made, and one where the file would be: typed errors, whoever runs this."""
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder.sqlite3").mkdir()
    for path in (tmp_path / "file" / "store.sqlite3", tmp_path / "folder.sqlite3"):
        store = EmbeddedStore(path, StoreLimits())
        with pytest.raises(StoreError):
            store.look([A])


def test_an_error_undoes_what_was_begun(tmp_path: Path) -> None:
    """A batch that fails in the middle leaves nothing behind, and the store goes on."""
    store = store_in(tmp_path)
    wrong = Merge(A, {KEY: object()}, NOW)  # type: ignore[dict-item]  # what no cell holds fails behind the first
    with pytest.raises(StoreError):
        store.write([Put(A, b"1", "me", NOW), wrong])
    assert store.load(A) == Held()
    store.write([Put(A, b"1", "me", NOW)])
    assert store.load(A) == Held(b"1")
    store.close()


@pytest.mark.parametrize("kind", ["TEXT", "INTEGER", "REAL", "NULL"])
def test_cells_of_other_types(tmp_path: Path, kind: str) -> None:
    """Cells that have rotted, or that somebody else has written, are not read and give way, and no lease lasts."""
    store, value = store_in(tmp_path), "NULL" if kind == "NULL" else f"CAST(value AS {kind})"
    for name in (A, B):
        store.write([Put(name, some_bytes(50), "me", NOW), Merge(name, {KEY: some_bytes(40)}, NOW)])
    store.acquire(A, "another", 60)
    with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as connection, connection:
        connection.execute(f"UPDATE artefacts SET value = {value} WHERE name = ?", (A,))
        connection.execute(f"UPDATE entries SET value = {value} WHERE name = ?", (A,))
        connection.execute("UPDATE entries SET key = 'sixteen letters.' WHERE name = ?", (B,))
        connection.execute("UPDATE leases SET ends = 'never'" if kind == "TEXT" else "UPDATE leases SET ends = NULL")
    assert store.look([A, B]) == [Held(), Held(some_bytes(50))]
    assert (store.load(A), store.load(B)) == (Held(), Held(some_bytes(50)))
    assert store.acquire(A, "me", 60)
    store.write([Put(A, b"new", "me", NOW), *(Merge(name, {KEY: b"\xff"}, NOW) for name in (A, B))])
    assert (store.load(A), store.load(B)) == (Held(b"new", {KEY: b"\xff"}), Held(some_bytes(50), {KEY: b"\xff"}))
    store.close()


@pytest.mark.parametrize("cell", ["'x'", "x'ff'", "NULL", "9e999", "-1", "1e300"])
def test_information_of_other_types(tmp_path: Path, cell: str) -> None:
    """Cells that have rotted are told as if nothing were known, and uses are counted on; others are told as ever."""
    store = store_in(tmp_path)
    store.write([Put(A, b"1", "me", NOW), Put(B, b"1", "me", NOW), Use(B, NOW)])
    with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as connection, connection:
        for column in ("created", "used", "uses", *(() if "x" not in cell else ("origin",))):
            connection.execute(f"UPDATE infos SET {column} = {cell} WHERE name = ?", (A,))
    told = {info.name: info for info in store.infos()}
    assert (told[A].created, told[A].used, told[A].uses) == (0, 0, 0)
    assert told[A].origin == {"'x'": "x", "x'ff'": "\ufffd"}.get(cell, "me")
    assert told[B] == Info(B, 1, 0, "me", NOW, NOW, 1)
    store.write([Use(A, NOW)])
    assert len(store.infos()) == 2
    store.close()
