"""Faults of the store, and what becomes of requests while it is killed, frozen, flushed, poisoned, full, or holds what
is wrong.

They meet a server that keeps few grammars, so that most requests ask the store. Right is the text of a server without a
store. Before each fault all is mended, and a calm run of the same requests comes first.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.data import read_tasks, read_vocabulary, tokenizer_folder
from benchmarks.store.server import Options
from benchmarks.store.world import SECRET, Hooks, Redis, Reply, Server, chat, redis, servers, until
from benchmarks.tables import markdown, number, quantile
from grammar_cache import Constraint
from grammar_cache.compile import constraint_id
from grammar_cache.distances.claims import Claim, Finding, HorizonClaim
from grammar_cache.store.database import Database
from grammar_cache.store.opening import open_database
from grammar_cache.store.patience import Timing
from server.settings import Settings

SCHEMAS = 16
KEPT = 2
"""Grammars that the server keeps."""
DELAY = 0.004
"""Seconds of a step: those of a small model."""
FROZEN_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class FaultRow:
    """`right`: texts as without a store. Milliseconds of requests; what the server's counters say of the fault."""

    fault: str
    right: int
    asked: int
    calm_p95: float
    p95: float
    counters: dict[str, int]


@dataclass(frozen=True, slots=True)
class World:
    """World that a fault may touch. `ids`: of all grammars that are asked for, each by one of `kinds`."""

    store: Redis
    server: Server
    ids: list[str]
    kinds: list[dict[str, Any]]
    requests: int

    def after(self, share: float) -> int:
        """The number of the request before which so many of all have been begun."""
        return int(self.requests * share)

    def mend(self) -> None:
        """All as it should be: the store works, and holds every grammar."""
        self.store.send(signal.SIGCONT)
        with self.store.client() as client:
            client.config_set("maxmemory", "0")
            client.flushall()
        self.server.ask(self.kinds)
        until(self._well)
        self.server.ask(self.kinds)
        self.server.settle()

    def _well(self) -> bool:
        """Whether the store is well, as the next call finds out when a pause is over."""
        self.server.ask(self.kinds[: 2 * KEPT], clients=1)
        state = self.server.state()["store"]
        return bool(state["reading"] == state["writing"] == "on")

    def writer(self, act: Callable[[Database, str], None]) -> None:
        """Does something to each grammar, as one who has the secret."""
        limits, patient = Settings().limits, Timing(wait_least=5.0, wait_most=5.0, write=5.0)
        database = open_database(self.store.address, limits, origin="another", secret=SECRET, timing=patient)
        try:
            for grammar_id in self.ids:
                act(database, grammar_id)
        finally:
            database.close(10)


Fault = Callable[[World], Hooks]


def kill(world: World) -> Hooks:
    """Kills the store, and starts it again, empty, after more than half of the requests."""
    return {world.after(0.1): _soon(world.store.kill), world.after(0.6): _soon(world.store.start)}


def freeze(world: World) -> Hooks:
    async def stop() -> None:
        world.store.send(signal.SIGSTOP)
        asyncio.get_running_loop().call_later(FROZEN_SECONDS, world.store.send, signal.SIGCONT)

    return {world.after(0.1): stop}


def flush(world: World) -> Hooks:
    def empty() -> None:
        with world.store.client() as client:
            client.flushall()

    return {world.after(share): _soon(empty) for share in (0.1, 0.4, 0.7)}


def poison(world: World) -> Hooks:
    """One bit of every value."""
    rng = random.Random(0)

    def turned(value: bytes) -> bytes:
        at = rng.randrange(len(value))
        return value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]

    def change() -> None:
        with world.store.client() as client:
            for key in list(client.scan_iter("swyb:*:artefact")):
                client.set(key, turned(client.get(key)))
            for key in list(client.scan_iter("swyb:*:table")):
                client.hset(key, mapping={field: turned(value) for field, value in client.hgetall(key).items()})

    return {0: _soon(change)}


def full(world: World) -> Hooks:
    def fill() -> None:
        with world.store.client() as client:
            client.flushall()
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("maxmemory", "1mb")

    return {0: _soon(fill)}


