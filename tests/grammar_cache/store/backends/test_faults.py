"""A real server that is slow, away, full, flushed or read-only: callers get a miss, quickly, and go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Thread

import pytest

from grammar_cache.distances.claims import Claim
from grammar_cache.limits import Limits
from grammar_cache.store import breaker, contract, seals, write_behind
from grammar_cache.store.database import Database, Known
from grammar_cache.store.opening import open_store
from tests.grammar_cache.store.backends.redis_server import RedisServer, running
from tests.grammar_cache.store.databases import HASTY, LONGEST, PATIENT, SECRET, counted, database, until

KEY = b"k" * 16
CLAIM = Claim(2, (7, 8))


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A server for a test that harms it."""
    with running() as server:
        yield server


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are short, and nothing is given up."""
    for module in (breaker, write_behind):
        monkeypatch.setattr(module, "FIRST_PAUSE", 0.01)
        monkeypatch.setattr(module, "LONGEST_PAUSE", 0.05)
    monkeypatch.setattr(write_behind, "ATTEMPTS", 10**9)


def keep(address: str, grammar_id: str = "grammar", artefact: bytes = b"artefact") -> None:
    with database(address) as opened:
        opened.keep(grammar_id, artefact)
        opened.learn(grammar_id, {KEY: CLAIM})


def name(grammar_id: str = "grammar") -> str:
    return seals.Seals(SECRET).name(grammar_id, Limits())


def found(opened: Database) -> bool:
    return opened.load("grammar") == Known(b"artefact", {KEY: CLAIM})


def missed_quickly(opened: Database) -> None:
    """Many requests, and none of them waits for what isn't there."""
    begun = time.monotonic()
    for _ in range(100):
        assert opened.load("grammar") == Known()
        opened.acquire(name(), "me")
    assert time.monotonic() - begun < LONGEST
    assert counted(opened)["skipped"] > 100


def test_a_late_answer_is_no_leave_to_compile(server: RedisServer) -> None:
    """One whose lease isn't granted in time asks again; then it goes on without, and what is written is written."""
    with database(server.address) as other:
        assert other.acquire(name(), "other")
    with database(server.address, HASTY) as opened:
        with server.frozen():
            asked = [opened.acquire(name(), "me") for _ in range(breaker.FAILURES + 1)]
            assert asked == [None] * len(asked)
            assert opened.once("another", lambda: None, lambda: "made", LONGEST) == "made"
        assert opened._guard.leasing.open
        assert opened.writing


def test_a_server_that_is_lost(server: RedisServer) -> None:
    """Killed with connections open: misses; when it is back, what was to be written meanwhile is."""
    with database(server.address) as opened:
        opened.keep("grammar", b"artefact")
        opened.learn("grammar", {KEY: CLAIM})
        until(lambda: found(opened))
        server.kill()
        missed_quickly(opened)
        opened.keep("grammar", b"artefact")
        opened.learn("grammar", {KEY: CLAIM})
        server.start()
        until(lambda: found(opened))


def test_a_server_that_is_lost_while_it_is_asked(server: RedisServer) -> None:
    """A server may take the question, and die before the answer."""
    keep(server.address)
    with database(server.address, PATIENT) as opened:
        assert found(opened)
        with server.frozen():
            begun = time.monotonic()
            asked = opened._guard._threads.submit(opened.load, "grammar")
            until(lambda: counted(opened)["calls"] > 2)
            server.process.kill()
            assert asked.result(LONGEST) == Known()
            assert time.monotonic() - begun < LONGEST


def test_a_server_that_is_down_at_first(server: RedisServer) -> None:
    """A server that is down at first is found as soon as it is there."""
    server.kill()
    with database(server.address) as opened:
        missed_quickly(opened)
        server.start()
        keep(server.address)
        until(lambda: found(opened))


def test_a_server_that_hangs(server: RedisServer) -> None:
    """A server that hangs is stopped, and goes on later."""
    keep(server.address)
    with database(server.address, HASTY) as opened:
        until(lambda: found(opened))
        with server.frozen():
            missed_quickly(opened)
        until(lambda: found(opened))
    assert counted(opened)["timeouts"] >= 3


def test_a_server_that_is_slow_in_the_end(server: RedisServer) -> None:
    """A batch that is written last has all the time that closing has."""
    with database(server.address, replace(PATIENT, write=0.3)) as opened:
        with server.frozen():
            opened.keep("grammar", b"artefact")
            closing = Thread(target=opened.close, args=(LONGEST,))
            closing.start()
            time.sleep(1)
        closing.join()
        assert counted(opened)["written"] == 1
    with database(server.address) as opened:
        assert opened.load("grammar") == Known(b"artefact")


