"""Pace at which places become free, and so how long to wait for some: an estimate, by what was seen of late."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

SEEN = 64
"""Places that were freed last, by which the pace is told."""
LEAST_SECONDS, MOST_SECONDS = 1.0, 60.0
"""Bounds of what is told: so that nobody asks in a hurry, or stays away for good."""


class Pace:
    """Pace of one set of places."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._freed: deque[tuple[float, int]] = deque(maxlen=SEEN)

    def freed(self, places: int) -> None:
        """Notes that so many places are free again."""
        self._freed.append((self._clock(), places))

    def wait(self, places: int) -> float:
        """Seconds in which about so many places will be free, if it goes on as it did."""
        if len(self._freed) < 2:
            return LEAST_SECONDS
        freed = sum(count for _, count in self._freed)
        # A standstill since then counts: what was quick an hour ago says little.
        seconds = self._clock() - self._freed[0][0]
        return min(max(places * seconds / freed, LEAST_SECONDS), MOST_SECONDS)
