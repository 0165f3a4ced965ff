"""What our server's processes weigh while it answers requests of all kinds: whole, streamed, cancelled, beams.

On a processor vLLM's memory for keys and values is touched bit by bit: it should be small, so that all of it is in use
before growth is looked for (`--kv-cache-memory-bytes 128M` among the options).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from benchmarks.chats import SECONDS, Body, Reply, body_of, reply_to
from benchmarks.data import Task, write_rows
from benchmarks.servers import Server
from benchmarks.tables import machine, markdown

CONCURRENCY = 16
LOOKS = 10
MAX_TOKENS = 48
SETTLED = 0.3
"""Of all requests: by then caches are as full as they get, and what grows later grows for ever."""
NOISE = 0.03
"""Growth from there on that may be chance."""


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """After so many requests; bytes."""

    requests: int
    failed: int
    front_end: int
    engine: int


def run(server: Server, tasks: Sequence[Task], requests: int, out: Path) -> int:
    """Prints the table and writes the rows; 1 if memory grew beyond chance, or a request failed."""
    rows = [_look(server, 0, 0)]
    failed = 0
    for look in range(LOOKS):
        bounds = range(look * requests // LOOKS, (look + 1) * requests // LOOKS)
        replies = asyncio.run(answered(server.address, [kind_of(tasks, at) for at in bounds]))
        failed += sum(reply.text is None and "budget_too_small" not in reply.reason for reply in replies)
        rows.append(_look(server, bounds.stop, failed))
    write_rows(out, "vllm-memory", rows)
    table = [(str(row.requests), str(row.failed), _mib(row.front_end), _mib(row.engine)) for row in rows]
    print(markdown(("requests", "failed", "front end, MiB", "engine, MiB"), table))
    grown = growth(rows)
    print(f"\nFrom {SETTLED:.0%} of the requests on: {grown:+.1%}. {machine()}")
    return 1 if grown > NOISE or failed else 0


def growth(rows: Sequence[MemoryRow]) -> float:
    """Of all processes together, from where caches are full to the end, as a share."""
    settled = next(row for row in rows if row.requests >= SETTLED * rows[-1].requests)
    return (rows[-1].front_end + rows[-1].engine) / (settled.front_end + settled.engine) - 1


def _look(server: Server, requests: int, failed: int) -> MemoryRow:
    front_end, engine = server.memory()
    return MemoryRow(requests, failed, front_end, engine)


def kind_of(tasks: Sequence[Task], at: int) -> tuple[str, dict[str, Any]]:
    """How the request of this number is asked: every kind with every task, in the end."""
    kinds = ("whole", "streamed", "cancelled")
    body = body_of(tasks[at % len(tasks)], MAX_TOKENS, constrained=at % 4 != 0)
    if at % 5 == 0:
        body["swyb"] = {"beam_width": 2 + at % 3}
    elif at % 2:
        body |= {"temperature": 1.0, "seed": at}
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
