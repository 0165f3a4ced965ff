"""Named arrays in a folder, kept from one process for the next: what is slow to make and follows from its key.

A file is an .npz archive and, behind it, the checksum of the key and of the archive: what was damaged, cut or renamed
is never opened. It is written beside its place and renamed, so that it is there whole or not at all, whoever else
writes. Whatever is wrong with a file or with the folder costs time and nothing else: the arrays are made again. Who
can write to the folder is trusted, as with the model's own files. This module doesn't know what the arrays mean.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import mkstemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEPT = 8
"""Files in a folder; the least recently used go first. A vocabulary takes 2 to 15 MB."""
ABANDONED = 3600.0
"""Seconds after which a file that nobody finished is removed."""

_BEGUN = ".begun-"
_CHECKSUM_BYTES = sha256().digest_size
_log = logging.getLogger(__name__)


def load(folder: Path, key: str) -> dict[str, NDArray[Any]] | None:
    """The arrays that were saved under the key (letters and digits); None: nothing, or nothing that can be trusted."""
    path = _path(folder, key)
    try:
        whole = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _log.warning("%s can't be read and will be made again: %s", path, error)
        return None
    archive, checksum = memoryview(whole)[:-_CHECKSUM_BYTES], whole[-_CHECKSUM_BYTES:]
    if checksum != _checksum(key, archive):
        _log.warning("%s is not what was saved and will be made again", path)
        return None
    with suppress(OSError):  # where only others may write, nothing is removed either
        os.utime(path)
    with np.load(BytesIO(archive), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def save(folder: Path, key: str, arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether they were kept."""
    archive = BytesIO()
    np.savez(archive, **arrays)  # type: ignore[arg-type]  # some versions have one more argument by name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(_path(folder, key), archive.getbuffer(), _checksum(key, archive.getbuffer()))
        _trim(folder)
    except OSError as error:
        _log.warning("nothing is kept in %s: %s", folder, error)
        return False
    return True


def _path(folder: Path, key: str) -> Path:
    return folder / f"{key}.npz"


def _checksum(key: str, archive: memoryview) -> bytes:
    digest = sha256(f"{key}\n".encode())
    digest.update(archive)
    return digest.digest()


def _write(path: Path, archive: memoryview, checksum: bytes) -> None:
    number, name = mkstemp(prefix=_BEGUN, dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(archive)
            file.write(checksum)
        Path(name).chmod(0o644)  # made for its owner only; the server may be another
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _trim(folder: Path) -> None:
    """Drops files beyond the bound. Other processes trim as well: a file that is gone is gone."""
    ages = {}
    for path in folder.iterdir():
        if path.suffix == ".npz" or path.name.startswith(_BEGUN):
            with suppress(FileNotFoundError):
                ages[path] = path.stat().st_mtime
    finished = sorted((path for path in ages if path.suffix == ".npz"), key=ages.__getitem__)
    abandoned = [path for path in ages if path.suffix != ".npz" and ages[path] < time.time() - ABANDONED]
    for path in [*finished[: max(0, len(finished) - KEPT)], *abandoned]:
        path.unlink(missing_ok=True)
