"""Progress of a run, for the person who waits: one line on the standard error, and when it will be done."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TextIO

PLAIN_SECONDS = 10.0
"""Between lines where the output is no terminal, such as a log."""


class Progress:
    """Counts answers towards `total`, those that need no work left out."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._total = total
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._done = 0
        self._begun = self._told = perf_counter()

    def step(self, what: str) -> None:
        """One more is done; `what` it was."""
        self._done += 1
        now = perf_counter()
        last = self._done == self._total
        if self._terminal:
            self._stream.write(f"\r\x1b[K{self._line(what, now)}" + ("\n" if last else ""))
            self._stream.flush()
        elif last or now - self._told >= PLAIN_SECONDS:
            self._told = now
            print(self._line(what, now), file=self._stream, flush=True)

    def _line(self, what: str, now: float) -> str:
        elapsed = now - self._begun
        left = elapsed / self._done * (self._total - self._done)
        return f"{self._done} of {self._total}, {span(elapsed)} gone, about {span(left)} left: {what}"


def span(seconds: float) -> str:
    """1:02:03, or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
