"""Admission of answers, by their number, and the stages of a server's life. Knows nothing of what answers are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from time import monotonic

from server.access.pace import Pace
from server.protocol.errors import ApiError, ErrorCode
from server.telemetry.record import NOBODY


class Stage(IntEnum):
    """Stage of a server on its way to its end; see `server.shutdown`."""

    OPEN = 0
    DRAINING = 1
    """Stage in which the server says that it isn't ready, and answers all the same."""
    CLOSED = 2
    """Stage in which what has been let in is answered, and nothing else."""
    FINISHING = 3
    """Answers end now."""


class Admission:
    """Turns away what finds its places taken: a queue that only grows serves nobody.

    Where there are several keys, none may take more places than it leaves free, beyond those that are decoded at a time
    (dynamic thresholds: Choudhury and Hahne, 1998): so whoever comes next finds some.
    """

    def __init__(self, running: int, waiting: int, clock: Callable[[], float] = monotonic) -> None:
        """`running`: answers that are decoded at a time; `waiting`: others that are let in."""
        self._running = running
        self.all = running + waiting
        self.taken = 0
        self.stage = Stage.OPEN
        self._held: Counter[str] = Counter()
        self._pace = Pace(clock)

    @contextmanager
    def places(self, count: int, key: str = NOBODY, *, among: bool = False) -> Iterator[None]:
        """Holds so many for a key, which may be `among` others. Raises ApiError(overloaded), or another one for more
        than there are.
        """
        if count > self.all:
            message = f"{count} answers are more than this server has places for: ask for {self.all} at most"
            raise ApiError(ErrorCode.ITEMS_EXCEEDED, message, details={"limit": "answers"})
        missing = self._missing(count, key, among=among)
        if missing > 0:
            wait = self._pace.wait(missing)
            message = f"{self.taken} answers are waiting or under way: try again in about {wait:.0f} seconds"
            raise ApiError(ErrorCode.OVERLOADED, message, details={"limit": "answers"}, retry_after=wait)
        self.taken += count
        self._held[key] += count
        try:
            yield
        finally:
            self.taken -= count
            self._held[key] -= count
            if not self._held[key]:
                del self._held[key]
            self._pace.freed(count)

    def _missing(self, count: int, key: str, *, among: bool) -> int:
        """Places that have to become free before so many may be taken."""
        free = self.all - self.taken
        if not among:
            return count - free
        own = self._held[key]
        return max(count - free, min(own + count - free, own + count - self._running))
