"""docs/store.md says what is so: the sample runs, every limit and time is there, the keys are those of a server."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any, get_args

from grammar_cache.store import breaker, write_behind
from grammar_cache.store.contract import SCHEMA, Merge, Put, StoreLimits
from grammar_cache.store.counters import Event
from grammar_cache.store.opening import open_store
from grammar_cache.store.timing import Timing
from tests.documents import Document, name_of, run
from tests.store.redis_server import RedisServer
from tests.store.test_contract import KEY, NOW, A

STORE = Document("docs/store.md")


def values(rows: list[tuple[str, ...]]) -> dict[str, float]:
    return {name_of(row): float(row[1].replace(",", "")) for row in rows}


def test_the_sample_runs() -> None:
    """It prints what it says."""
    namespace: dict[str, Any] = {}
    told = [line for _, code in STORE.blocks("python") for line in run(code, namespace)]
    assert len(told) == 4
    for promised, printed in told:
        assert printed == promised


def test_times_and_limits() -> None:
    """Every one, with its default; and those in the text."""
    assert values(STORE.table("When the store isn't well", 1)) == asdict(Timing())
    assert values(STORE.table("When the store isn't well", 2)) == asdict(StoreLimits())
    assert (breaker.FAILURES, breaker.FIRST_PAUSE, breaker.LONGEST_PAUSE) == (3, 0.25, 30.0)
    assert (write_behind.CHANGES, write_behind.BYTES >> 20, write_behind.ATTEMPTS) == (10_000, 128, 10)
    text = " ".join(STORE.text.split())
    for sentence in ("After 3 failures", "for 0.25 s", "up to 30 s", "10,000 changes and 128 MiB", "tried 10 times"):
        assert sentence in text
    assert re.findall(r"`(\w+)`", text[text.index("Counters:") : text.index("`Database.counters")]) == list(
        get_args(Event)
    )


def test_the_keys_of_a_server(shared_server: RedisServer) -> None:
    """What is written is under the keys that the page has, of these types."""
    with shared_server.client() as client:
        client.flushall()
        store = open_store(shared_server.address)
        store.write([Put(A, b"1", "me", NOW), Merge(A, {KEY: b"1"}, NOW)])
        assert store.acquire(A, "me", 60)
        store.close()
        rows = STORE.table("Names, keys and values")
        keys = client.keys()
        assert {key.decode(): client.type(key).decode() for key in keys} == {
            name_of(row).replace("name", A): row[1] for row in rows
        }
        fields = {field.decode() for field in client.hkeys(f"swyb:1:{{{A}}}:info")}
        assert fields <= set(re.findall(r"`(\w+)`", rows[2][2]))
        assert all(0 < client.ttl(key) <= StoreLimits().kept_seconds for key in keys)
    assert SCHEMA == 1
