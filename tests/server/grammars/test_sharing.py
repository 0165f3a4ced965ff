"""Servers that share a store: what one has compiled the other finds, and the texts are those without a store."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import httpx
import pytest

from grammar_cache import Constraint, compile_grammar
from grammar_cache.compile import constraint_id
from grammar_cache.store.database import Database
from grammar_cache.store.patience import Timing
from grammar_cache.store.seals import Seals
from server.grammars import compiled, tenants
from server.grammars.compiled import Certified
from server.grammars.opening import opened_store
from server.service import Service
from server.settings import Settings
from tests.grammar_cache.store.backends.redis_server import RedisServer, running
from tests.grammar_cache.store.databases import PATIENT
from tests.grammar_cache.store.fakes import Gate, MemoryStore
from tests.server.engines.scripts import hostile
from tests.server.running import SCHEMA, VOCABULARY, Running, eventually, schema_format, serving

SECRET = "a secret of the tests"
FIELDS: tuple[dict[str, Any], ...] = (
    {"response_format": schema_format(SCHEMA), "max_tokens": 30, "temperature": 0},
    {"grammar": 'root ::= "(" root ")" | "the" root " quick" | "x"', "max_tokens": 9, "seed": 1},
    {"grammar": 'start: "a" NAME\nNAME: /[a-z]+/', "max_tokens": 12, "swyb": {"beam_width": 3}},
)


def shared(address: str, timing: Timing = PATIENT) -> Settings:
    return Settings(store=address, store_secret=SECRET, store_timing=timing)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with running() as server:
        yield server


@pytest.fixture(params=["sqlite", "redis"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings of an empty store of each kind."""
    if request.param == "sqlite":
        return shared(f"sqlite://{tmp_path}/store.sqlite3")
    server: RedisServer = request.getfixturevalue("redis")
    with server.client() as client:
        client.flushall()
    return shared(server.address)


def answers(server: Running) -> list[tuple[str, str]]:
    """Texts of the requests, and where the grammar of each was."""
    bodies = [server.chat(**fields).json() for fields in FIELDS]
    return [(body["choices"][0]["message"]["content"], body["swyb"]["cache"]) for body in bodies]


def text_of(response: httpx.Response) -> str:
    text: str = response.json()["choices"][0]["message"]["content"]
    return text


def written(database: Database | None) -> int:
    assert database is not None
    return database.counters.snapshot["written"]


def test_what_one_compiles_another_finds(settings: Settings) -> None:
    """The second server compiles nothing, and writes the texts that a server without a store writes."""
    with serving() as alone:
        plain = [text for text, _ in answers(alone)]
    with serving(settings=settings) as first:
        assert answers(first) == [(text, "miss") for text in plain]
        assert answers(first) == [(text, "hit") for text in plain]
        assert first.service.grammars.compiled == len(FIELDS)
        eventually(lambda: written(first.service.database) >= 2 * len(FIELDS))  # artefacts, releases of leases
        with serving(settings=settings) as second:
            assert answers(second) == [(text, "shared") for text in plain]
            assert answers(second) == [(text, "hit") for text in plain]
            assert second.service.grammars.compiled == 0
    with serving(settings=settings) as third:  # nobody else is there any more
        assert answers(third) == [(text, "shared") for text in plain]


def test_a_poisoned_store_changes_no_text(tmp_path: Path) -> None:
    """Values that somebody else has written are no grammars: they are compiled again."""
    settings = shared(f"sqlite://{tmp_path}/store.sqlite3")
    with serving(settings=settings) as server:
        plain = [text for text, _ in answers(server)]
    with closing(sqlite3.connect(tmp_path / "store.sqlite3")) as connection, connection:
        assert connection.execute("UPDATE artefacts SET value = zeroblob(length(value))").rowcount == len(FIELDS)
    with serving(settings=settings) as server:
        assert answers(server) == [(text, "miss") for text in plain]
        assert server.service.database is not None
        assert server.service.database.counters.snapshot["rejected"] >= len(FIELDS)


