"""A server in a process of its own, what it takes of processor time and memory, by Linux's own count."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn

from grammar_cache import Vocabulary
from server.api.connections import bounded
from server.app import create_app
from server.backends.loop import EngineLoop
from server.commands.allocator import return_large_blocks
from server.commands.garbage import keep_what_is_loaded
from server.engines.chat import ChatEncoder
from server.engines.contract import Message, Rendering
from server.settings import Settings
from tests.cached import model_folder
from tests.server.engines.scripted import ScriptedEngine
from tests.server.engines.scripts import uniform
from tests.server.running import eventually

WINDOW = 8192


class ReadingEngine(ScriptedEngine):
    """A scripted model behind a real tokenizer and template."""

    def __init__(self, folder: Path) -> None:
        vocabulary = Vocabulary.from_pretrained(folder)
        super().__init__(vocabulary, uniform(vocabulary.size), context_window=WINDOW)
        self._chat = ChatEncoder(folder, vocabulary)

    def encode(
        self, messages: Sequence[Message], most: int | None = None, rendering: Rendering | None = None
    ) -> list[int]:
        return self._chat.encode(messages, most, rendering)


@dataclass(frozen=True, slots=True)
class Measured:
    """A running server."""

    process: int
    client: httpx.Client

    @property
    def seconds(self) -> float:
        """Processor time, all threads together, since it began."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def bytes(self) -> int:
        """Memory now."""
        return self._memory("VmRSS")

    @property
    def peak_bytes(self) -> int:
        """The most memory since `forget_peak`."""
        return self._memory("VmHWM")

    def forget_peak(self) -> None:
        Path(f"/proc/{self.process}/clear_refs").write_text("5")

    def _memory(self, name: str) -> int:
        found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{self.process}/status").read_text())
        assert found is not None
        return int(found[1]) << 10


@contextmanager
def measured() -> Iterator[Measured]:
    """The server with default settings and the embedded model's tokenizer, ready, until the block ends."""
    folder = model_folder()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        number = listening.fileno()
        command = [sys.executable, "-m", __name__, str(number), str(folder)]
        base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with (
            subprocess.Popen(command, pass_fds=[number]) as process,
            httpx.Client(base_url=base, timeout=120) as client,
        ):
            try:
                eventually(lambda: client.get("/ready").status_code == 200, 120)
                yield Measured(process.pid, client)
            finally:
                process.terminate()


def main(number: int, folder: Path) -> None:
    backend = EngineLoop(ReadingEngine(folder))
    keep_what_is_loaded()  # as `serve` does
    return_large_blocks()
    settings = Settings()
    config = uvicorn.Config(create_app(settings, backend), http=bounded(settings.intake), log_level="warning")
    asyncio.run(uvicorn.Server(config).serve([socket.socket(fileno=number)]))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
