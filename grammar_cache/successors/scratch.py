"""Marks by configuration that walks over a vocabulary make and take back."""

from __future__ import annotations

import numpy as np

from grammar_cache.loops.array_types import Ints, Longs


class Scratch:
    """`shortest[configuration]`: -1 between walks. `found`: room for as many. `walked[configuration]`: below `serial`,
    which a walk takes to mark what it has come by, and counts on.
    """

    def __init__(self) -> None:
        self.shortest: Ints = np.empty(0, np.int32)
        self.found: Ints = np.empty(0, np.int32)
        self.walked: Longs = np.empty(0, np.int64)
        self.serial = 1

    @property
    def size_bytes(self) -> int:
        return self.shortest.nbytes + self.found.nbytes + self.walked.nbytes

    def make_room(self, count: int) -> None:
        """Makes room for so many configurations."""
        missing = count - len(self.shortest)
        if missing > 0:
            self.shortest = np.concatenate([self.shortest, np.full(missing, -1, np.int32)])
            self.found = np.concatenate([self.found, np.empty(missing, np.int32)])
            self.walked = np.concatenate([self.walked, np.zeros(missing, np.int64)])

    def release(self) -> None:
        """Gives back all room."""
        self.shortest, self.found = np.empty(0, np.int32), np.empty(0, np.int32)
        self.walked = np.empty(0, np.int64)