def test_a_server_that_is_flushed(server: RedisServer) -> None:
    """A miss, and what is written then is there again."""
    keep(server.address)
    with database(server.address) as opened, server.client() as client:
        assert found(opened)
        client.flushall()
        client.script_flush()
        assert opened.load("grammar") == Known()
        keep(server.address)
        assert found(opened)
        assert "errors" not in counted(opened)


def test_a_server_that_is_full(server: RedisServer) -> None:
    """A full server is read as before; changes that don't fit are dropped in the end, and later there is room."""
    keep(server.address)
    noise = Random(1).randbytes(2_000_000)
    with server.client() as client, database(server.address) as opened:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", "1mb")
        opened.keep("large", noise)
        until(lambda: opened._guard.writing.open)
        assert found(opened)
        assert not opened._guard.reading.open
        client.config_set("maxmemory", "0")
        until(lambda: opened.load("large").artefact == noise)
        until(lambda: not opened._guard.writing.open)


def test_a_replica_is_read_and_not_written(server: RedisServer) -> None:
    """A replica is only read until it is made a master, as when it takes over from one that was lost."""
    keep(server.address)
    with running("--replicaof", "127.0.0.1", str(server.port)) as replica, database(replica.address) as opened:
        until(lambda: found(opened))
        opened.keep("other", b"another")
        until(lambda: opened._guard.writing.open)
        assert found(opened)
        server.kill()
        assert found(opened)
        with replica.client() as client:
            client.execute_command("REPLICAOF", "NO", "ONE")
        until(lambda: opened.load("other").artefact == b"another")


def test_who_reads_from_a_replica_is_not_cut_off_by_who_writes(server: RedisServer) -> None:
    """A write that a replica refuses leads to a new look for the master; readers keep their connections meanwhile."""
    keep(server.address)
    with running("--replicaof", "127.0.0.1", str(server.port)) as replica, ThreadPoolExecutor(4) as threads:
        with database(replica.address) as opened:
            until(lambda: found(opened))
        store = open_store(replica.address)

        def read(_: int) -> None:
            assert store.load(name()).artefact is not None

        def write(number: int) -> None:
            with pytest.raises(contract.StoreError):
                store.write([contract.Use(name(), number)])

        asked = [threads.submit(ask, number) for number in range(300) for ask in (read, write, read)]
        for one in asked:
            one.result()
        store.close()


def test_a_server_that_evicts(server: RedisServer) -> None:
    """A server that evicts keeps what it has room for: some entries are found, and these are right."""
    artefacts = {f"{seed}": Random(seed).randbytes(300_000) for seed in range(40)}
    with server.client() as client, database(server.address) as opened:
        client.config_set("repl-backlog-size", "16kb")  # counts too, and is never evicted
        client.config_set("maxmemory-policy", "allkeys-lru")
        client.config_set("maxmemory", str(client.info("memory")["used_memory"] + 5_000_000))
        for done, (grammar_id, artefact) in enumerate(artefacts.items()):
            opened.keep(grammar_id, artefact)
            until(lambda: counted(opened).get("written", 0) > done)  # noqa: B023
        loaded = {grammar_id: opened.load(grammar_id).artefact for grammar_id in artefacts}
    right = [grammar_id for grammar_id, artefact in loaded.items() if artefact is not None]
    assert 0 < len(right) < 40
    assert all(loaded[grammar_id] == artefacts[grammar_id] for grammar_id in right)


@pytest.mark.full
def test_a_master_that_is_lost_is_followed_by_its_replica(tmp_path: Path) -> None:
    """A sentinel promotes the replica; the store finds it by itself, and goes on writing."""
    with running() as master, running("--replicaof", "127.0.0.1", str(master.port)):
        settings = tmp_path / "sentinel.conf"
        lines = [
            f"monitor main 127.0.0.1 {master.port} 1",
            "down-after-milliseconds main 300",
            "failover-timeout main 2000",
        ]
        settings.write_text("".join(f"sentinel {line}\n" for line in lines))
        sentinel = RedisServer(settings=settings)
        try:
            sentinel.start()
            with sentinel.client() as client:
                until(lambda: client.sentinel_slaves("main"))
            with database(f"redis+sentinel://127.0.0.1:{sentinel.port}/main") as opened:
                opened.keep("grammar", b"artefact")
                opened.learn("grammar", {KEY: CLAIM})
                until(lambda: found(opened))
                with master.client() as client:
                    written = client.info("replication")["master_repl_offset"]
                    until(lambda: client.info("replication")["slave0"]["offset"] >= written)
                master.kill()
                opened.keep("later", b"after the master was lost")
                until(lambda: opened.load("later").artefact == b"after the master was lost")
                assert found(opened)
        finally:
            sentinel.close()
