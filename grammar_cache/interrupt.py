"""Interruption of work that nobody waits for any more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.errors import Interrupted


class Interrupt:
    """Set once, by any thread. Long loops look at it: Python by `check`, compiled ones at `flag`."""

    __slots__ = ("_set", "flag")

    def __init__(self) -> None:
        self.flag: NDArray[np.uint8] = np.zeros(1, np.uint8)
        self._set = False

    def set(self) -> None:
        """Whoever was given this object stops soon, by raising Interrupted."""
        self._set = True
        self.flag[0] = 1

    def check(self) -> None:
        """Raises Interrupted."""
        if self._set:
            raise Interrupted("nobody waits for this any more")
