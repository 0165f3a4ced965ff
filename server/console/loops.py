"""Compiled loops: whoever runs a command is told when they are compiled, which takes a minute or two the first time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from numba.core.event import Event, Listener, install_listener

from grammar_cache.warm_up import letters, warm_up
from server.console.options import report

BETWEEN_SECONDS = 5.0
"""Between two lines of progress."""


class _Announcement(Listener):  # type: ignore[misc]  # numba has no types
    """Says so at the first loop that isn't kept from an earlier start, and then how many there were."""

    def __init__(self) -> None:
        self._begun = self._printed = 0.0
        self.compiled = 0

    def on_start(self, event: Event) -> None:
        if not self.compiled:
            self._begun = self._printed = monotonic()
            report("swyb: compiling the loops, once: a minute or two…")
        self.compiled += 1

    def on_end(self, event: Event) -> None:
        if monotonic() - self._printed >= BETWEEN_SECONDS:
            self._printed = monotonic()
            report(f"swyb: compiled {self.compiled} loops, {self.seconds:.0f} s")

    @property
    def seconds(self) -> float:
        """Seconds since the first loop."""
        return monotonic() - self._begun


@contextmanager
def announced() -> Iterator[None]:
    """Loops that the block has to compile are told; those that are kept beside their modules are not compiled."""
    announcement = _Announcement()
    with install_listener("numba:compile", announcement):
        yield
    if announcement.compiled:
        report(f"swyb: the loops are compiled after {announcement.seconds:.0f} s, and kept for the next start")


def ready_loops() -> None:
    """Compiles all loops that aren't kept yet, before any clock runs."""
    with announced():
        warm_up(letters())
