"""Savings by a shared store, and its costs: between real server processes on one Redis server."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from math import sqrt

from benchmarks.data import read_tasks
from benchmarks.schemas.corpus import read_items
from benchmarks.store.server import Options
from benchmarks.store.world import SECRET, Redis, Reply, Server, ask_all, chat, redis, servers, until
from benchmarks.tables import markdown, number, quantile

STARTS, ROUNDS = 16, 3
"""Extent of the throughput's measurement: pairs of servers, with the store and without, and rounds of each. One process
is faster than another of the same program by some 2 %, so many of them count more than long runs.
"""
AT_ONCE = 8
"""Requests after which the other server's turn comes: what slows the machine for a while slows both."""
OBJECTS = 300
"""Objects in the schema that many ask for at once: it takes a second to compile."""


SHIPPED = ("python_subset", "sql")
"""Grammars in which searches take long."""


@dataclass(frozen=True, slots=True)
class ReplicaRow:
    """One schema, first at A and then at B: milliseconds until its grammar is ready, and of the whole answer."""

    schema: str
    a_ready: float
    b_ready: float
    a_answer: float
    b_answer: float
    a_cache: str
    b_cache: str
    same: bool


@dataclass(frozen=True, slots=True)
class StampedeRow:
    """Grammars compiled by all processes together that were not killed, answers, seconds until the last one."""

    variant: str
    compiled: int
    answered: int
    asked: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ThroughputRow:
    """Throughput of the same requests at both servers, one after the other: tokens of their answers, and seconds."""

    tokens: int
    without: float
    with_store: float


@dataclass(frozen=True, slots=True)
class LearningRow:
    """One answer with a tight budget: milliseconds of decoding where it is searched, and where the search is known."""

    group: str
    searched: float
    known: float
    same: bool


def replicas(tokenizer: str, count: int) -> tuple[str, list[ReplicaRow]]:
    """First requests at A, the same at B."""
    schemas = [(item.name, item.schema) for item in read_items(count)]
    bodies = [chat(schema) for _, schema in schemas]
    with redis() as store:
        options = Options(tokenizer, store.address, SECRET, kept=2 * count)
        with servers(options, options) as (a, b):
            first = a.ask(bodies, clients=1)
            a.settle()
            second = b.ask(bodies, clients=1)
            compiled = b.compiled
    rows = [
        ReplicaRow(
            name,
            one.told["compile_ms"],
            other.told["compile_ms"],
            round(one.seconds * 1000, 3),
            round(other.seconds * 1000, 3),
            one.told["cache"],
            other.told["cache"],
            one.text == other.text,
        )
        for (name, _), one, other in zip(schemas, first, second, strict=True)
        if one.text is not None and other.text is not None
    ]
    lines = [
        _quantiles("ready on A: compiled", [row.a_ready for row in rows]),
        _quantiles("ready on B: from the store", [row.b_ready for row in rows]),
        _quantiles("whole answer on A", [row.a_answer for row in rows]),
        _quantiles("whole answer on B", [row.b_answer for row in rows]),
    ]
    shared = sum(row.b_cache == "shared" for row in rows)
    same = sum(row.same for row in rows)
    table = markdown([f"{len(rows)} of {count} schemas, ms", "p50", "p95", "max"], lines)
    return f"{table}\n\nB: {shared} from the store, {compiled} compiled; {same} texts as on A.", rows


def stampede(tokenizer: str, count: int) -> tuple[str, list[StampedeRow]]:
    """Concurrent first requests for one big grammar over four processes; and with the one killed that compiles."""
    rows = []
    for variant in ("nobody is killed", "the one that compiles is killed"):
        with redis() as store:
            options = Options(tokenizer, store.address, SECRET)
            with servers(*[options] * 4) as four:
                rows.append(_stampede(variant, four, store, count))
    lines = [[row.variant, str(row.compiled), f"{row.answered} of {row.asked}", number(row.seconds)] for row in rows]
    return markdown(["four processes", "compiled", "answered", "seconds"], lines), rows


def _stampede(variant: str, four: Sequence[Server], store: Redis, count: int) -> StampedeRow:
    kill = variant != "nobody is killed"
    schema = json.dumps(_large())
    left = four[1:] if kill else four

    async def all_at_once() -> list[Reply]:
        first = asyncio.create_task(ask_all(four[:1], [chat(schema)], 1, {})) if kill else None
        if first is not None:
            await asyncio.to_thread(until, lambda: _leased(store))
        asking = asyncio.create_task(ask_all(left, [chat(schema)] * count, count, {}))
        if first is not None:
            await asyncio.sleep(0.2)  # the others are waiting for it by then
            four[0].process.kill()
            await first
        return await asking

    begun = time.perf_counter()
    replies = asyncio.run(all_at_once())
    seconds = round(time.perf_counter() - begun, 3)
    texts = {reply.text for reply in replies}
    answered = sum(reply.text is not None for reply in replies)
    if answered and len(texts - {None}) != 1:
        raise AssertionError("greedy answers to one request differ")
    return StampedeRow(variant, sum(server.compiled for server in left), answered, count, seconds)


def _large() -> dict[str, object]:
    """A schema of objects whose names are all different."""
    names = [[f"name {number * number + member}" for member in range(20)] for number in range(OBJECTS)]
    inner = [{"type": "object", "properties": {key: {"type": "integer"} for key in several}} for several in names]
    return {"type": "object", "properties": {f"object {number}": one for number, one in enumerate(inner)}}


def _leased(store: Redis) -> bool:
    with store.client() as client:
        return any(client.scan_iter("swyb:*:lease"))


