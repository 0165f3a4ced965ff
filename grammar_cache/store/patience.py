"""Patience of callers that wait for an answer of the store: as long as it usually takes, or as long as an answer is
worth.

What it usually takes is estimated as TCP does for retransmissions (RFC 6298): the mean of what was seen and four times
its mean deviation, both with more weight on what was last. An answer is worth a share of what compiling has cost here,
of late. Answers that come too late for their caller are seen all the same, so a store that is slow but well is found
out. One that hangs is not seen any more, and so costs the share, or what it used to take before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import TypeVar

T = TypeVar("T")

_MEAN, _DEVIATION, _SPREAD = 1 / 8, 1 / 4, 4
"""RFC 6298: weights of what was last seen, and how many mean deviations an answer may be late."""
_GRANULARITY = 0.02
"""Seconds that it may be late in any case: threads of a busy process wait for each other, 5 ms at a time."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Waiting times of callers, in seconds. A decode step never waits for an answer."""

    wait_least: float = 0.005
    """Seconds to wait for an answer, however little it is worth."""

    wait_most: float = 2.0
    """Seconds to wait for an answer, however much it is worth."""

    wait_share: float = 0.1
    """Share of what compiling costs that is worth waiting for an answer, of a grammar that then need not be compiled.
    """

    wait_usual: float = 0.25
    """Seconds to wait for a store that usually takes up to so long, whatever compiling costs; and while that is
    unknown.
    """

    per_byte: float = 1e-7
    """Seconds more for each byte of an artefact that is there: that of a slow network, 10 MB/s."""

    per_entry: float = 3e-5
    """Seconds more for each entry that is there."""

    write: float = 1.0
    """Seconds for a batch to be written, by a thread that nobody waits for."""

    lease: float = 3.0
    """Seconds after which a process that compiles, and doesn't say that it still does, counts as dead."""


class Patience:
    """Patience with one store. Any thread."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._lock = Lock()
        self._usual: float | None = None  # seconds of an answer, None: none has been seen
        self._deviation = 0.0
        self._cost: float | None = None  # seconds of compiling, None: nothing has been compiled

    @property
    def usual(self) -> float | None:
        """Seconds that an answer takes, of late; None before the first."""
        return self._usual

    @property
    def seconds(self) -> float:
        """Seconds to wait for an answer now."""
        timing = self._timing
        with self._lock:
            seen = worth = timing.wait_usual
            if self._usual is not None and self._cost is not None:
                seen = min(seen, self._usual + max(_SPREAD * self._deviation, _GRANULARITY))
                worth = timing.wait_share * self._cost
        return min(max(seen, worth, timing.wait_least), timing.wait_most)

    def answered(self, call: Callable[[], T]) -> T:
        """Result of the store's call, with a note of how long it took. What fails isn't noted."""
        begun = monotonic()
        answer = call()
        self.saw(monotonic() - begun)
        return answer

    def saw(self, seconds: float) -> None:
        """An answer took so long."""
        with self._lock:
            if self._usual is None:
                self._usual, self._deviation = seconds, seconds / 2
            else:
                self._deviation += _DEVIATION * (abs(seconds - self._usual) - self._deviation)
                self._usual += _MEAN * (seconds - self._usual)

    def compiled(self, seconds: float) -> None:
        """A grammar took so long, from when it was wanted."""
        with self._lock:
            self._cost = seconds if self._cost is None else self._cost + _MEAN * (seconds - self._cost)
