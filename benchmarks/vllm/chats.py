"""Requests to servers that speak OpenAI's protocol, many at once, and what became of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from time import perf_counter
from typing import Any, TypeAlias

import httpx
from jsonschema import Draft202012Validator

from benchmarks.data import Task
from benchmarks.vllm.servers import MODEL

Body: TypeAlias = Mapping[str, Any]

SECONDS = 900.0
"""Seconds until a request is given up."""


@dataclass(frozen=True, slots=True)
class Reply:
    """`text` None: refused or failed, for `reason`. `tokens`: of the answer, as the server counts them."""

    seconds: float
    text: str | None
    tokens: int = 0
    reason: str = ""


def body_of(task: Task, max_tokens: int, *, constrained: bool) -> dict[str, Any]:
    """The request for a task, greedy."""
    body = {"model": MODEL, "messages": list(task.messages), "max_tokens": max_tokens, "temperature": 0}
    if constrained:
        schema = {"name": "answer", "schema": json.loads(task.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def valid(text: str | None, task: Task) -> bool:
    """Whether the text is a whole JSON document that meets the task's schema."""
    try:
        return text is not None and Draft202012Validator(json.loads(task.schema)).is_valid(json.loads(text))
    except json.JSONDecodeError:
        return False


def asked(address: str, bodies: Sequence[Body], concurrency: int) -> tuple[float, list[Reply]]:
    """Seconds until all are answered, `concurrency` at a time, and the replies in order."""
    return asyncio.run(_asked(address, bodies, concurrency))


async def _asked(address: str, bodies: Sequence[Body], concurrency: int) -> tuple[float, list[Reply]]:
    replies: dict[int, Reply] = {}
    numbers = count()
    limits = httpx.Limits(max_connections=concurrency)
    async with httpx.AsyncClient(base_url=address, timeout=SECONDS, limits=limits) as client:

        async def ask() -> None:
            while (number := next(numbers)) < len(bodies):
                replies[number] = await reply_to(client, bodies[number])

        begun = perf_counter()
        await asyncio.gather(*(ask() for _ in range(concurrency)))
        seconds = perf_counter() - begun
    return seconds, [replies[number] for number in range(len(bodies))]


async def reply_to(client: httpx.AsyncClient, body: Body) -> Reply:
    """One request, answered in whole."""
    begun = perf_counter()
    response = await client.post("/v1/chat/completions", json=body)
    seconds = perf_counter() - begun
    if response.status_code != 200:
        return Reply(seconds, None, reason=response.text[:300])
    answer = response.json()
    return Reply(seconds, answer["choices"][0]["message"]["content"], answer["usage"]["completion_tokens"])
