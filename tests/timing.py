"""Limits of time that mean the same on a slow machine and on a busy one."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

YARDSTICK_SECONDS = 0.01
"""Seconds that the work of `slowness` takes on the machine for which the limits are written."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """The block takes less processor time than that, all threads together, at the speed that this machine has now.

    Looking for garbage among what earlier tests have left is not the block's work, so that is put out of sight.
    """
    gc.freeze()
    try:
        before = slowness()
        begun = time.process_time()
        yield
        spent = time.process_time() - begun
    finally:
        gc.unfreeze()
    slower = max(before, slowness())
    assert spent < seconds * slower, f"{spent:.2f} s, on a machine {slower:.1f} times as slow as the usual one"


def slowness() -> float:
    """Time that this thread takes now for work that is always the same, of the kind that parsers and compilers do, as a
    multiple of what the usual machine takes; at least 1.
    """
    return max(YARDSTICK_SECONDS, min(_work() for _ in range(3))) / YARDSTICK_SECONDS


def _work() -> float:
    begun = time.thread_time()
    counts: dict[tuple[int, str], int] = {}
    for number in range(40_000):
        key = (number % 1000, str(number % 7))
        counts[key] = counts.get(key, 0) + 1
    return time.thread_time() - begun
