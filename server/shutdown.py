"""The end of a server, in an order in which nobody is told half an answer.

    1. `/ready` says 503, and requests are answered as before, until balancers send no more (`drain_seconds`)
    2. nobody is let in any more: the door is shut, and who comes by a connection that was kept is told to go elsewhere
    3. answers go on, until the last one is out or their time is up (`shutdown_seconds`)
    4. those that are left are completed by their witnesses, or cut if they have no grammar

Knows no signals and no sockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from server.admission import Stage
from server.service import Service

FINISH_SECONDS = 6.0
"""Seconds for the last step; the backend gives up before."""

POLL_SECONDS = 0.02


class Shutdown:
    """`run` it beside the server, on its event loop; it returns when all answers are out."""

    def __init__(self, service: Service, shut_door: Callable[[], None]) -> None:
        """`shut_door`: closes what is listened at."""
        self._service = service
        self._shut_door = shut_door
        self._asked = asyncio.Event()
        self._drain = False
        self._hurried = False

    def ask(self, *, drain: bool) -> None:
        """Begins it, with or without the first step. Asked once more, it comes to the last step at once."""
        self._hurried = self._asked.is_set()
        self._drain = drain
        self._asked.set()

    async def run(self) -> None:
        await self._asked.wait()
        service, settings = self._service, self._service.settings
        service.advance(Stage.DRAINING)
        if self._drain:
            await self._wait(settings.drain_seconds, lambda: self._hurried)
        service.advance(Stage.CLOSED)
        self._shut_door()
        await self._wait(settings.shutdown_seconds, lambda: self._hurried or not service.present)
        service.advance(Stage.FINISHING)
        await self._wait(FINISH_SECONDS, lambda: not service.present)

    async def _wait(self, seconds: float, enough: Callable[[], bool]) -> None:
        deadline = monotonic() + seconds
        while not enough() and monotonic() < deadline:
            await asyncio.sleep(POLL_SECONDS)
