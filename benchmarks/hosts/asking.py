"""Requests to a server, so many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import httpx

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")

SECONDS = 600
"""Seconds that an answer may take."""


async def outcomes_of(
    jobs: Iterable[Job], ask: Callable[[httpx.AsyncClient, Job], Awaitable[Outcome]], address: str, concurrency: int
) -> list[Outcome]:
    """Outcome of each job, in their order, as `ask` finds it; `concurrency` of them at a time."""
    gate = asyncio.Semaphore(concurrency)
    async with httpx.AsyncClient(base_url=address, timeout=SECONDS) as client:

        async def one(job: Job) -> Outcome:
            async with gate:
                return await ask(client, job)

        return await asyncio.gather(*map(one, jobs))
