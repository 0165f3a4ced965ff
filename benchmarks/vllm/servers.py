"""Servers as processes of their own: ours over vLLM, and vLLM's own with its ways to constrain answers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import httpx

OURS = "swyb"
THEIRS = ("xgrammar", "guidance")
MODEL = "model"
"""Name of the model in requests."""

START_SECONDS = 900.0
END_SECONDS = 60.0


class ServerFailed(RuntimeError):
    """Error for a server that didn't start, or didn't end; the message names its log."""


class Server:
    """`name`: `OURS`, or vLLM's server with one of `THEIRS`. Started when made; `ready`, then `stop` it once."""

    def __init__(self, name: str, folder: Path, options: Sequence[str], logs: Path) -> None:
        """`options`: of vLLM's engine. `logs`: the folder that its log goes to."""
        self.name = name
        port = _free_port()
        self.address = f"http://127.0.0.1:{port}"
        logs.mkdir(parents=True, exist_ok=True)
        self.log = logs / f"server-{name}.log"
        self._out: IO[bytes] = self.log.open("wb")
        # A session of its own: what is left of it can be found by its group.
        self._process = subprocess.Popen(
            _command(name, folder, port, options), stdout=self._out, stderr=subprocess.STDOUT, start_new_session=True
        )

    def ready(self) -> None:
        """Returns once it answers. Raises ServerFailed."""
        path = "/ready" if self.name == OURS else "/health"
        deadline = time.monotonic() + START_SECONDS
        with httpx.Client(base_url=self.address) as client:
            while time.monotonic() < deadline and self._process.poll() is None:
                try:
                    if client.get(path).status_code == 200:
                        return
                except httpx.TransportError:
                    pass  # not listening yet
                time.sleep(1.0)
        raise ServerFailed(f"{self.name} did not get ready: {self.log}")

    def stop(self) -> None:
        """Stops the server as an operator does it. Raises ServerFailed if a process is left; none is, afterwards."""
        group = self._process.pid
        self._process.terminate()
        deadline = time.monotonic() + END_SECONDS
        while time.monotonic() < deadline and (self._process.poll() is None or _members(group)):
            time.sleep(0.1)
        self._out.close()
        if left := _members(group):
            os.killpg(group, signal.SIGKILL)
            self._process.wait()
            raise ServerFailed(f"{self.name} left processes behind: {', '.join(left)}")

    def cpu_seconds(self) -> float:
        """CPU seconds of all its processes so far."""
        times = [process.cpu_times() for process in self._processes()]
        return float(sum(each.user + each.system for each in times))

    def memory(self) -> tuple[int, int]:
        """Bytes in memory: of the front end, and of the engine's processes together."""
        front, *engine = [process.memory_info().rss for process in self._processes()]
        return front, sum(engine)

    def _processes(self) -> list[Any]:
        import psutil  # comes with vLLM

        front = psutil.Process(self._process.pid)
        return [front, *front.children(recursive=True)]


def taken_by_theirs(schema: dict[str, Any]) -> bool:
    """Whether none of vLLM's ways to constrain answers refuses a schema: a refusal takes no time."""
    from vllm.v1.structured_output.backend_guidance import has_guidance_unsupported_json_features
    from vllm.v1.structured_output.backend_xgrammar import has_xgrammar_unsupported_json_features

    return not (has_guidance_unsupported_json_features(schema) or has_xgrammar_unsupported_json_features(schema))


def _command(name: str, folder: Path, port: int, options: Sequence[str]) -> list[str]:
    if name == OURS:
        ours = ["serve", "--engine", "vllm", "--model", str(folder), "--name", MODEL, "--port", str(port)]
        return [sys.executable, "-m", "server", *ours, "--", *options]
    theirs = ["--model", str(folder), "--served-model-name", MODEL, "--host", "127.0.0.1", "--port", str(port)]
    backend = ["--structured-outputs-config", f'{{"backend": "{name}"}}']
    quiet = ["--generation-config", "vllm", "--uvicorn-log-level", "warning"]
    return [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *theirs, *backend, *quiet, *options]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _members(group: int) -> list[str]:
    """Processes of a group that still run."""
    import psutil

    found = []
    for process in psutil.process_iter(["name", "status"]):
        try:
            if os.getpgid(process.pid) == group and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {process.info['name']}")
        except ProcessLookupError:
            continue  # ended while we looked
    return found
