"""A store in a file: several processes, limits, clocks, readers."""

from __future__ import annotations

import ctypes
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from grammar_cache.store.backends.sqlite import EmbeddedStore
from grammar_cache.store.contract import (
    Held,
    Merge,
    Put,
    StoreLimits,
    StoreReadOnly,
    StoreTimeout,
    Use,
)
from tests.documents import ROOT
from tests.grammar_cache.store.backends.test_contract import KEY, NOW, A, B, C

WRITER = """
import sys, types
from pathlib import Path
package = types.ModuleType("grammar_cache")  # without all that the whole package imports
package.__path__ = ["grammar_cache"]
sys.modules["grammar_cache"] = package
from grammar_cache.store.contract import Merge, StoreLimits
from grammar_cache.store.backends.sqlite import EmbeddedStore
store = EmbeddedStore(Path(sys.argv[1]), StoreLimits(), wait=60)  # a slow disk is no failure
own, now = int(sys.argv[2]), float(sys.argv[3])
print("ready", flush=True)
sys.stdin.read()
for n in range(30):
    store.write([Merge("a" * 32, {n.to_bytes(16, "big"): bytes([own, n])}, now)])
"""


def store_in(folder: Path, **limits: int) -> EmbeddedStore:
    return EmbeddedStore(folder / "store.sqlite3", StoreLimits(**limits))


def some_bytes(count: int) -> bytes:
    return random.Random(count).randbytes(count)


def test_processes_write_at_once(tmp_path: Path) -> None:
    """Three that begin together, with no file there yet: none fails, and nothing is lost."""
    path = tmp_path / "folder" / "store.sqlite3"
    commands = [[sys.executable, "-c", WRITER, str(path), own, str(NOW)] for own in ("3", "1", "2")]
    pipe = subprocess.PIPE
    with ExitStack() as started:
        processes = [
            subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe, stderr=pipe) for command in commands
        ]
        for process in processes:
            started.enter_context(process)
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in processes:
            assert process.stderr is not None
            assert (process.stderr.read(), process.wait()) == ("", 0)
    store = EmbeddedStore(path, StoreLimits())
    assert store.load(A).entries == {n.to_bytes(16, "big"): bytes([1, n]) for n in range(30)}
    store.close()


def test_the_file_has_its_limit(tmp_path: Path) -> None:
    """The least recently used go, and the file shrinks with them."""
    store = store_in(tmp_path, total_bytes=1 << 20)
    for number in range(20):
        store.write([Put(f"{number:032x}", some_bytes(100_000), "me", NOW + number)])
    kept = [int(info.name, 16) for info in store.infos()]
    assert kept == list(range(19, 19 - len(kept), -1))
    assert 8 <= len(kept) <= 10
    store.close()
    assert os.path.getsize(tmp_path / "store.sqlite3") <= 1.2 * (1 << 20)


@pytest.fixture
def days(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], float]:
    """Sets the clock of this process to so many days from now."""

    def later(days: float) -> float:
        monkeypatch.setattr(time, "time", lambda: NOW + 86_400 * days)
        return NOW + 86_400 * days

    return later


def names(store: EmbeddedStore) -> set[str]:
    return {info.name for info in store.infos()}


def test_what_nobody_uses_goes(tmp_path: Path, days: Callable[[float], float]) -> None:
    """An unused entry goes after its time, and a day's notice; what is used meanwhile stays."""
    store, seconds = store_in(tmp_path), StoreLimits().kept_seconds
    store.write([Put(A, b"1", "me", NOW), Put(B, b"2", "me", NOW)])
    store.write([Put(C, b"3", "me", days(seconds / 86_400 + 1))])
    store.write([Use(B, days(seconds / 86_400 + 1.5))])
    store.write([Use(C, days(seconds / 86_400 + 2.1))])
    assert names(store) == {B, C}
    store.close()


