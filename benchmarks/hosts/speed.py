"""Speed of two running vLLM servers, asked by turns: requests a second, and the worst gap of a stream.

`python -m benchmarks hosts_speed --plugin URL --peer URL` asks a server with the plug-in and one without it for the
same chats, 4, 16 and 64 at once, and has each stream a text while 20 new schemas arrive. Rows are kept: an ended run
goes on where it was, and `--turns 8` behind 6 adds two. Turn 0 warms up, and isn't counted.

Whole answers have other lengths than cut ones, so tokens a second stand beside requests. Servers whose memory is too
small for all requests at once take some out and begin them anew (preemptions): their figures say little.
"""

from __future__ import annotations

import asyncio
import json
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import httpx

from benchmarks.data import read_tasks
from benchmarks.hosts.answers import INTERFACES, Job
from benchmarks.hosts.asking import SECONDS, outcomes_of
from benchmarks.tables import machine, markdown
from server.options.readers import positive

LEVELS = (4, 16, 64)
SERVERS = ("plugin", "peer")
NEW_SCHEMAS = 20
PREEMPTED = "vllm:num_preemptions_total"
BETWEEN = 0.25
"""Seconds between new schemas."""


@dataclass(frozen=True, slots=True)
class Row:
    """One turn of a server: requests a second at a level, or the worst gap in ms at level 0. `tokens`: of all answers;
    `preempted`: requests that were taken out for want of memory.
    """

    turn: int
    server: str
    level: int
    value: float
    whole: int
    asked: int
    tokens: int = 0
    preempted: int = 0

    @property
    def token_rate(self) -> float:
        """Tokens a second."""
        return self.tokens * self.value / self.asked


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--plugin", default="http://127.0.0.1:8000", help="address of the server with the plug-in")
    parser.add_argument("--peer", default="http://127.0.0.1:8001", help="address of the server without it")
    parser.add_argument("--model", default="smol", help="the model's name on both")
    parser.add_argument("--turns", type=positive, default=6)
    parser.add_argument("--requests", type=positive, default=64, help="of a turn at a level")
    parser.add_argument("--budget", type=positive, default=64, help="max_tokens of each")


def run(arguments: Namespace) -> int:
    """Asks what no row tells yet, and prints both tables."""
    path = Path(arguments.out) / "hosts_speed.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [Row(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []
    known = {(row.turn, row.level, row.server) for row in rows}
    for turn, level in product(range(arguments.turns + 1), (*LEVELS, 0)):
        for server in SERVERS if turn % 2 else reversed(SERVERS):
            if (turn, level, server) in known:
                continue
            rows.append(_row(arguments, turn, level, server))
            with path.open("a") as file:
                file.write(json.dumps(asdict(rows[-1])) + "\n")
    counted = [row for row in rows if row.turn]
    head = ("", "plug-in", "peer", "plug-in / peer", "tokens a second", "whole: plug-in", "peer", "preempted")
    print(markdown(head, _table(counted)))
    print("requests a second, and the worst gap in ms; tokens a second as plug-in / peer; preempted of both")
    print(f"mean ± standard deviation of turns; {machine()}")
    return 0


def _table(rows: list[Row]) -> list[list[str]]:
    found = []
    for level in (*LEVELS, 0):
        sides = [
            sorted((row for row in rows if (row.server, row.level) == (server, level)), key=_turn) for server in SERVERS
        ]
        pairs = list(zip(*sides, strict=True))
        ratios = [ours.value / theirs.value for ours, theirs in pairs]
        rates = [ours.token_rate / theirs.token_rate for ours, theirs in pairs if theirs.tokens]
        values = [[row.value for row in side] for side in sides]
        whole = [f"{sum(row.whole for row in side)} of {sum(row.asked for row in side)}" for side in sides]
        name = f"{level} at once" if level else f"gap, {NEW_SCHEMAS} new schemas"
        preempted = ", ".join(str(sum(row.preempted for row in side)) for side in sides) if level else ""
        found.append([name, *map(_spread, (*values, ratios, rates)), *whole, preempted])
    return found


def _turn(row: Row) -> int:
    return row.turn


