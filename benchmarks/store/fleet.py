"""A fleet of replicas on one Redis: what 1, 10 and 100 of them compile, load, and ask of it.

Replicas are simulated, since a machine holds no hundred servers: each has a connection, a thread that writes and a
memory of grammars of its own, as a server has, and the store is a real Redis. Requests come one at a time, so times
are those of a Redis that isn't busy; its own processor time tells how many replicas it bears.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.data import read_vocabulary, tokenizer_folder
from benchmarks.schemas.corpus import read_items
from benchmarks.store.world import SECRET, redis
from benchmarks.tables import markdown, number, quantile
from grammar_cache import Constraint, GrammarError, Vocabulary
from grammar_cache.compile import compile_grammar, constraint_id
from grammar_cache.configurations.content_keys import KEY_BYTES
from grammar_cache.distances.claims import Claim
from grammar_cache.store.database import Database
from grammar_cache.store.opening import open_database
from grammar_cache.store.patience import Timing
from grammar_cache.store.sharing import SharedGrammars
from server.grammars.exchange import REFRESH_SECONDS
from server.settings import LIMITS, Settings

SIZES = (1, 10, 100)
REQUESTS = 2000
FINDINGS = 1000
KEPT = Settings().cached_grammars
PATIENT = Timing(wait_least=10.0, wait_most=10.0)
"""Waits of the simulation: a machine that does other work doesn't turn answers that come into misses."""


@dataclass(frozen=True, slots=True)
class FleetRow:
    """Figures of one size. Milliseconds of a load and of a compilation; `redis_ms`: Redis' processor time for a request
    that asks it; `refresh_us`: the same for one replica's look for what is new. `memory` and `finding`: bytes of Redis'
    memory for all grammars, and for a configuration whose distance a search has found.
    """

    replicas: int
    requests: int
    compiled: int
    loaded: int
    alone: int
    load_p50: float
    load_p95: float
    compile_p50: float
    redis_ms: float
    refresh_us: float
    bytes_in: int
    bytes_out: int
    memory: int
    finding: float
    grammars: int


@dataclass(slots=True)
class Replica:
    """One replica: what it has in memory, by use, and its way to the store."""

    database: Database
    shared: SharedGrammars
    kept: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def has(self, grammar_id: str) -> bool:
        """Whether the grammar is in memory; if not, it is from now on, and the least used one may go."""
        known = grammar_id in self.kept
        self.kept[grammar_id] = None
        self.kept.move_to_end(grammar_id)
        if len(self.kept) > KEPT:
            self.kept.popitem(last=False)
        return known


def fleet(tokenizer: str, count: int) -> tuple[str, list[FleetRow]]:
    """Figures of fleets of each size, for so many schemas that are asked for by Zipf's law."""
    vocabulary = read_vocabulary(tokenizer_folder(tokenizer))
    constraints = list(_constraints(vocabulary, count))
    rows = [_measured(size, vocabulary, constraints) for size in SIZES]
    head = ["Replicas", "compiled", "without a store", "loaded", "load p50, p95 ms", "compile p50 ms"]
    head += ["Redis ms a load", "µs a look", "Redis KiB a grammar", "bytes a finding"]
    lines = [
        [
            str(row.replicas),
            str(row.compiled),
            str(row.alone),
            str(row.loaded),
            f"{number(row.load_p50)}, {number(row.load_p95)}",
            number(row.compile_p50),
            number(row.redis_ms),
            number(row.refresh_us),
            number(row.memory / row.grammars / 1024),
            number(row.finding),
        ]
        for row in rows
    ]
    told = f"{REQUESTS} requests for {len(constraints)} grammars, {KEPT} of which a replica keeps."
    return f"{told}\n\n{markdown(head, lines)}\n\n{_borne(rows[-1])}", rows


def _borne(row: FleetRow) -> str:
    """Share of one core that Redis takes for the largest fleet's looks."""
    share = row.replicas / REFRESH_SECONDS * row.refresh_us / 1e6
    return (
        f"{row.replicas} replicas that look every {REFRESH_SECONDS:g} s take {100 * share:.2f} % of one core of Redis."
    )