def throughput(tokenizer: str, count: int) -> tuple[str, list[ThroughputRow]]:
    """Tight budgets, so that there is something to tell, at a server without a store and one with it, by turns."""
    starts = [_throughput(tokenizer, count, start) for start in range(STARTS)]
    sums = [[sum(values) for values in zip(*map(astuple, rows), strict=True)] for rows in starts]
    tokens, without, with_store = (sum(values) for values in zip(*sums, strict=True))
    ratio = without / with_store
    # of a ratio of sums, by what each start would have it otherwise
    error = sqrt(sum((off - ratio * on) ** 2 for _, off, on in sums)) / with_store
    lines = [
        ["without a store", number(tokens / without), number(without)],
        ["with it", number(tokens / with_store), number(with_store)],
    ]
    pairs = [pair for rows in starts for pair in rows]
    table = markdown([f"{len(pairs)} pairs of {AT_ONCE} requests", "tokens/s", "seconds"], lines)
    return f"{table}\n\nWith the store by without it: {ratio:.3f}, standard error {error:.3f}.", pairs


def _throughput(tokenizer: str, count: int, start: int) -> list[ThroughputRow]:
    """Throughput of two servers that are started for it."""
    rows: list[ThroughputRow] = []
    with redis() as store:
        options = Options(tokenizer, brief=False), Options(tokenizer, store.address, SECRET, brief=False)
        with servers(*options) if start % 2 else servers(*reversed(options)) as both:
            off, on = both if start % 2 else reversed(both)
            bodies = _tight(off, count)
            for server in (off, on):
                server.ask(bodies)
            for _ in range(ROUNDS):
                for first in range(0, len(bodies), AT_ONCE):
                    some = bodies[first : first + AT_ONCE]
                    taken = {server: _taken(server, some) for server in ((off, on) if len(rows) % 2 else (on, off))}
                    rows.append(ThroughputRow(taken[off][0], taken[off][1], taken[on][1]))
    return rows


def learning(tokenizer: str, count: int) -> tuple[str, list[LearningRow]]:
    """A finds by search. Then B, which knows it from the store, and C, from whose store it is taken away, by turns.

    Only what was found is told. That a search found nothing isn't, and where most searches do, little is saved.
    """
    with redis() as store, redis() as other:
        options = Options(tokenizer, store.address, SECRET, brief=False, kept=2 * count)
        without = replace(options, store=other.address)
        with servers(options, without, options, without) as (a, a_too, b, c):
            asked = [("json-mode-eval", body) for body in _tight(a, count)]
            asked += [(name, body) for name in SHIPPED for body in _by_name(a, name, count)]
            bodies = [body for _, body in asked]
            first = a.ask(bodies, clients=1)
            a_too.ask(bodies, clients=1)
            for server in (a, a_too):
                server.settle()
            with store.client() as client:
                entries = sum(client.hlen(key) for key in client.scan_iter("swyb:*:table"))
            with other.client() as client:
                for key in list(client.scan_iter("swyb:*:table")):
                    client.delete(key)
            turns: dict[Server, list[Reply]] = {b: [], c: []}
            for at, body in enumerate(bodies):
                for server in (b, c) if at % 2 else (c, b):
                    turns[server] += server.ask([body])
    rows = [
        LearningRow(group, _decoding(anew), _decoding(told), finder.text == told.text == anew.text)
        for (group, _), finder, told, anew in zip(asked, first, turns[b], turns[c], strict=True)
        if None not in (finder.text, told.text, anew.text)
    ]
    lines = [_gain(group, [row for row in rows if row.group == group]) for group in ("json-mode-eval", *SHIPPED)]
    header = ["ms without getting the grammar", "answers", "searched, sum", "known, sum", "ratio", "same texts"]
    return f"{markdown(header, lines)}\n\n{entries} findings were told.", rows


def _gain(group: str, rows: Sequence[LearningRow]) -> list[str]:
    searched, known = sum(row.searched for row in rows), sum(row.known for row in rows)
    ratio = f"{known / searched:.2f}" if searched else "–"
    return [group, str(len(rows)), number(searched), number(known), ratio, str(sum(row.same for row in rows))]


def _by_name(server: Server, name: str, count: int) -> list[dict[str, object]]:
    """Growing budgets for a grammar that comes with the server."""
    body = {"messages": [{"role": "user", "content": "hi"}], "grammar": {"name": name}, "temperature": 0}
    [reply] = server.ask([{**body, "max_tokens": 1}])
    least = int(reply.told["min_tokens"])
    return [{**body, "max_tokens": least + 2 * at} for at in range(1, count + 1)]


def _tight(server: Server, count: int) -> list[dict[str, object]]:
    """Requests whose budget is a little above the least that they need."""
    schemas = [task.schema for task in read_tasks(count)]
    refused = server.ask([chat(schema, max_tokens=1) for schema in schemas])
    least = [reply.told.get("min_tokens") for reply in refused]
    return [chat(schema, max_tokens=round(1.2 * n) + 1) for schema, n in zip(schemas, least, strict=True) if n]


def _decoding(reply: Reply) -> float:
    """Kept grammars were got before."""
    got = 0.0 if reply.told["cache"] == "hit" else float(reply.told["compile_ms"])
    return round(reply.seconds * 1000 - got, 3)


def _taken(server: Server, bodies: Sequence[dict[str, object]]) -> tuple[int, float]:
    """Tokens and seconds."""
    begun = time.perf_counter()
    replies = server.ask(bodies)
    seconds = time.perf_counter() - begun
    return sum(int(reply.told["tokens_used"]) for reply in replies if reply.text is not None), round(seconds, 4)


def _quantiles(name: str, values: Sequence[float]) -> list[str]:
    return [name, *(number(quantile(values, share)) for share in (0.5, 0.95, 1.0))]