def test_a_clock_that_is_ahead_takes_nothing_away(tmp_path: Path, days: Callable[[float], float]) -> None:
    """Somebody writes on a day that is far off, again and again; then the clock is put right, and off once more."""
    store, written = store_in(tmp_path), {f"{number:032x}" for number in range(9)}
    store.write([Put(name, b"1", "me", days(0)) for name in sorted(written)])
    for _ in range(3):
        for hours in range(3):
            store.write([Put(B, b"2", "ahead", days(31 + hours / 24))])
        assert names(store) >= {*written, B}
        store.write([Put(C, b"2", "me", days(0.1))])
    store.write([Put(C, b"2", "me", days(1.2))])
    assert names(store) == {*written, B, C}
    store.close()


def test_where_room_is_short_a_time_to_come_counts_as_now(tmp_path: Path, days: Callable[[float], float]) -> None:
    """An entry by a clock that is ahead isn't kept for longer than what is used now."""
    days(0)
    store = store_in(tmp_path, total_bytes=1 << 20)
    store.write([Put("0" * 32, some_bytes(100_000), "ahead", NOW + 31 * 86_400)])
    for number in range(1, 20):
        store.write([Put(f"{number:032x}", some_bytes(100_000), "me", NOW)])
    assert "0" * 32 not in names(store)
    store.close()


def test_a_lease_of_a_clock_that_is_ahead(tmp_path: Path, days: Callable[[float], float]) -> None:
    """A lease by a clock that is ahead, whose holder has died, keeps others no longer than any lease."""
    store = store_in(tmp_path)
    days(31)
    assert store.acquire(A, "dead", 3)
    days(0)
    assert not store.acquire(A, "me", 3)
    days(4 / 86_400)
    assert store.acquire(A, "me", 3)
    store.close()


@contextmanager
def without_rights(folder: Path) -> Iterator[None]:
    """Runs a block in which this thread can't write to the folder, though it be root's."""
    files = ctypes.CDLL(None)
    modes = {path: path.stat().st_mode for path in (folder, *folder.iterdir())}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222 | 0o444)
    user = files.setfsuid(65534)
    try:
        yield
    finally:
        files.setfsuid(user)
        for path, mode in modes.items():
            path.chmod(mode)


@pytest.mark.parametrize("writer", ["gone", "there"])
def test_a_file_that_can_only_be_read(writer: str, caplog: pytest.LogCaptureFixture) -> None:
    """A file that can only be read serves who comes after the writer or beside it; nothing is written, and one line
    says so.
    """
    with TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder = Path(name)
        folder.chmod(0o755)
        first = store_in(folder)
        first.write([Put(A, b"1", "me", NOW), Merge(A, {KEY: b"1"}, NOW)])
        if writer == "gone":
            first.close()
        with without_rights(folder):
            store = store_in(folder)
            assert store.load(A) == Held(b"1", {KEY: b"1"})
            assert [info.name for info in store.infos()] == [A]
            for _ in range(3):
                with pytest.raises(StoreReadOnly):
                    store.write([Put(A, b"2", "me", NOW)])
                with pytest.raises(StoreReadOnly):
                    store.acquire(A, "me", 3)
            assert store.load(A).artefact == b"1"
            store.close()
        first.close()
    assert [record.getMessage() for record in caplog.records] == [
        f"{name}/store.sqlite3 can only be read: nothing is added to it"
    ]


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    """Somebody else is in the middle of writing: reading goes on, writing is given up in time."""
    store = store_in(tmp_path)
    store.write([Put(A, b"1", "me", NOW)])
    other = sqlite3.connect(tmp_path / "store.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert store.load(A).artefact == b"1"
    with pytest.raises(StoreTimeout):
        store.write([Put(A, b"2", "me", NOW)])
    other.execute("COMMIT")
    store.write([Put(A, b"2", "me", NOW)])
    assert store.load(A).artefact == b"2"
    other.close()
    store.close()