def _constraints(vocabulary: Vocabulary, count: int) -> Sequence[tuple[str, Constraint]]:
    """Constraints that compile, with their ids."""
    found = []
    for item in read_items(count):
        constraint = Constraint("json_schema", item.schema)
        try:
            compile_grammar(constraint, vocabulary, LIMITS)
        except GrammarError:
            continue
        found.append((constraint_id(constraint, vocabulary), constraint))
    return found


def _measured(size: int, vocabulary: Vocabulary, constraints: Sequence[tuple[str, Constraint]]) -> FleetRow:
    ranks = np.arange(1, len(constraints) + 1)
    drawn = np.random.default_rng(1).choice(len(constraints), REQUESTS, p=(1 / ranks) / (1 / ranks).sum())
    with redis() as store:
        made = [_replica(store.address, number, vocabulary) for number in range(size)]
        before = _figures(store.client())
        compile_ms: list[float] = []
        load_ms: list[float] = []
        alone = 0
        for at, wanted in enumerate(drawn):
            grammar_id, constraint = constraints[wanted]
            replica = made[at % size]
            if replica.has(grammar_id):
                continue
            alone += 1
            begun = time.perf_counter()
            shared = replica.shared.get(grammar_id, lambda: compile_grammar(constraint, vocabulary, LIMITS), 30.0)  # noqa: B023
            (load_ms if shared.found else compile_ms).append((time.perf_counter() - begun) * 1000)
            if not shared.found:
                _settle(replica.database)
        after = _figures(store.client())
        refresh_us = _refresh(made, constraints, store.client())
        memory = _memory(store.client())
        finding = _finding(made[0].database, constraints[0][0], store.client())
        for replica in made:
            replica.database.close(5.0)
    asked = len(load_ms) + len(compile_ms)
    return FleetRow(
        size,
        REQUESTS,
        len(compile_ms),
        len(load_ms),
        alone,
        quantile(load_ms or [0.0], 0.5),
        quantile(load_ms or [0.0], 0.95),
        quantile(compile_ms, 0.5),
        (after["cpu"] - before["cpu"]) * 1000 / asked,
        refresh_us,
        int(after["in"] - before["in"]),
        int(after["out"] - before["out"]),
        memory,
        finding,
        len({constraints[wanted][0] for wanted in drawn}),
    )


def _replica(address: str, number: int, vocabulary: Vocabulary) -> Replica:
    database = open_database(address, LIMITS, origin=f"replica {number}", secret=SECRET, timing=PATIENT)
    return Replica(database, SharedGrammars(database, vocabulary, LIMITS))


def _settle(database: Database) -> None:
    """Returns when what was compiled is written: the next replica asks after it, as it does between requests."""
    deadline = time.monotonic() + 10.0
    while not database.counters.snapshot["written"] and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(0.01)


def _refresh(made: Sequence[Replica], constraints: Sequence[tuple[str, Constraint]], client: Any) -> float:
    """Microseconds of Redis' processor for one look of one replica at all grammars that it keeps."""
    known = {grammar_id: 0 for grammar_id, _ in constraints[:KEPT]}
    looks = max(200, len(made))
    begun = _figures(client)["cpu"]
    for look in range(looks):
        made[look % len(made)].shared.news(known)
    return (_figures(client)["cpu"] - begun) * 1e6 / looks


def _finding(database: Database, grammar_id: str, client: Any) -> float:
    """Bytes of Redis' memory for one configuration of a grammar: its distance, and a witness of four tokens."""
    before = _memory(client)
    random = np.random.default_rng(2)
    database.learn(grammar_id, {random.bytes(KEY_BYTES): Claim(4, (1, 2, 3, 4)) for _ in range(FINDINGS)})
    database.close(5.0)
    return (_memory(client) - before) / FINDINGS


def _memory(client: Any) -> int:
    """Bytes that Redis says its keys and values take."""
    return sum(client.memory_usage(key, samples=0) for key in client.scan_iter(count=1000))


def _figures(client: Any) -> dict[str, float]:
    """Figures that Redis tells of itself: seconds of its processor, bytes of its connections."""
    told = client.info()
    return {
        "cpu": told["used_cpu_user"] + told["used_cpu_sys"],
        "in": told["total_net_input_bytes"],
        "out": told["total_net_output_bytes"],
    }
