"""Arrays kept in a folder: they come back as they were or not at all, and nothing that is wrong there is an error."""

from __future__ import annotations

import logging
import os
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from grammar_cache.arrays.disk_cache import KEPT, load, save

KEY = "a1"
ARRAYS: dict[str, NDArray[np.generic]] = {
    "bytes": np.frombuffer(b"abc", np.uint8),
    "none": np.zeros(0, np.int32),
    "two": np.ones((2, 3), np.int64),
}


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)


def same(found: dict[str, NDArray[np.generic]] | None) -> bool:
    """Names, types, shapes and elements; and compiled loops must see arrays of the type they saw before."""
    if found is None or list(found) != list(ARRAYS):
        return False
    pairs = [(found[name], array) for name, array in ARRAYS.items()]
    equal = all(one.dtype == other.dtype and np.array_equal(one, other) for one, other in pairs)
    return equal and all(array.flags.writeable and array.flags.c_contiguous for array in found.values())


def kept(folder: Path) -> Path:
    assert save(folder, KEY, ARRAYS)
    return folder / f"{KEY}.npz"


def test_arrays_come_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Saved arrays are loaded by their key only; the folder is made."""
    folder = tmp_path / "not" / "there"
    assert load(folder, KEY) is None
    assert save(folder, KEY, ARRAYS)
    assert same(load(folder, KEY))
    assert load(folder, "other") is None
    assert [path.name for path in folder.iterdir()] == ["a1.npz"]
    assert caplog.records == []


def test_any_damaged_byte_is_seen(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file with any one byte changed is nothing, and the log says so; saving again mends it."""
    path = kept(tmp_path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert load(tmp_path, KEY) is None
    assert len(caplog.records) == len(whole)
    assert save(tmp_path, KEY, ARRAYS)
    assert same(load(tmp_path, KEY))


def test_a_cut_file_is_seen(tmp_path: Path) -> None:
    """A file of any shorter length is seen, and one with something behind it."""
    path = kept(tmp_path)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert load(tmp_path, KEY) is None
    path.write_bytes(whole + b"\0")
    assert load(tmp_path, KEY) is None


def test_a_foreign_file_is_seen(tmp_path: Path) -> None:
    """A file saved under another key, an archive of somebody else, or a folder is not taken for ours."""
    path = kept(tmp_path)
    path.rename(tmp_path / "b2.npz")
    assert load(tmp_path, "b2") is None
    np.savez(path, allow=np.array([1]))
    assert load(tmp_path, KEY) is None
    np.save(path.with_suffix(".npy"), np.array([{}], object), allow_pickle=True)
    path.with_suffix(".npy").replace(path)
    assert load(tmp_path, KEY) is None
    path.unlink()
    path.mkdir()
    assert load(tmp_path, KEY) is None
    assert not save(tmp_path, KEY, ARRAYS)
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A folder that can't be written to keeps nothing, and the log says why."""
    (tmp_path / "file").write_text("")
    assert not save(tmp_path / "file", KEY, ARRAYS)
    assert not save(tmp_path / "file" / "below", KEY, ARRAYS)
    assert load(tmp_path / "file", KEY) is None
    assert "nothing is kept" in caplog.text


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that couldn't be written whole leaves nothing behind."""

    def full(number: int, mode: str) -> None:
        os.close(number)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grammar_cache.arrays.disk_cache.os.fdopen", full)
    assert not save(tmp_path, KEY, ARRAYS)
    assert list(tmp_path.iterdir()) == []


def test_the_number_of_files_is_bounded(tmp_path: Path) -> None:
    """The least recently used go, also what nobody finished long ago; other files stay."""
    now = time.time()
    for number in range(KEPT):
        assert save(tmp_path, f"k{number}", ARRAYS)
        os.utime(tmp_path / f"k{number}.npz", (now - 100 + number, now - 100 + number))
    for name, age in ((".begun-old", 7200), (".begun-new", 1), ("notes.txt", 7200)):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (now - age, now - age))
    assert same(load(tmp_path, "k0"))
    assert save(tmp_path, "new", ARRAYS)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"k0.npz", *(f"k{n}.npz" for n in range(2, KEPT)), "new.npz", ".begun-new", "notes.txt"}


def write_and_read(folder: Path, times: int) -> bool:
    return all(save(folder, KEY, ARRAYS) and same(load(folder, KEY)) for _ in range(times))


def test_writers_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Processes that write the same file at once all read it whole."""
    with get_context("spawn").Pool(2) as pool:
        assert pool.starmap(write_and_read, [(tmp_path, 60)] * 4) == [True] * 4
    assert [path.name for path in tmp_path.iterdir()] == ["a1.npz"]