def old_version(world: World) -> Hooks:
    """Rightly sealed, by a program whose distances are others."""

    def put(database: Database, grammar_id: str) -> None:
        artefact = database.load(grammar_id).artefact or b""
        database.keep(grammar_id, artefact.replace(b'"algorithm":"', b'"algorithm":"x', 1))

    return {0: _soon(lambda: world.writer(put))}


def two_writers(world: World) -> Hooks:
    """Rightly sealed: what one says is longer than what was found, and what the other says is too short."""

    told: list[int] = []

    def tell(database: Database, grammar_id: str) -> None:
        claims = database.load(grammar_id).claims
        told.append(len(claims))
        database.learn(grammar_id, {key: _bent(claim, longer=True) for key, claim in claims.items()})
        database.learn(grammar_id, {key: _bent(claim, longer=False) for key, claim in claims.items()})

    def differ() -> None:
        world.writer(tell)
        if not any(told):
            raise AssertionError("searches have found nothing that writers could differ about")

    return {0: _soon(differ)}


def _bent(claim: Finding, *, longer: bool) -> Finding:
    """Claim that says more or less than was found."""
    if isinstance(claim, HorizonClaim):
        return HorizonClaim(claim.tokens, tuple(way if longer else way[1:] for way in claim.ways))
    return Claim(claim.distance + 1, claim.witness) if longer else Claim(claim.distance - 1, claim.witness[1:])


FAULTS: dict[str, Fault] = {
    "none": lambda world: {},
    "kill -9, back after half": kill,
    "frozen for 10 s": freeze,
    "FLUSHALL, three times": flush,
    "poisoned": poison,
    "maxmemory 1 MB": full,
    "another version": old_version,
    "two writers that differ": two_writers,
}


def faults(tokenizer: str, count: int) -> tuple[str, list[FaultRow]]:
    """Rows of all faults: so many requests to each fault, and as many to the calm run before it."""
    vocabulary = read_vocabulary(tokenizer_folder(tokenizer))
    schemas = [task.schema for task in read_tasks(SCHEMAS)]
    ids = [constraint_id(Constraint("json_schema", schema), vocabulary) for schema in schemas]
    with servers(Options(tokenizer, brief=False)) as (alone,):
        least = [r.told.get("min_tokens") for r in alone.ask([chat(schema, max_tokens=1) for schema in schemas])]
        kinds = [chat(schema, max_tokens=round(1.2 * n) + 1) for schema, n in zip(schemas, least, strict=True) if n]
        order = random.Random(1)
        bodies = [order.choice(kinds) for _ in range(count)]
        right = [reply.text for reply in alone.ask(bodies)]
    with redis() as store, servers(Options(tokenizer, store.address, SECRET, DELAY, KEPT, brief=False)) as (server,):
        world = World(store, server, ids, kinds, count)
        rows = [_row(world, name, bodies, right) for name in FAULTS]
    lines = [
        [
            row.fault,
            f"{row.right} of {row.asked}",
            number(row.calm_p95),
            number(row.p95),
            f"{row.p95 / row.calm_p95:.2f}",
            _told(row.counters),
        ]
        for row in rows
    ]
    return markdown(["fault", "right texts", "calm p95, ms", "p95, ms", "ratio", "counted"], lines), rows


def _row(world: World, name: str, bodies: list[dict[str, Any]], right: list[str | None]) -> FaultRow:
    world.mend()
    server = world.server
    calm = server.ask(bodies)
    before = server.state()["store"]["counters"]
    struck = server.ask(bodies, at=FAULTS[name](world))
    after = server.state()["store"]["counters"]
    counted = {event: after[event] - before[event] for event in after if after[event] > before[event]}
    same = sum(reply.text == text for reply, text in zip(struck, right, strict=True))
    row = FaultRow(name, same, len(bodies), _p95(calm), _p95(struck), counted)
    print(row, file=sys.stderr)
    return row


def _p95(replies: list[Reply]) -> float:
    return round(1000 * quantile([reply.seconds for reply in replies], 0.95), 1)


def _told(counters: dict[str, int]) -> str:
    shown = ("hits", "misses", "timeouts", "errors", "skipped", "rejected", "dropped")
    return ", ".join(f"{event} {counters[event]}" for event in shown if event in counters)


def _soon(act: Callable[[], None]) -> Any:
    async def done() -> None:
        await asyncio.to_thread(act)

    return done
