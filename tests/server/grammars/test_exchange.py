"""Findings of searches of one grammar, between two processes that share a store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grammar_cache.limits import Limits
from grammar_cache.store.database import Database
from grammar_cache.store.seals import Seals
from grammar_cache.store.sharing import SharedGrammars
from server.grammars.exchange import REFRESH_SECONDS, Exchange, Refresh
from tests.grammar_cache.distances.test_claims import LETTERS, fits, nest
from tests.grammar_cache.store.databases import PATIENT, SECRET, counted, until
from tests.grammar_cache.store.fakes import Clock, MemoryStore, breaking


class Process:
    """A grammar that decodes here, and its exchange."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self.database = Database(store, Seals(SECRET), Limits(), "tests", timing=PATIENT)
        self.grammar = nest()
        _ = self.grammar.minimum
        shared = SharedGrammars(self.database, LETTERS, Limits())
        self.exchange = Exchange(shared, "nest", self.grammar)
        self.refresh = Refresh(shared, clock)
        self.clock = clock

    def bring(self) -> None:
        self.refresh.bring([self.exchange])

    @property
    def searches(self) -> int:
        return self.grammar.effort.searches


@pytest.fixture
def processes() -> Iterator[tuple[Process, Process, MemoryStore]]:
    store, clock = MemoryStore(), Clock()
    one, other = Process(store, clock), Process(store, clock)
    yield one, other, store
    for process in (one, other):
        process.database.close(20)


def test_it_is_time_now_and_then(processes: tuple[Process, Process, MemoryStore]) -> None:
    """A look isn't due at the beginning, when all has just been loaded; and one caller is told, of all that were used
    since.
    """
    exchange, refresh, clock = processes[0].exchange, processes[0].refresh, processes[0].clock
    other = Exchange(exchange._shared, "another", exchange._grammar)
    assert refresh.due(exchange) == []
    assert refresh.due(exchange) == []
    clock.sleep(REFRESH_SECONDS)
    assert [refresh.due(other), refresh.due(other)] == [[exchange, other], []]
    clock.sleep(REFRESH_SECONDS)
    assert refresh.due(other) == [other]


def test_one_look_is_for_many(processes: tuple[Process, Process, MemoryStore]) -> None:
    """News of one grammar reach that one."""
    one, other, store = processes
    assert fits(one.grammar, b"aaaac", 2)
    one.exchange.give()
    until(lambda: store.tables)
    idle = [Exchange(other.exchange._shared, f"another {number}", nest()) for number in range(9)]
    other.refresh.bring([*idle, other.exchange])
    assert counted(other.database)["calls"] == 1
    assert other.exchange.entries > 0
    assert all(each.entries == 0 and each._brought.empty() for each in idle)
    other.exchange.take()
    assert other.grammar.offered


def test_what_one_finds_the_other_need_not_search(processes: tuple[Process, Process, MemoryStore]) -> None:
    """A finding saves the other's search once it was brought and taken in, and not before."""
    one, other, store = processes
    assert fits(one.grammar, b"aaaac", 2)
    one.exchange.give()
    until(lambda: store.tables)
    other.bring()
    assert not other.grammar.offered  # the tables belong to another thread
    other.exchange.take()
    before = other.searches
    assert fits(other.grammar, b"aaaac", 2)
    assert other.searches == before


def test_what_is_known_is_not_taken_again(processes: tuple[Process, Process, MemoryStore]) -> None:
    """One call tells whether a table has grown; what a process has found itself doesn't come back to it."""
    one, other, store = processes
    assert fits(one.grammar, b"aaaac", 2)
    one.exchange.give()
    until(lambda: store.tables)
    calls, brought = list[int](), list[bool]()
    for _ in range(3):
        before = counted(other.database)["calls"] if calls else 0
        other.bring()
        calls.append(counted(other.database)["calls"] - before)
        brought.append(not other.exchange._brought.empty())
        other.exchange.take()
    assert calls == [1, 1, 1]
    assert brought == [True, False, False]
    one.bring()
    one.exchange.take()
    assert not one.grammar.offered


def test_without_an_answer_nothing_comes(processes: tuple[Process, Process, MemoryStore]) -> None:
    """A store that doesn't answer brings nothing, and what is told meanwhile is written later."""
    one, other, store = processes
    store.before = breaking
    assert fits(one.grammar, b"aaaac", 2)
    one.exchange.give()
    other.bring()
    other.exchange.take()
    assert not other.grammar.offered
    store.before = lambda: None
    until(lambda: store.tables)
