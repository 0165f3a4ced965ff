"""Databases over real servers, for tests of faults."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from grammar_cache import Limits
from grammar_cache.store.backends.sqlite import EmbeddedStore
from grammar_cache.store.contract import StoreLimits
from grammar_cache.store.database import Database
from grammar_cache.store.opening import open_store
from grammar_cache.store.patience import Timing
from grammar_cache.store.seals import Seals

T = TypeVar("T")

SECRET = b"a secret of the tests"
PATIENT = Timing(wait_least=20.0, wait_most=20.0, write=20.0)
"""Whatever else this machine does, a store that works answers in time."""
HASTY = Timing(wait_least=0.02, wait_most=0.02)
GRAMMAR_LIMITS = Limits()
LONGEST = 15.0
"""Seconds that hold for everything that has to be quick, on a machine that is busy with something else."""


@contextmanager
def database(
    address: str, timing: Timing = PATIENT, grammar_limits: Limits = GRAMMAR_LIMITS, **limits: int
) -> Iterator[Database]:
    """Closed with the block, and what was to be written is written then."""
    bounds = StoreLimits(**limits)
    opened = Database(open_store(address, bounds, timing), Seals(SECRET), grammar_limits, "tests", bounds, timing)
    try:
        yield opened
    finally:
        opened.close(LONGEST)


def begun_store(path: Path) -> str:
    """Address of an empty store in a file."""
    store = EmbeddedStore(path, StoreLimits(), LONGEST)
    store.infos()
    store.close()
    return f"sqlite://{path}"


def until(ask: Callable[[], T], seconds: float = 60) -> T:
    """Asks again and again, up to an answer that is true."""
    begun = time.monotonic()
    while not (answer := ask()):
        assert time.monotonic() - begun < seconds
    return answer


def counted(opened: Database) -> dict[str, int]:
    """Events, counted."""
    return {event: times for event, times in opened.counters.snapshot.items() if times}