def test_another_tenant_finds_nothing(tmp_path: Path) -> None:
    """Nor somebody with another secret."""
    address = f"sqlite://{tmp_path}/store.sqlite3"
    with serving(settings=shared(address)) as server:
        answers(server)
    for other in (
        Settings(store=address, store_secret=SECRET, store_tenant="another", store_timing=PATIENT),
        Settings(store=address, store_secret=SECRET * 2, store_timing=PATIENT),
    ):
        with serving(settings=other) as server:
            assert {source for _, source in answers(server)} == {"miss"}


def test_a_store_that_hangs_holds_up_nobody() -> None:
    """The server of the store takes connections, and says nothing: answers are as ever, and it ends in time."""
    with running() as redis, serving(settings=shared(redis.address, Timing())) as server:
        answers(server)
        with redis.frozen():
            begun = time.monotonic()
            assert server.chat(grammar="root ::= [a-c]{7}").json()["swyb"]["cache"] == "miss"
            assert [source for _, source in answers(server)] == ["hit"] * len(FIELDS)
            assert time.monotonic() - begun < 15
    with serving(settings=shared(redis.address, Timing())) as server:  # it is gone
        assert {source for _, source in answers(server)} == {"miss"}


def test_tenants_of_a_store_that_hangs_end_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server with many tenants has no longer than one with one: each waits for its own store, all at once."""
    gate, closing = Gate(), Barrier(4, timeout=60)

    class Closing(Database):
        def close(self, seconds: float) -> None:
            closing.wait()
            super().close(0)

    def opened_store(settings: Settings) -> Database:
        return Closing(MemoryStore(gate), Seals(SECRET.encode(), settings.store_tenant), settings.limits, "tests")

    monkeypatch.setattr(tenants, "opened_store", opened_store)
    found = tenants.Tenants(Settings(), VOCABULARY, 100)
    for name in ("a", "b", "c"):
        found.of(name)
    found.close()
    gate.opened.set()
    assert not closing.broken


def test_what_is_found_while_decoding_reaches_the_other_server(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A running server asks again for what a kept grammar's searches have found elsewhere, and need not search."""
    monkeypatch.setattr("server.grammars.exchange.REFRESH_SECONDS", 0.0)
    # Two rules end with one token: the additive distance counts it twice, so tight budgets need searches.
    grammar = Constraint("gbnf", 'root ::= "[" inner "}" | "x"\ninner ::= root "\\""')
    deep: dict[str, Any] = {"grammar": grammar.text, "max_tokens": 9, "temperature": 0}
    grammar_id = constraint_id(grammar, VOCABULARY)
    opening = hostile(VOCABULARY.size, [ord("[")])

    def searches(server: Running) -> int:
        return server.service.grammars._cached["", grammar_id].grammar.effort.searches

    with serving(opening, settings) as first, serving(opening, settings) as second:
        for server in (first, second):
            server.chat(grammar=grammar.text, max_tokens=1)
        before = searches(first), searches(second)
        assert text_of(first.chat(**deep)) == '[[[[x"}"}"}"}'
        alone = searches(first) - before[0]
        with opened(settings) as database:
            eventually(lambda: database.load(grammar_id).claims)

        def brought() -> bool:
            second.chat(grammar=grammar.text, max_tokens=1)
            return bool(second.service.grammars._cached["", grammar_id].grammar.offered)

        eventually(brought)
        assert text_of(second.chat(**deep)) == '[[[[x"}"}"}"}'
        assert searches(second) == before[1] < before[1] + alone


@contextmanager
def opened(settings: Settings) -> Iterator[Database]:
    """The store, opened as another process has it."""
    database = opened_store(settings)
    assert database is not None
    try:
        yield database
    finally:
        database.close(5)


