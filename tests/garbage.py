"""Garbage that a piece of work leaves to Python's collector."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable

OWN = ("grammar_cache", "server")


def left_to_the_collector(work: Callable[[], object]) -> Counter[str]:
    """Types of this project's objects that only the collector can free once some work is over, with their numbers.

    The work is done once before, since what it loads or caches stays.
    """
    work()
    gc.collect()
    gc.disable()
    try:
        work()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        names = [f"{type(found).__module__}.{type(found).__qualname__}" for found in gc.garbage]
        return Counter(name for name in names if name.startswith(OWN))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
