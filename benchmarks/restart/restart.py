"""Rolling restarts: a server is told to end with long answers under way, while another one takes over.

`python -m benchmarks restart` tells what becomes of all answers: of `--engine scripted`, steps of a tenth of a second,
or of the embedded model. Meanwhile short requests go to whichever server says that it is ready; one that is refused
goes to the next one, and none may be lost. The status is 0 if no answer was torn, invalid or an error.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from typing import Any

import httpx

from benchmarks.data import write_rows
from benchmarks.restart.requests import Kind, Outcome, Result, asked, kinds
from benchmarks.restart.server import Options
from server.options.readers import positive, seconds

START_SECONDS = 300.0
POLL_SECONDS = 0.1
BRIEF_TOKENS = 12
BRIEF = Kind({"response_format": {"type": "choice", "choice": ["yes", "no"]}}, lambda text: text in ("yes", "no"))
UNWANTED: tuple[Outcome, ...] = ("torn", "invalid", "error")


@dataclass(frozen=True, slots=True)
class Plan:
    """`delay`: seconds of a step of the scripted engine; None: the embedded model. `progress`: seconds that answers
    have been under way for when the server is told to end. `tokens`: of each answer."""

    answers: int
    tokens: int
    delay: float | None
    drain: float
    shutdown: float
    progress: float
    running: int = 256


@dataclass(frozen=True, slots=True)
class Outcomes:
    """`seconds`: from the signal to the end of the process, which had this `status`."""

    long: list[Result]
    brief: list[Result]
    seconds: float
    status: int


class Process:
    """A server, started when made. `port` is free again once it has ended."""

    def __init__(self, plan: Plan) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        variables = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(_command(plan, port), stdout=subprocess.DEVNULL, env=variables)

    async def until_ready(self, client: httpx.AsyncClient) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not await ready(client, self.address):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("a server didn't get ready")
            await asyncio.sleep(POLL_SECONDS)

    async def ended(self) -> int:
        """Exit status of the process, once it has ended."""
        return await asyncio.to_thread(self.process.wait)


def _command(plan: Plan, port: int) -> list[str]:
    if plan.delay is not None:
        options = Options(port, plan.delay, plan.running, plan.drain, plan.shutdown)
        return [sys.executable, "-m", "benchmarks.restart.server", json.dumps(asdict(options))]
    seconds = ["--drain-seconds", str(plan.drain), "--shutdown-seconds", str(plan.shutdown)]
    serve = ["serve", "--port", str(port), "--store", "none", "--running", str(plan.running)]
    return [sys.executable, "-m", "server", *serve, *seconds]


async def ready(client: httpx.AsyncClient, address: str) -> bool:
    """Whether a balancer would send requests there."""
    try:
        return (await client.get(f"{address}/ready", timeout=30)).status_code == 200
    except httpx.TransportError:
        return False


@asynccontextmanager
async def running(plan: Plan, client: httpx.AsyncClient) -> AsyncIterator[tuple[Process, Process]]:
    """Two servers, the first of which is ready; no process is left."""
    both = Process(plan), Process(plan)
    try:
        await both[0].until_ready(client)
        yield both
    finally:
        for each in both:
            each.process.kill()
            each.process.wait()


async def restarted(plan: Plan) -> Outcomes:
    """Outcomes of all requests."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=limits) as client, running(plan, client) as (old, new):
        await new.until_ready(client)
        long = [asyncio.create_task(each) for each in _long(client, old.address, plan)]
        await asyncio.sleep(plan.progress)
        over = asyncio.Event()
        brief = asyncio.create_task(_brief(client, (old.address, new.address), over))
        told = time.monotonic()
        old.process.send_signal(signal.SIGTERM)
        status = await old.ended()
        seconds = time.monotonic() - told
        over.set()
        return Outcomes(list(await asyncio.gather(*long)), await brief, seconds, status)


def _long(client: httpx.AsyncClient, address: str, plan: Plan) -> list[Coroutine[Any, Any, Result]]:
    """Every kind, as a stream and not."""
    ways = [(name, kind, stream) for name, kind in kinds(plan.tokens).items() for stream in (False, True)]
    chosen = islice(cycle(ways), plan.answers)
    return [asked(client, address, name, kind, stream=stream, tokens=plan.tokens) for name, kind, stream in chosen]


async def _brief(client: httpx.AsyncClient, addresses: Sequence[str], over: asyncio.Event) -> list[Result]:
    """Short requests, one after the other, to the first server that is known to be ready."""
    found: list[Result] = []
    known, checked = list(addresses), time.monotonic()
    while not over.is_set():
        if time.monotonic() - checked > 5 * POLL_SECONDS:  # balancers look now and then
            known = [address for address in addresses if await ready(client, address)]
            checked = time.monotonic()
        found.append(await _sent(client, known, stream=len(found) % 2 == 0))
        await asyncio.sleep(POLL_SECONDS)
    return found


async def _sent(client: httpx.AsyncClient, addresses: Sequence[str], *, stream: bool) -> Result:
    for address in addresses:
        try:
            result = await asked(client, address, "brief", BRIEF, stream=stream, tokens=BRIEF_TOKENS)
        except httpx.ConnectError:
            continue
        if result.outcome != "refused":
            return result
    return Result("error", "brief", "no server has answered")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--engine", choices=("scripted", "embedded"), default="scripted")
    parser.add_argument("--answers", type=positive, default=200)
    parser.add_argument("--tokens", type=positive, default=300, help="of each answer")
    parser.add_argument("--delay", type=seconds, default=0.1, help="seconds of a step of the scripted engine")
    parser.add_argument("--drain", type=seconds, default=3.0)
    parser.add_argument("--shutdown", type=seconds, default=10.0)
    parser.add_argument("--progress", type=seconds, default=5.0, help="seconds that answers are under way for before")


def run(arguments: Namespace) -> int:
    delay = arguments.delay if arguments.engine == "scripted" else None
    times = arguments.drain, arguments.shutdown, arguments.progress
    found = asyncio.run(restarted(Plan(arguments.answers, arguments.tokens, delay, *times)))
    results = [*found.long, *found.brief]
    write_rows(arguments.out, "restart", results)
    print(f"Ended with status {found.status}, {found.seconds:.1f} s after the signal.\n")
    print("| Requests | What became of them |\n|---|---|")
    for name, some in (("long", found.long), ("short", found.brief)):
        counts = Counter(result.outcome for result in some)
        print(f"| {len(some)} {name} | {', '.join(f'{count} {outcome}' for outcome, count in counts.most_common())} |")
    unwanted = [result for result in results if result.outcome in UNWANTED]
    for result in unwanted[:10]:
        print(f"\n{result.outcome} ({result.kind}): {result.detail}")
    return 1 if unwanted or found.status else 0
