"""Compiled loops: whoever runs a command is told when they are compiled, which takes a minute or two the first time."""

from __future__ import annotations

from time import monotonic

from grammar_cache.loops.compilation import compile_loops, loops, processors
from grammar_cache.warm_up import letters, warm_up
from server.console.options import report

BETWEEN_SECONDS = 5.0
"""Between two lines of progress."""


class _Progress:
    """Says so before the first loop is compiled, and then how many there were."""

    def __init__(self) -> None:
        self._begun = self._told = monotonic()

    def __call__(self, done: int, count: int) -> None:
        now = monotonic()
        if done == 0:
            report("swyb: compiling the loops, once: a minute or two…")
        elif done == count:
            report(f"swyb: the loops are compiled after {now - self._begun:.0f} s, and kept for the next start")
        elif now - self._told >= BETWEEN_SECONDS:
            self._told = now
            report(f"swyb: compiled {done} of {count} loops, {now - self._begun:.0f} s")


def compile_missing_loops() -> None:
    """Compiles all loops that aren't kept yet, which is told; those that are kept beside their modules say nothing."""
    compile_loops(loops(), processors(), _Progress())


def ready_loops() -> None:
    """Compiles all loops that aren't kept yet, and gets the others, before any clock runs."""
    compile_missing_loops()
    warm_up(letters())
