"""Stores that are slow, far away or hang: what is there is found all the same, and waiting has its bounds."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest

from grammar_cache import Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.distances.claims import Claim
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.store import database as database_module
from grammar_cache.store.contract import StoreReadOnly
from grammar_cache.store.database import Database
from grammar_cache.store.guard import Guard
from grammar_cache.store.patience import Patience, Timing
from grammar_cache.store.seals import Seals
from grammar_cache.store.sharing import SharedGrammars
from tests.grammar_cache.store.backends.redis_server import RedisServer
from tests.grammar_cache.store.databases import SECRET, counted, database, until
from tests.grammar_cache.store.fakes import Gate, MemoryStore
from tests.grammar_cache.store.far_server import far

VOCABULARY = Vocabulary([b"a", b"b", b"ab"], [3])
COUNT = 50


def compiled(number: int) -> Callable[[], CompiledGrammar]:
    return lambda: compile_grammar(Constraint("regex", f"a{{{number + 1}}}b"), VOCABULARY)


def found_of(opened: Database) -> int:
    """Number of grammars that are there, each asked for once."""
    shared = SharedGrammars(opened, VOCABULARY, Limits())
    return sum(shared.get(f"{number}", compiled(number), 20).found for number in range(COUNT))


@pytest.mark.parametrize("milliseconds", [12, 50])
def test_a_store_that_is_far_away_is_used(
    shared_server: RedisServer, milliseconds: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A second server finds what the first has compiled, though nobody has set times; no breaker opens.

    Nobody has met the store before, so one may be missed.
    """
    with shared_server.client() as client:
        client.flushall()
    with database(shared_server.address) as first:
        assert found_of(first) == 0
    with far(shared_server.address, milliseconds / 1000) as way, database(way.address, Timing()) as second:
        assert found_of(second) >= COUNT - 1
    assert [record.getMessage() for record in caplog.records] == []


def test_a_store_that_gets_slower_is_followed(shared_server: RedisServer) -> None:
    """Answers that come too late are seen all the same; and the store isn't given up."""
    with shared_server.client() as client:
        client.flushall()
    with database(shared_server.address) as first:
        found_of(first)
    with far(shared_server.address, 0.0) as way, database(way.address, Timing()) as second:
        assert second.load("0").artefact
        second._patience.compiled(0.001)
        way.seconds = 0.1
        until(lambda: second.load("1").artefact)
        until(lambda: all(second.load(f"{number}").artefact for number in range(4)))


def test_waiting_follows_what_is_seen_and_what_is_at_stake() -> None:
    """Waiting lies between what was seen and what is at stake: as long as is agreed for what isn't known."""
    timing = Timing()
    assert Patience(timing).seconds == timing.wait_usual

    def after(seen: float, cost: float, **times: float) -> float:
        patience = Patience(Timing(**times))
        for _ in range(30):
            patience.saw(seen)
        patience.compiled(cost)
        return patience.seconds

    assert after(0.001, 0.01) == pytest.approx(0.021, abs=0.001)  # seen: a busy process adds something
    assert after(0.1, 0.01) == pytest.approx(0.12, abs=0.005)
    assert after(5.0, 0.01) == timing.wait_usual  # not worth it
    assert after(0.001, 3.0) == pytest.approx(timing.wait_share * 3.0)
    assert after(0.001, 3600.0) == timing.wait_most
    assert after(0.001, 0.01, wait_usual=0.001) == timing.wait_least
    assert after(0.001, 3.0, wait_most=0.05) == 0.05


def test_what_compiling_costs_is_learned() -> None:
    """A few cheap ones after an expensive one, and less is at stake."""
    patience = Patience(Timing())
    patience.saw(0.001)
    waits = []
    for cost in (8.0, *[0.01] * 50):
        patience.compiled(cost)
        waits.append(patience.seconds)
    assert waits == sorted(waits, reverse=True)
    assert waits[0] == pytest.approx(0.8)
    assert waits[-1] == pytest.approx(0.021, abs=0.001)


