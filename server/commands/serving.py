"""A server process over any backend: from the socket that it listens at to its exit status."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from server.api.connections import bounded
from server.app import create_app
from server.backends.backend import Backend
from server.commands.allocator import return_free_pages_when_quiet, return_large_blocks
from server.commands.garbage import keep_what_is_loaded
from server.console.options import report
from server.protocol.errors import ApiError
from server.service import Service
from server.settings import ENGINE_FAILED, Settings
from server.shutdown import Shutdown

FLUSH_SECONDS = 5
"""Seconds for clients that read slowly, once all answers are there."""

WATCH_SECONDS = 0.1


def serve(settings: Settings, backend: Backend, listening: socket.socket, ready: Callable[[Service], None]) -> int:
    """Serves until a signal, or until the engine has failed; in the main thread. `ready` is called once it is ready.

    Returns the exit status: 0 after a clean end, 1 if the server couldn't start, ENGINE_FAILED.
    """
    app = create_app(settings, backend)
    service: Service = app.state.service
    keep_what_is_loaded()
    return_large_blocks()
    config = uvicorn.Config(
        app,
        http=bounded(settings.intake),
        log_level="warning",
        timeout_graceful_shutdown=FLUSH_SECONDS,
        server_header=False,
    )
    server = _Server(config)
    # Before uvicorn's own handlers are there, and when it has put these back, signals end nothing.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _nothing)
    asyncio.run(_run(server, service, listening, ready))
    report("swyb: stopped")
    if service.failed and settings.on_engine_failure == "exit":
        return ENGINE_FAILED
    return 0 if server.started else 1


class _Server(uvicorn.Server):
    """Ends when it is told to; signals only ask for it."""

    signalled: Callable[[int], object]

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.signalled(sig)

    def shut_door(self) -> None:
        """Refuses connections from now on."""
        for listener in self.servers if self.started else []:
            listener.close()


async def _run(server: _Server, service: Service, listening: socket.socket, ready: Callable[[Service], None]) -> None:
    shutdown = Shutdown(service, server.shut_door)
    loop = asyncio.get_running_loop()

    def signalled(number: int) -> None:
        report("swyb: stopping; a second signal ends all answers now")
        # Whoever interrupts it from a terminal has told no balancer, and waits.
        shutdown.ask(drain=number == signal.SIGTERM and server.started)

    server.signalled = lambda number: loop.call_soon_threadsafe(signalled, number)
    async with asyncio.TaskGroup() as tasks:
        work = (
            _announce(server, service, ready),
            _watch(service, shutdown),
            return_free_pages_when_quiet(lambda: service.present),
            _end(server, shutdown),
        )
        beside = [tasks.create_task(each) for each in work]
        await server.serve([listening])
        for task in beside:
            task.cancel()


async def _announce(server: uvicorn.Server, service: Service, ready: Callable[[Service], None]) -> None:
    try:
        await service.until_ready()
        while not server.started:  # grammars are being warmed
            await asyncio.sleep(WATCH_SECONDS)
    except ApiError as error:
        report(f"swyb serve: error: {error.message}")
    else:
        ready(service)


async def _watch(service: Service, shutdown: Shutdown) -> None:
    """Ends the process, if that is wanted, once nothing else helps."""
    while not service.failed:
        await asyncio.sleep(WATCH_SECONDS)
    if service.settings.on_engine_failure == "stay":
        report("swyb: the engine has failed for good; the server stays, and answers no request")
        return
    report(f"swyb: the engine has failed for good; ending with status {ENGINE_FAILED}")
    shutdown.ask(drain=False)
    shutdown.ask(drain=False)  # answers under way have ended with the engine


async def _end(server: uvicorn.Server, shutdown: Shutdown) -> None:
    await shutdown.run()
    server.should_exit = True


def _nothing(number: int, frame: FrameType | None) -> None:
    """Ends nothing; see `serve`."""
