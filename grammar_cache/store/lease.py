"""One process compiles a grammar, and the others wait for it: but not for long, and not for one that has died.

Leases are short, and who is at work renews its own: so a process that has died is noticed soon, and one that takes long
keeps its right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import token_hex
from threading import Event, Thread
from time import monotonic, sleep
from typing import Protocol, TypeVar

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.1
"""Seconds between two looks; each pause is half as long again as the one before."""
RENEWAL = 1.0
"""Seconds after which who is at work asks for its lease again."""
QUESTIONS = 2
"""Questions in a row, without an answer, after which nobody is asked any more: one late answer doesn't say that none
comes.
"""


class Leases(Protocol):
    """Leases of names: a lease ends when its token releases it, or by itself after some time."""

    def acquire(self, name: str, token: str) -> bool | None:
        """Whether it is the token's now; None for no answer."""
        ...

    def release(self, name: str, token: str) -> None: ...


def once(
    leases: Leases,
    name: str,
    look: Callable[[], T | None],
    make: Callable[[], T],
    seconds: float,
    pause: Callable[[float], None] = sleep,
    clock: Callable[[], float] = monotonic,
    renewal: float = RENEWAL,
) -> T:
    """Result of `look`, or else of `make`, while others wait who ask for the same.

    Who has waited for so many seconds, or asks in vain, makes it all the same. What either raises ends it, and releases
    the lease. `renewal`: seconds after which the lease is asked for again while `make` is at work.
    """
    found = look()
    if found is not None:
        return found
    token, ends, length = token_hex(16), clock() + seconds, FIRST_PAUSE
    while (granted := _asked(leases, name, token)) is False:
        left = ends - clock()
        if left <= 0:
            return make()
        pause(min(length, left))
        length = min(1.5 * length, LONGEST_PAUSE)
        found = look()
        if found is not None:
            return found
    try:
        found = look() if granted else None  # whoever had the lease may have been done between look and lease
        if found is not None:
            return found
        with _renewed(leases, name, token, renewal):
            return make()
    finally:
        leases.release(name, token)


def _asked(leases: Leases, name: str, token: str) -> bool | None:
    """Answer to a request for a lease; None where nobody answers. What was asked too late for an answer may have been
    granted all the same.
    """
    for _ in range(QUESTIONS):
        granted = leases.acquire(name, token)
        if granted is not None:
            return granted
    return None


@contextmanager
def _renewed(leases: Leases, name: str, token: str, seconds: float) -> Iterator[None]:
    over = Event()

    def renew() -> None:
        while not over.wait(seconds):
            leases.acquire(name, token)

    thread = Thread(target=renew, name="swyb-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()  # or else it could ask for the lease once more when that has been released
