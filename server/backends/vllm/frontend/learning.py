"""Exchange of what searches in vLLM's workers find, to other replicas and from them.

The workers search, in copies of the grammars; the store is asked by the front end. A call to the workers waits for the
step that they are at, so no request waits for one: one call for all grammars takes there what was brought, and fetches
what was found, a while after answers have ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from server.backends.vllm.wire.claims import received, sent
from server.grammars.exchange import Exchange

EXCHANGE_SECONDS = 2.0
"""Seconds from the end of an answer to the call."""

Call: TypeAlias = Callable[..., Awaitable[Sequence[Any]]]
"""Calls a method of the worker extension, by name and with arguments, on every rank; what each of them returns."""

_log = logging.getLogger(__name__)


class Learning:
    """Exchange of one engine's findings. One event loop uses it."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._used: dict[str, Exchange] = {}
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def used(self, key: str, exchange: Exchange) -> None:
        """An answer under the grammar with this key has ended."""
        self._used[key] = exchange
        if not self._closed and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._go_on())

    def forget(self, key: str) -> None:
        """The grammar with this key isn't there any more."""
        self._used.pop(key, None)

    def close(self) -> None:
        """Calls no more."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()

    async def _go_on(self) -> None:
        while self._used:
            await asyncio.sleep(EXCHANGE_SECONDS)
            used, self._used = self._used, {}
            try:
                await self._exchange(used)
            except Exception:  # nobody waits for it: others only do without what was found
                _log.exception("what searches have found is not exchanged with the engine's workers")

    async def _exchange(self, used: Mapping[str, Exchange]) -> None:
        news = {key: sent(claims) for key, exchange in used.items() if (claims := exchange.take())}
        found = await self._call("exchange_claims", list(used), news)
        for key, exchange in used.items():
            exchange.give(*(received(rank[key]) for rank in found if key in rank))