def _spread(values: list[float]) -> str:
    return f"{mean(values):.2f} ± {stdev(values):.2f}" if len(values) > 1 else ", ".join(f"{one:.2f}" for one in values)


def _row(arguments: Namespace, turn: int, level: int, server: str) -> Row:
    address = getattr(arguments, server)
    if level == 0:
        gap, reasons = asyncio.run(_gap(address, arguments.model, arguments.budget, turn))
        return Row(turn, server, level, 1000 * gap, reasons["stop"], sum(reasons.values()))
    tasks = read_tasks()
    jobs = [Job(tasks[k % len(tasks)], arguments.budget, "chat", False) for k in range(arguments.requests)]
    before, begun = _preempted(address), time.perf_counter()
    ends = asyncio.run(outcomes_of(jobs, partial(_end, model=arguments.model), address, level))
    rate = len(jobs) / (time.perf_counter() - begun)
    whole, tokens = sum(reason == "stop" for reason, _ in ends), sum(count for _, count in ends)
    return Row(turn, server, level, rate, whole, len(jobs), tokens, _preempted(address) - before)


async def _end(client: httpx.AsyncClient, job: Job, model: str) -> tuple[str, int]:
    """Reason of an answer's end, and its tokens; `refused` where its budget is below the minimum."""
    path, asked, _ = INTERFACES[job.interface]
    response = await client.post(path, json=asked(job, model) | {"temperature": 0})
    if response.status_code == 400:
        return "refused", 0
    found = response.raise_for_status().json()
    return str(found["choices"][0]["finish_reason"]), int(found["usage"]["completion_tokens"])


def _preempted(address: str) -> int:
    """Requests that a server has taken out so far, as its metrics tell."""
    lines = httpx.get(f"{address}/metrics", timeout=SECONDS).raise_for_status().text.splitlines()
    return sum(int(float(line.rpartition(" ")[2])) for line in lines if line.startswith(PREEMPTED))


async def _gap(address: str, model: str, budget: int, turn: int) -> tuple[float, Counter[str]]:
    """Seconds of the worst gap between chunks of a stream while new schemas arrive, and how their answers ended."""
    messages = [{"role": "user", "content": "Count from one to five hundred in words."}]
    body = {"model": model, "messages": messages, "max_tokens": 400, "ignore_eos": True, "stream": True}
    worst, last, waiting = 0.0, 0.0, None
    async with httpx.AsyncClient(base_url=address, timeout=SECONDS) as client:
        async with client.stream("POST", "/v1/chat/completions", json=body | {"temperature": 0}) as response:
            async for line in response.aiter_lines():
                if not line.startswith("data: {"):
                    continue
                now = time.perf_counter()
                if waiting is None:
                    waiting = asyncio.create_task(_new_schemas(client, model, budget, turn))
                elif not waiting.done():
                    worst = max(worst, now - last)
                last = now
        return worst, Counter() if waiting is None else await waiting


async def _new_schemas(client: httpx.AsyncClient, model: str, budget: int, turn: int) -> Counter[str]:
    """Ends of the answers for schemas that no turn has asked for, one after the other at even distances."""

    async def one(number: int) -> str:
        await asyncio.sleep(BETWEEN * number)
        body = {"model": model, "messages": [{"role": "user", "content": "Fill it in."}], "max_tokens": budget}
        wanted = {"name": "answer", "schema": new_schema(turn, number)}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        response = await client.post("/v1/chat/completions", json=body | {"temperature": 0})
        if response.status_code == 400:
            return "refused"
        return str(response.raise_for_status().json()["choices"][0]["finish_reason"])

    return Counter(await asyncio.gather(*map(one, range(NEW_SCHEMAS))))


def new_schema(turn: int, number: int) -> dict[str, Any]:
    """A schema of 12 optional members, each one of 60 texts, that only this turn and number have."""
    texts = [f"value {turn} {number} {place}" for place in range(60)]
    members = {f"member_{turn}_{number}_{place}": {"enum": texts[place:] + texts[:place]} for place in range(12)}
    first = next(iter(members))
    return {"type": "object", "properties": members, "required": [first], "additionalProperties": False}
