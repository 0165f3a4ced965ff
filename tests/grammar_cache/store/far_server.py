"""A way to a real server that takes long: what the server says arrives so much later."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager
from queue import SimpleQueue
from threading import Thread
from urllib.parse import urlsplit


class Far:
    """Between clients and the server at an address. `seconds` may be changed at any time."""

    def __init__(self, address: str, seconds: float) -> None:
        self.seconds = seconds
        self._port = urlsplit(address).port
        self._begun: SimpleQueue[int] = SimpleQueue()
        self._over = asyncio.Event()
        self._met: set[asyncio.Task[None]] = set()
        self._thread = Thread(target=asyncio.run, args=(self._serve(),))
        self._thread.start()
        self.address = f"redis://127.0.0.1:{self._begun.get()}"

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with await asyncio.start_server(self._meet, "127.0.0.1", 0) as server:
            self._begun.put(server.sockets[0].getsockname()[1])
            await self._over.wait()
            for task in self._met:
                task.cancel()
            await asyncio.gather(*self._met, return_exceptions=True)

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._connect(reader, writer))
        self._met.add(task)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        own_reader, own_writer = await asyncio.open_connection("127.0.0.1", self._port)
        with closing(writer), closing(own_writer):
            there = asyncio.create_task(self._pass(reader, own_writer, late=False))
            back = asyncio.create_task(self._pass(own_reader, writer, late=True))
            try:
                await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
            finally:
                there.cancel()
                back.cancel()
                await asyncio.gather(there, back, return_exceptions=True)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, late: bool) -> None:
        while data := await reader.read(1 << 16):
            self._loop.call_later(self.seconds if late else 0, writer.write, data)

    def close(self) -> None:
        """Closes the server at once, whatever is under way."""
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()


@contextmanager
def far(address: str, seconds: float) -> Iterator[Far]:
    """A far server, until the block ends."""
    with closing(Far(address, seconds)) as made:
        yield made
