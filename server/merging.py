"""Several streams as one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TypeVar

T = TypeVar("T")


async def merged(streams: Sequence[AsyncGenerator[T]]) -> AsyncGenerator[tuple[int, T]]:
    """Items that any of the streams yields, as they come, with the number of the stream. Closing it closes them.

    The first error ends them all, and is raised.
    """
    if len(streams) == 1:  # needs no task
        async with aclosing(streams[0]) as only:
            async for event in only:
                yield 0, event
        return
    arriving: asyncio.Queue[tuple[int, T] | None] = asyncio.Queue()

    async def follow(number: int, stream: AsyncGenerator[T]) -> None:
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    arriving.put_nowait((number, event))
        finally:
            arriving.put_nowait(None)

    tasks = [asyncio.create_task(follow(number, stream)) for number, stream in enumerate(streams)]
    try:
        for _ in tasks:
            while (numbered := await arriving.get()) is not None:
                yield numbered
            for task in [task for task in tasks if task.done()]:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
