"""Keyring: all keys of a server, found by what a client shows, and read anew when their file has changed."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from server.access.key_file import read_keys
from server.access.keys import ANYBODY, SINGLE, Key, digest_of

LOOK_SECONDS = 1.0
"""Seconds between two looks whether the file has changed."""

_log = logging.getLogger(__name__)
_Stamp = tuple[int, int, int]


class Keyring:
    """Keyring of one server. One event loop uses it."""

    def __init__(self, single: str | None, path: Path | None, clock: Callable[[], float] = monotonic) -> None:
        """`single`: value of a key without limits. Raises OSError, or ValueError with a text that may be logged."""
        self._single = () if single is None else (Key(SINGLE, digest_of(single)),)
        self._path = path
        self._clock = clock
        self._stamp = None if path is None else _stamp(path)
        self._keys = self._single + (() if path is None else read_keys(path))
        self._next_look = clock() + LOOK_SECONDS
        self._complaint = ""

    @property
    def stale(self) -> bool:
        """Whether the file couldn't be read when it was last looked at, so that the keys are those from before."""
        return bool(self._complaint)

    @property
    def open(self) -> bool:
        """Whether no key is asked for."""
        return not self._single and self._path is None

    @property
    def several(self) -> bool:
        """Whether there are keys that may get into each other's way."""
        return len(self._keys) > 1

    def find(self, *values: str) -> Key | None:
        """The key that one of these values is, None if none is: an empty one never is. How long it takes tells nothing
        of the keys.
        """
        if self.open:
            return ANYBODY
        self._look()
        found = None
        for value in filter(None, values):
            digest = digest_of(value)
            for key in self._keys:
                if hmac.compare_digest(digest, key.digest):
                    found = key
        return found

    def _look(self) -> None:
        """Reads the file again if it has changed. What can't be read leaves the keys as they are, is told once, and is
        tried again.
        """
        if self._path is None or self._clock() < self._next_look:
            return
        self._next_look = self._clock() + LOOK_SECONDS
        try:
            stamp = _stamp(self._path)
            if stamp == self._stamp and not self.stale:
                return
            self._keys = self._single + read_keys(self._path)
            self._stamp = stamp
        except (OSError, ValueError) as error:
            if self._complaint != str(error):
                _log.error("the keys stay as they were: %s", error)
            self._complaint = str(error)
        else:
            self._complaint = ""
            _log.warning("the keys were read anew: %s", ", ".join(key.name for key in self._keys))


def _stamp(path: Path) -> _Stamp:
    """Stamp by which a changed file is known."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
