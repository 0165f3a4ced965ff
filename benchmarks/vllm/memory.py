"""Memory of a server's processes while it answers requests of all kinds: whole, streamed, cancelled, beams.

On a processor vLLM's memory for keys and values is touched bit by bit: it should be small, so that all of it is in use
before growth is looked for (`--kv-cache-memory-bytes 128M` among the options). vLLM's engine grows by itself there,
with its own server too: so ours is measured beside one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx

from benchmarks.data import Task
from benchmarks.tables import machine, markdown
from benchmarks.vllm.chats import SECONDS, Body, Reply, body_of, reply_to
from benchmarks.vllm.servers import OURS, Server

CONCURRENCY = 16
LOOKS = 10
MAX_TOKENS = 48
SETTLED = 0.3
"""Share of all requests after which memory counts: by then caches are as full as they get, and what grows later grows
for ever.
"""
NOISE = 0.03
"""Growth from there on that may be chance."""


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """Memory of a server after so many requests; bytes."""

    server: str
    requests: int
    failed: int
    front_end: int
    engine: int


def measured(server: Server, tasks: Sequence[Task], requests: int) -> list[MemoryRow]:
    """Rows of a server's memory at first, and then ten times."""
    rows = [_look(server, 0, 0)]
    failed = 0
    for look in range(LOOKS):
        bounds = range(look * requests // LOOKS, (look + 1) * requests // LOOKS)
        kinds = [kind_of(tasks, at, ours=server.name == OURS) for at in bounds]
        replies = asyncio.run(answered(server.address, kinds))
        failed += sum(reply.text is None and "budget_too_small" not in reply.reason for reply in replies)
        rows.append(_look(server, bounds.stop, failed))
    return rows


def report(rows: Sequence[MemoryRow]) -> str:
    columns = ("server", "requests", "failed", "front end, MiB", "engine, MiB")
    table = [(row.server, str(row.requests), str(row.failed), _mib(row.front_end), _mib(row.engine)) for row in rows]
    parts = [markdown(columns, table)]
    for name in dict.fromkeys(row.server for row in rows):
        front_end, engine = growth([row for row in rows if row.server == name])
        parts.append(
            f"{name}, from {SETTLED:.0%} of the requests on: front end {front_end:+.1%}, engine {engine:+.1%}."
        )
    return "\n\n".join((*parts, machine()))


def leaks(rows: Sequence[MemoryRow]) -> bool:
    """Whether our front end has grown beyond chance, or our engine has beyond chance and beyond vLLM's own."""
    front_end, engine = growth([row for row in rows if row.server == OURS])
    theirs = {row.server for row in rows} - {OURS}
    usual = max((growth([row for row in rows if row.server == name])[1] for name in theirs), default=0.0)
    return front_end > NOISE or engine > max(usual, 0.0) + NOISE


def growth(rows: Sequence[MemoryRow]) -> tuple[float, float]:
    """Growth of front end and engine, from where caches are full to the end, as shares."""
    settled, last = next(row for row in rows if row.requests >= SETTLED * rows[-1].requests), rows[-1]
    return last.front_end / settled.front_end - 1, last.engine / settled.engine - 1


def _look(server: Server, requests: int, failed: int) -> MemoryRow:
    front_end, engine = server.memory()
    return MemoryRow(server.name, requests, failed, front_end, engine)


def kind_of(tasks: Sequence[Task], at: int, *, ours: bool = True) -> tuple[str, dict[str, Any]]:
    """Kind and body of the request of this number: every kind with every task, in the end. Beams and seeds are ours: on
    a processor a seed can end vLLM's own engine.
    """
    kinds = ("whole", "streamed", "cancelled")
    body = body_of(tasks[at % len(tasks)], MAX_TOKENS, constrained=at % 4 != 0)
    if at % 5 == 0:
        body |= {"swyb": {"beam_width": 2 + at % 3}} if ours else {}
    elif at % 2:
        body |= {"temperature": 1.0, "seed": at} if ours else {"temperature": 1.0}
    return kinds[at // 2 % 3], body


async def answered(address: str, kinds: Sequence[tuple[str, Body]]) -> list[Reply]:
    replies: list[Reply] = []
    numbers = count()
    ways: dict[str, Callable[..., Any]] = {"whole": reply_to, "streamed": _streamed, "cancelled": _cancelled}
    async with httpx.AsyncClient(base_url=address, timeout=SECONDS) as client:

        async def ask() -> None:
            while (number := next(numbers)) < len(kinds):
                how, body = kinds[number]
                replies.append(await ways[how](client, body))

        await asyncio.gather(*(ask() for _ in range(CONCURRENCY)))
    return replies


async def _streamed(client: httpx.AsyncClient, body: Body, most: int = 1 << 30) -> Reply:
    """Read to its end, or up to a number of lines: then the connection is closed."""
    lines: list[str] = []
    async with client.stream("POST", "/v1/chat/completions", json={**body, "stream": True}) as response:
        if response.status_code != 200:
            return Reply(0.0, None, reason=(await response.aread()).decode()[:300])
        async for line in response.aiter_lines():
            lines.append(line)
            if len(lines) >= most:
                return Reply(0.0, "")
    failed = next((line for line in lines if '"error"' in line[:20]), None)
    return Reply(0.0, None if failed else "", reason=failed or "")


async def _cancelled(client: httpx.AsyncClient, body: Body) -> Reply:
    return await _streamed(client, body, most=4)


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f}"
