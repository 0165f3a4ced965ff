"""Findings of searches in the workers reach the store, and what is in the store reaches the workers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from grammar_cache.grammar import CompiledGrammar
from grammar_cache.limits import Limits
from grammar_cache.store.database import Database
from grammar_cache.store.seals import Seals
from grammar_cache.store.sharing import SharedGrammars
from server.backends.vllm.frontend import learning
from server.backends.vllm.frontend.loading import LoadedGrammars
from server.grammars.exchange import Exchange, Refresh
from tests.grammar_cache.distances.test_claims import LETTERS, fits, nest
from tests.grammar_cache.store.databases import PATIENT, SECRET, until
from tests.grammar_cache.store.fakes import MemoryStore
from tests.server.backends.vllm.frontend.test_loading import Workers


class Replica:
    """A front end with its workers, on a store."""

    def __init__(self, store: MemoryStore, *, most: int = 4) -> None:
        self.database = Database(store, Seals(SECRET), Limits(), "tests", timing=PATIENT)
        self.grammar = nest()
        _ = self.grammar.minimum
        shared = SharedGrammars(self.database, LETTERS, Limits())
        self.exchange = Exchange(shared, "nest", self.grammar)
        self.refresh = Refresh(shared)
        self.workers = Workers(LETTERS)
        self.loaded = LoadedGrammars(self.workers.call, most)

    async def answer(self, search: Callable[[CompiledGrammar], object] = lambda _: None) -> None:
        """A request, whose searches are in the workers."""
        async with self.loaded.loaded(self.grammar, self.exchange) as key:
            for registry in self.workers.registries:
                search(registry.grammars[key])

    @property
    def searches(self) -> list[int]:
        """Searches of each rank."""
        return [g.effort.searches for registry in self.workers.registries for g in registry.grammars.values()]

    async def called(self, times: int) -> None:
        while self.workers.calls.count("exchange_claims") < times:
            await asyncio.sleep(0.001)


@contextmanager
def replicas(*made: Replica) -> Iterator[None]:
    try:
        yield
    finally:
        for replica in made:
            replica.loaded.close()
            replica.database.close(20)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "EXCHANGE_SECONDS", 0.0)


def of_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test())


def deep(grammar: CompiledGrammar) -> None:
    assert fits(grammar, b"aaaac", 2)


def test_what_one_replicas_workers_find_anothers_need_not_search() -> None:
    """Told when an answer has ended; with those whose grammar is loaded already, and those who load it then."""

    async def test() -> None:
        store = MemoryStore()
        one, other = Replica(store), Replica(store)
        with replicas(one, other):
            await other.answer()
            await one.answer(deep)
            await asyncio.to_thread(until, lambda: store.tables)
            other.refresh.bring([other.exchange])
            await other.answer()
            await other.called(2)
            before = other.searches
            await other.answer(deep)
            assert other.searches == before == [0, 0]
            late = Replica(store)
            with replicas(late):
                late.refresh.bring([late.exchange])
                late.exchange.take()  # as when it comes out of the store
                await late.answer(deep)
                assert late.searches == [0, 0]

    of_loop(test)


def test_what_a_dropped_grammar_has_found_is_told() -> None:
    async def test() -> None:
        store = MemoryStore()
        one = Replica(store, most=0)
        with replicas(one):
            await one.answer(deep)
            one.loaded.close()  # nothing is told but by dropping
            async with one.loaded.loaded(nest(), None):
                pass
            assert one.workers.calls[-2:] == ["drop_grammar", "load_grammar"]
            await asyncio.to_thread(until, lambda: store.tables)

    of_loop(test)


def test_a_call_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Findings of meanwhile are told by a later call where one fails."""

    async def test() -> None:
        store = MemoryStore()
        one = Replica(store)
        with replicas(one):
            await one.answer(deep)
            one.workers.failing = True
            await one.called(1)
            await asyncio.sleep(0.01)
            one.workers.failing = False
            await one.answer()
            await asyncio.to_thread(until, lambda: store.tables)

    with caplog.at_level(logging.ERROR):
        of_loop(test)
    assert "not exchanged" in caplog.text


def test_many_answers_are_one_call() -> None:
    """Many answers are one call, and no answers are none."""

    async def test() -> None:
        one = Replica(MemoryStore())
        with replicas(one):
            for _ in range(9):
                await one.answer()
            assert one.workers.calls == ["load_grammar"]
            await one.called(1)
            await asyncio.sleep(0.02)
            assert one.workers.calls == ["load_grammar", "exchange_claims"]

    of_loop(test)
