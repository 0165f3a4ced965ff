"""Token bucket (RFC 2697's meter): so much in a minute, as much at once, and how long to wait for more."""

from __future__ import annotations

from collections.abc import Callable

MINUTE = 60.0
ROUNDING = 1e-6
"""Share of a unit that may be missing: sums of times are not exact, and a client that was told when isn't refused."""


class TokenBucket:
    """Bucket that holds what a minute allows, and fills at that rate."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._level = float(per_minute)
        self._looked = clock()

    def wait(self, amount: float) -> float:
        """Seconds until so much, at most `per_minute`, can be taken if nobody else takes any; 0: now."""
        self._fill()
        missing = amount - self._level
        return missing * MINUTE / self.per_minute if missing > ROUNDING else 0.0

    def take(self, amount: float) -> None:
        """Takes so much; what is not there is owed."""
        self._fill()
        self._level -= amount

    def give_back(self, amount: float) -> None:
        """Gives back what was taken and isn't needed."""
        self._fill()
        self._level = min(float(self.per_minute), self._level + amount)

    def _fill(self) -> None:
        now = self._clock()
        self._level = min(float(self.per_minute), self._level + (now - self._looked) * self.per_minute / MINUTE)
        self._looked = now
