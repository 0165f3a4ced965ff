"""Rolling restart: every server behind the proxy is ended and started anew, one after the other, under load.

`python -m benchmarks rolling` runs HAProxy with the configuration of the compose file, servers over an engine that
computes nothing, and clients that ask without a pause and never ask again. The status is 0 if every answer is whole.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from benchmarks.data import ROOT, write_rows
from benchmarks.restart.requests import Result, asked, kinds
from benchmarks.restart.restart import POLL_SECONDS, START_SECONDS, ready
from benchmarks.restart.server import Options
from server.options.readers import positive, seconds
from tests.docker.containers import NameServer

ADDRESSES = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")
CONFIGURATION = ROOT / "docker" / "haproxy.cfg"
BETWEEN_SECONDS = 5.0
"""Seconds between a server that is ready and the next one that is told to end: the proxy has seen it by then."""


@dataclass(frozen=True, slots=True)
class Rolling:
    """Plan of a restart. `delay`: seconds of a step; `tokens`: of each answer."""

    servers: int = 2
    clients: int = 16
    tokens: int = 60
    delay: float = 0.02
    drain: float = 5.0
    shutdown: float = 60.0


@dataclass(frozen=True, slots=True)
class Rolled:
    """Results of all requests, the seconds from the first signal on, and the exit statuses of the servers."""

    results: list[Result]
    seconds: float
    statuses: list[int]

    @property
    def lost(self) -> list[Result]:
        """Results that aren't a whole answer."""
        return [result for result in self.results if result.outcome != "whole"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        found: int = free.getsockname()[1]
        return found


@contextmanager
def proxy(program: str, folder: Path, names: NameServer, servers_port: int) -> Iterator[str]:
    """HAProxy with the configuration of the compose file, but for ports and the name server; its address."""
    port, text = free_port(), CONFIGURATION.read_text()
    here = {
        "parse-resolv-conf": f"nameserver here 127.0.0.1:{names.port}",
        "bind :8000": f"bind 127.0.0.1:{port}",
        "server:8000": f"server:{servers_port}",
    }
    for theirs, ours in here.items():
        if text.count(theirs) != 1:
            raise ValueError(f"{CONFIGURATION} doesn't say {theirs!r} once")
        text = text.replace(theirs, ours)
    file = folder / "haproxy.cfg"
    file.write_text(text)
    process = subprocess.Popen([program, "-f", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


class Server:
    """A process at an address of its own, and the one that takes its place."""

    def __init__(self, host: str, port: int, plan: Rolling) -> None:
        self.address = f"http://{host}:{port}"
        options = Options(port, plan.delay, drain=plan.drain, shutdown=plan.shutdown, host=host)
        self._command = [sys.executable, "-m", "benchmarks.restart.server", json.dumps(asdict(options))]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)

    async def until_ready(self, client: httpx.AsyncClient) -> None:
        """Raises RuntimeError for a process that ends, or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while not await ready(client, self.address):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("a server didn't get ready")
            await asyncio.sleep(POLL_SECONDS)

    async def renewed(self, client: httpx.AsyncClient) -> int:
        """Exit status of the process, which was told to end; another one is ready then."""
        self.process.send_signal(signal.SIGTERM)
        status = await asyncio.to_thread(self.process.wait)
        self.start()
        await self.until_ready(client)
        return status


async def rolled(plan: Rolling, program: str) -> Rolled:
    """Fate of all requests while every server is replaced."""
    async with _running(plan, program) as (client, address, servers):
        over, numbers = asyncio.Event(), count()
        loads = [asyncio.create_task(_load(client, address, plan, numbers, over)) for _ in range(plan.clients)]
        await asyncio.sleep(BETWEEN_SECONDS)
        begun, statuses = time.monotonic(), []
        for server in servers:
            statuses.append(await server.renewed(client))
            await asyncio.sleep(BETWEEN_SECONDS)
        seconds = time.monotonic() - begun
        over.set()
        results = [result for load in await asyncio.gather(*loads) for result in load]
        return Rolled(results, seconds, statuses)


@asynccontextmanager
async def _running(plan: Rolling, program: str) -> AsyncIterator[tuple[httpx.AsyncClient, str, list[Server]]]:
    """Servers that are ready, behind a proxy that knows it. No process is left."""
    client = httpx.AsyncClient(limits=httpx.Limits(max_connections=None, max_keepalive_connections=None))
    with ExitStack() as stack:
        names, port = stack.enter_context(NameServer().running()), free_port()
        names.addresses = list(ADDRESSES[: plan.servers])
        address = stack.enter_context(proxy(program, Path(stack.enter_context(TemporaryDirectory())), names, port))
        servers = [Server(host, port, plan) for host in names.addresses]
        try:
            for server in servers:
                await server.until_ready(client)
            while not await ready(client, address):
                await asyncio.sleep(POLL_SECONDS)
            yield client, address, servers
        finally:
            for server in servers:
                server.process.kill()
                server.process.wait()
            await client.aclose()


async def _load(
    client: httpx.AsyncClient, address: str, plan: Rolling, numbers: Iterator[int], over: asyncio.Event
) -> list[Result]:
    """Requests of one client, one behind the other; each is asked once."""
    found, sorts = [], list(kinds(plan.tokens).items())
    while not over.is_set():
        number = next(numbers)
        name, kind = sorts[number % len(sorts)]
        try:
            result = await asked(client, address, name, kind, stream=number % 2 == 0, tokens=plan.tokens)
        except httpx.ConnectError as error:
            result = Result("error", name, f"no connection: {error}")
        found.append(result)
    return found


def add_arguments(parser: ArgumentParser) -> None:
    plan = Rolling()
    parser.add_argument("--servers", type=int, default=plan.servers, choices=range(2, len(ADDRESSES) + 1))
    parser.add_argument("--clients", type=positive, default=plan.clients)
    parser.add_argument("--tokens", type=positive, default=plan.tokens, help="of each answer")
    parser.add_argument("--delay", type=seconds, default=plan.delay, help="seconds of a step")


def run(arguments: Namespace) -> int:
    """Prints what became of the requests. Raises RuntimeError where HAProxy isn't installed."""
    program = shutil.which("haproxy")
    if program is None:
        raise RuntimeError("haproxy is not on the path")
    plan = Rolling(arguments.servers, arguments.clients, arguments.tokens, arguments.delay)
    found = asyncio.run(rolled(plan, program))
    write_rows(arguments.out, "rolling", found.results)
    counts = Counter(result.outcome for result in found.results)
    print(f"{plan.servers} servers renewed in {found.seconds:.1f} s, {plan.clients} clients; exit {found.statuses}.\n")
    print(f"{len(found.results)} requests: {', '.join(f'{number} {name}' for name, number in counts.items())}.")
    for result in found.lost[:10]:
        print(f"\n{result.outcome} ({result.kind}): {result.detail}")
    return 1 if found.lost or any(found.statuses) else 0
