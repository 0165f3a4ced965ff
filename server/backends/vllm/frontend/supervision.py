"""An engine that is started anew when it fails, with growing pauses and up to a bound. Knows nothing of models."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Generic, Protocol, TypeVar

from server.backends.backend import State

_log = logging.getLogger(__name__)


class Running(Protocol):
    """An engine that has been started."""

    async def until_ended(self) -> None:
        """Returns when it has failed."""

    async def close(self) -> None:
        """Fails what is under way, and frees everything."""


R = TypeVar("R", bound=Running)


@dataclass(frozen=True, slots=True)
class Patience:
    """`pauses`: seconds before each restart in a row; no more follow. After `stable` seconds a new row begins."""

    pauses: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0)
    stable: float = 600.0


class Supervisor(Generic[R]):
    """Keeps one engine running from `start` to `stop`. A first start that fails is final."""

    def __init__(self, opened: Callable[[], Awaitable[R]], patience: Patience) -> None:
        """`opened` starts an engine, returns it ready, and leaves nothing behind if it is cancelled."""
        self.state = State.STARTING
        self.running: R | None = None
        self._opened = opened
        self._patience = patience
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts the engine, on the event loop that everything here belongs to."""
        self._task = asyncio.get_running_loop().create_task(self._supervise())

    async def stop(self) -> None:
        """Returns when the engine has ended."""
        self.state = State.STOPPED
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _supervise(self) -> None:
        restarts = 0
        while True:
            began = monotonic()
            try:
                await self._one()
            except Exception:
                _log.exception("the engine could not be started")
                if self.state is State.STARTING:
                    break
            if monotonic() - began > self._patience.stable:
                restarts = 0
            if restarts == len(self._patience.pauses):
                break
            await asyncio.sleep(self._patience.pauses[restarts])
            restarts += 1
        self.state = State.FAILED

    async def _one(self) -> None:
        """One engine, from its start to its failure. Raises what keeps it from starting."""
        running = await self._opened()
        try:
            self.running, self.state = running, State.READY
            await running.until_ended()
            _log.error("the engine has failed")
            self.state = State.RESTARTING
        finally:
            self.running = None
            await running.close()
