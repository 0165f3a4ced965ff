"""Waits that another task can end, at no cost while nobody does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Interrupted(Exception):
    """Interruption of a wait for something that isn't wanted any more."""


class Interrupts:
    """Interrupts of one event loop. From `fire` on no scope goes on."""

    def __init__(self) -> None:
        self._fired = False
        self._waiting: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def scope(self) -> AsyncIterator[None]:
        """Cancels what it holds when `fire` is called, and raises Interrupted. No generator may yield inside of it."""
        if self._fired:
            raise Interrupted
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._waiting.add(limit)
                try:
                    yield
                finally:
                    self._waiting.discard(limit)
        except TimeoutError as error:
            if not limit.expired():
                raise  # another limit's
            raise Interrupted from error

    def fire(self) -> None:
        """Ends all waits, and those to come."""
        self._fired = True
        for limit in self._waiting:
            limit.reschedule(asyncio.get_running_loop().time())
