"""A circuit breaker: after some failures in a row nobody is let through for a while, then one, to see how things are.

It writes one line of the log when it opens, and one when it closes. Where it opens again soon, pauses go on from where
they were: so who fails now and then isn't told about all day.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from time import monotonic

FAILURES = 3
"""Failures in a row after which the breaker opens."""
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 30.0
"""Seconds; whenever the one that is let through fails, the next pause is twice as long. After the longest without a
failure they begin anew."""

_log = logging.getLogger(__name__)


class Breaker:
    """Whoever is admitted tells how it went, once: `succeeded`, `failed` or `learned_nothing`. Any thread."""

    def __init__(self, what: str, clock: Callable[[], float] = monotonic) -> None:
        """`what`: the log's subject."""
        self._what = what
        self._clock = clock
        self._lock = Lock()
        self._failures = 0
        self._pause = 0.0  # 0: closed
        self._last = 0.0  # the pause before it closed,
        self._calm = 0.0  # and when that is over and done with
        self._ends = 0.0
        self._looking = False  # somebody was let through in the open state

    @property
    def open(self) -> bool:
        return self._pause > 0

    def admits(self) -> bool:
        """Whether to go on. When a pause is over one caller may, and the others wait for what becomes of it."""
        with self._lock:
            if not self._pause:
                return True
            if self._looking or self._clock() < self._ends:
                return False
            self._looking = True
            return True

    def succeeded(self) -> None:
        with self._lock:
            if self._pause:
                self._last, self._calm = self._pause, self._clock() + LONGEST_PAUSE
                _log.warning("%s: on again", self._what)
            self._failures, self._pause, self._looking = 0, 0.0, False

    def failed(self, error: Exception) -> None:
        with self._lock:
            self._failures += 1
            if self._pause and not self._looking:
                return  # it had been let through before the others failed
            if self._pause:
                self._pause = min(2 * self._pause, LONGEST_PAUSE)
            elif self._failures >= FAILURES:
                again = self._clock() < self._calm
                self._pause = min(2 * self._last, LONGEST_PAUSE) if again else FIRST_PAUSE
                _log.warning("%s: off for now (%s)", self._what, error)
            self._looking = False
            self._ends = self._clock() + self._pause

    def learned_nothing(self) -> None:
        """Lets somebody else look."""
        with self._lock:
            self._looking = False