def held(settings: Settings, constraint: Constraint) -> None:
    """Takes the lease as if another process were compiling the grammar, for a long time."""
    name = Seals(SECRET.encode()).name(constraint_id(constraint, VOCABULARY), settings.limits)
    with opened(settings) as database:
        assert database.acquire(name, "another")


def test_who_waits_for_another_process_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait holds up nobody, not even with one thread that compiles; and requests that nobody wants any more don't
    wait.
    """
    monkeypatch.setattr(compiled, "WAIT_SECONDS", 600.0)
    settings = Settings(
        store=f"sqlite://{tmp_path}/store.sqlite3",
        store_secret=SECRET,
        store_timing=Timing(wait_least=20.0, wait_most=20.0, lease=600.0),
        compile_threads=1,
    )
    awaited, other = Constraint("regex", "[ab]{4}"), Constraint("regex", "[cd]{4}")
    held(settings, awaited)

    async def ask(service: Service) -> Certified:
        waiting = [asyncio.create_task(service.grammars.get(awaited)) for _ in range(3)]
        await asyncio.sleep(0)
        found = await service.grammars.get(other)
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return found

    with serving(settings=settings) as server:
        service = server.service
        assert asyncio.run(ask(service)).source == "miss"
        assert service.grammars.kept == 1


def test_who_goes_away_before_compiling_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that wait for a busy compiling thread leave when their clients do: what is in the store is there for
    others, though that thread is still busy.
    """
    settings = replace(shared(f"sqlite://{tmp_path}/store.sqlite3"), compile_threads=1)
    known = {"response_format": {"type": "regex", "regex": "known"}}
    with serving(settings=settings) as server:
        server.chat(**known)
    monkeypatch.setattr(compiled, "WAITING_THREADS", 2)
    free, begun = Event(), Event()

    def slow(constraint: Constraint, *rest: Any) -> Any:
        if constraint.text == "slow":
            begun.set()
            assert free.wait(60)
        return compile_grammar(constraint, *rest)

    monkeypatch.setattr(compiled, "compile_grammar", slow)

    async def ask(service: Service) -> Certified:
        held = asyncio.create_task(service.grammars.get(Constraint("regex", "slow")))
        await asyncio.to_thread(begun.wait, 60)
        gone = [asyncio.create_task(service.grammars.get(Constraint("regex", text))) for text in ("a", "b", "c")]
        await asyncio.to_thread(eventually, lambda: service.grammars._threads._work_queue.qsize() > 0)
        for one in gone:
            one.cancel()
        try:
            return await asyncio.wait_for(service.grammars.get(Constraint("regex", "known")), 20)
        finally:
            free.set()
            await held

    with serving(settings=settings) as server:
        assert asyncio.run(ask(server.service)).source == "shared"


def test_who_has_waited_long_enough_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process may never be done."""
    monkeypatch.setattr(compiled, "WAIT_SECONDS", 0.1)
    settings = Settings(
        store=f"sqlite://{tmp_path}/store.sqlite3",
        store_secret=SECRET,
        store_timing=Timing(wait_least=20.0, wait_most=20.0, lease=600.0),
    )
    constraint = Constraint("regex", "[ab]{4}")
    held(settings, constraint)
    with serving(settings=settings) as server:
        answer = server.chat(response_format={"type": "regex", "regex": constraint.text}).json()
        assert answer["swyb"]["cache"] == "miss"


@pytest.mark.parametrize(
    ("address", "message"),
    [("redis://localhost", "secret"), ("http://localhost", "begins with"), ("sqlite://relative", "whole path")],
)
def test_a_store_that_cannot_be_is_told_at_once(address: str, message: str) -> None:
    """A store that can't be is told by a line that doesn't quote the address."""
    with pytest.raises(ValueError, match=message) as refusal:
        opened_store(Settings(store=address))
    assert address not in str(refusal.value)


def test_settings_hide_what_opens_the_store() -> None:
    shown = repr(Settings(store="redis://user:password@host", store_secret=SECRET))
    assert "password" not in shown
    assert SECRET not in shown