def opened_over(store: MemoryStore) -> Database:
    return Database(store, Seals(SECRET), Limits(), "tests", timing=Timing())


def test_a_store_that_hangs_costs_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that a request waits for it, however often it asks, until nobody asks any more."""
    waited: list[float] = []
    ask = Guard._ask_or

    def counting(self: Guard, breaker: Any, call: Any, seconds: float, otherwise: Any) -> Any:
        before = time.monotonic()
        answer = ask(self, breaker, call, seconds, otherwise)
        if time.monotonic() - before >= seconds:
            waited.append(seconds)
        return answer

    store = MemoryStore()
    opened = opened_over(store)
    found_of(opened)
    for _ in range(100):
        opened._patience.compiled(1.0)
    gate = store.before = Gate()
    monkeypatch.setattr(Guard, "_ask_or", counting)
    shared = SharedGrammars(opened, VOCABULARY, Limits())
    for number in range(10):
        before = len(waited)
        assert not shared.get(f"other {number}", compiled(number), 20).found
        assert sum(waited[before:]) <= 4 * Timing().wait_share * 1.01
    assert len(waited) <= 6 + 10  # until both breakers are open; and now and then a look whether it is there again
    gate.opened.set()
    opened.close(20)


def test_a_decode_step_waits_for_nothing() -> None:
    """The store hangs, threads and all: what searches have found is told at once."""
    gate = Gate()
    opened = opened_over(MemoryStore(gate))
    asking = [Thread(target=opened.load, args=(f"{number}",)) for number in range(40)]
    for thread in asking:
        thread.start()
    assert gate.reached.wait(60)
    begun = time.thread_time(), time.monotonic()
    for number in range(1000):
        opened.learn("grammar", {number.to_bytes(16, "big"): Claim(1, (1,))})
    assert not gate.opened.is_set()
    assert time.monotonic() - begun[1] < 15
    gate.opened.set()
    for thread in asking:
        thread.join()
    opened.close(20)


@pytest.mark.parametrize("slow", [False, True])
def test_a_slow_store_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, slow: bool
) -> None:
    """A slow store is told once, when a server begins, and never again; a quick one isn't mentioned."""
    monkeypatch.setattr(database_module, "SLOW_SECONDS", 0.02 if slow else 15.0)
    opened = opened_over(MemoryStore(lambda: time.sleep(0.03)))
    with caplog.at_level(logging.WARNING):
        opened.greet()
        until(lambda: opened._patience.usual is not None and counted(opened)["calls"] == database_module.MEETINGS)
        until(lambda: not slow or caplog.records)
        for _ in range(3):
            opened.load("grammar")
    assert ["the store is slow" in record.getMessage() for record in caplog.records] == [True] * slow
    opened.close(20)


def test_a_store_that_is_only_read(caplog: pytest.LogCaptureFixture) -> None:
    """A store that is only read gives what is there; the rest is made at once, and dropped without a word."""

    class Kept(MemoryStore):
        closed_to_writers = False

        def write(self, changes: Any) -> None:
            if self.closed_to_writers:
                raise StoreReadOnly("only read")
            super().write(changes)

        def acquire(self, name: str, token: str, seconds: float) -> bool:
            if self.closed_to_writers:
                raise StoreReadOnly("only read")
            return super().acquire(name, token, seconds)

    store = Kept()
    opened = opened_over(store)
    shared = SharedGrammars(opened, VOCABULARY, Limits())
    shared.get("1", compiled(1), 20)
    until(lambda: store.artefacts and not store.leases)
    opened.close(20)
    store.closed_to_writers = True
    opened = opened_over(store)
    shared = SharedGrammars(opened, VOCABULARY, Limits())
    assert shared.get("1", compiled(1), 20).found
    assert not shared.get("2", compiled(2), 20).found
    until(lambda: counted(opened).get("dropped", 0) >= 3)  # a use, an artefact, the end of a lease
    assert len(store.artefacts) == 1
    assert opened.reading and opened.writing
    assert caplog.records == []
    opened.close(20)
