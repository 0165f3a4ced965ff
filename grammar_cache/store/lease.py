"""One process compiles a grammar, and the others wait for it: but not for long, and not for one that has died."""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_hex
from time import monotonic, sleep
from typing import Protocol, TypeVar

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.1
"""Seconds between two looks; each pause is half as long again as the one before."""


class Leases(Protocol):
    """Of names: a lease ends when its token releases it, or by itself after some time."""

    def acquire(self, name: str, token: str) -> bool: ...

    def release(self, name: str, token: str) -> None: ...


def once(
    leases: Leases,
    name: str,
    look: Callable[[], T | None],
    make: Callable[[], T],
    seconds: float,
    pause: Callable[[float], None] = sleep,
    clock: Callable[[], float] = monotonic,
) -> T:
    """What `look` finds, or else what `make` makes, while others wait who ask for the same.

    Who has waited for so many seconds makes it all the same. What either raises ends it, and releases the lease.
    """
    found = look()
    if found is not None:
        return found
    token, ends, length = token_hex(16), clock() + seconds, FIRST_PAUSE
    while not leases.acquire(name, token):
        left = ends - clock()
        if left <= 0:
            return make()
        pause(min(length, left))
        length = min(1.5 * length, LONGEST_PAUSE)
        found = look()
        if found is not None:
            return found
    try:
        found = look()  # whoever had the lease may have been done between look and lease
        return make() if found is None else found
    finally:
        leases.release(name, token)
