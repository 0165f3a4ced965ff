"""The guard and its breakers: nobody waits for a store that is slow or away, and it is found again."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from grammar_cache.store.breaker import FAILURES, FIRST_PAUSE, LONGEST_PAUSE, Breaker
from grammar_cache.store.contract import Held, Store
from grammar_cache.store.counters import Counters
from grammar_cache.store.guard import THREADS, Guard
from tests.grammar_cache.store.fakes import Broken, Clock, Gate, MemoryStore, breaking

A = "a" * 32


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("reading", clock)


def fail(breaker: Breaker, times: int) -> None:
    for _ in range(times):
        assert breaker.admits()
        breaker.failed(Broken("broken"))


def test_it_opens_after_failures_in_a_row(breaker: Breaker) -> None:
    """One success between them, and counting begins anew."""
    fail(breaker, FAILURES - 1)
    breaker.succeeded()
    fail(breaker, FAILURES - 1)
    assert breaker.admits()
    assert not breaker.open
    breaker.failed(Broken("broken"))
    assert breaker.open
    assert not breaker.admits()


def test_behind_each_pause_one_looks(breaker: Breaker, clock: Clock) -> None:
    """Pauses double, up to the longest, as long as the store fails."""
    fail(breaker, FAILURES)
    pause = FIRST_PAUSE
    for _ in range(12):
        clock.sleep(pause - 0.001)
        assert not breaker.admits()
        clock.sleep(0.001)
        assert breaker.admits()
        assert not breaker.admits()  # nobody else, though the pause is over
        clock.sleep(100)
        assert not breaker.admits()
        breaker.failed(Broken("broken"))
        pause = min(2 * pause, LONGEST_PAUSE)
    clock.sleep(pause)
    assert breaker.admits()
    breaker.succeeded()
    assert breaker.admits() and breaker.admits()
    clock.sleep(LONGEST_PAUSE)
    fail(breaker, FAILURES)
    clock.sleep(FIRST_PAUSE)
    assert breaker.admits()


def test_who_fails_now_and_then_is_left_alone_for_longer_and_longer(
    breaker: Breaker, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """A store that answers, fails, answers has in an hour hardly more than two lines in the log for each of the longest
    pauses.
    """
    ends = clock.now + 3600
    while clock.now < ends:
        if breaker.admits():
            fail(breaker, FAILURES)
        clock.sleep(0.01 if clock.now < ends - 3590 else 1)
        if breaker.admits():
            breaker.succeeded()
    assert len(caplog.records) <= 2 * (3600 / LONGEST_PAUSE + 10)


def test_who_was_let_through_before_does_not_lengthen_the_pause(breaker: Breaker, clock: Clock) -> None:
    """Ten calls are on their way when it opens, and fail one after the other."""
    for _ in range(10):
        assert breaker.admits()
    for _ in range(10):
        breaker.failed(Broken("broken"))
    clock.sleep(FIRST_PAUSE)
    assert breaker.admits()


def test_one_line_for_each_change(breaker: Breaker, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """However often it looks meanwhile."""
    fail(breaker, FAILURES)
    for _ in range(5):
        clock.sleep(LONGEST_PAUSE)
        fail(breaker, 1)
    clock.sleep(LONGEST_PAUSE)
    assert breaker.admits()
    breaker.succeeded()
    breaker.succeeded()
    assert [record.getMessage() for record in caplog.records] == ["reading: off for now (broken)", "reading: on again"]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def guard(store: MemoryStore) -> Iterator[Guard]:
    guard = Guard(store, Counters())
    yield guard
    guard.close()


def held(guard: Guard, seconds: float = 60) -> Held | None:
    return guard.read(lambda store: store.load(A), seconds, None)


def counted(guard: Guard) -> dict[str, int]:
    return {event: times for event, times in guard._counters.snapshot.items() if times}


def test_answers_pass(guard: Guard, store: MemoryStore) -> None:
    """Answers and errors of the store come through as they are."""
    store.artefacts[A] = b"123"
    assert held(guard) == Held(b"123")
    assert counted(guard) == {"calls": 1}


def test_a_store_that_fails_is_left_alone(guard: Guard, store: MemoryStore) -> None:
    """A store isn't asked any more after some failures, and writing doesn't suffer from what reading does."""
    store.before = breaking
    assert [held(guard) for _ in range(10)] == [None] * 10
    assert counted(guard) == {"calls": FAILURES, "errors": FAILURES, "skipped": 10 - FAILURES}
    store.before = lambda: None
    assert held(guard) is None
    assert guard.write(lambda store: store.acquire(A, "me", 1), 60, False)


def test_a_store_that_hangs_holds_nobody_up(guard: Guard, store: MemoryStore) -> None:
    """Callers have their answer in their time, also when all threads hang; later the store is found again."""
    gate = store.before = Gate()
    begun = time.monotonic()
    assert [held(guard, 0.005) for _ in range(50)] == [None] * 50
    assert time.monotonic() - begun < 2
    assert counted(guard) == {"calls": FAILURES, "timeouts": FAILURES, "skipped": 50 - FAILURES}
    assert FAILURES < THREADS
    gate.opened.set()
    begun = time.monotonic()
    while held(guard) is None:
        assert time.monotonic() - begun < 30
    assert not guard.reading.open


def test_what_is_wrong_in_a_call_is_raised(guard: Guard) -> None:
    """An error of ours is no failure of the store."""

    def wrong(store: Store) -> Held:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        guard.read(wrong, 60, Held())


def test_what_is_wrong_in_a_call_keeps_nobody_from_looking(
    store: MemoryStore, guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is well again is found, though the call that was to find out had an error of its own."""
    clock = Clock()
    monkeypatch.setattr(guard, "reading", Breaker("reading", clock))
    store.before = breaking
    for _ in range(FAILURES):
        held(guard)
    store.before = lambda: None
    clock.sleep(FIRST_PAUSE)

    def wrong(store: Store) -> Held:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        guard.read(wrong, 60, Held())
    store.artefacts[A] = b"123"
    assert held(guard) == Held(b"123")


def test_a_closed_guard_answers_nothing(guard: Guard, store: MemoryStore) -> None:
    """The store is closed with it, and not asked again."""
    guard.close()
    assert store.closed
    assert held(guard) is None
    assert counted(guard) == {"skipped": 1}


def test_a_guard_that_is_closed_meanwhile_answers_nothing(guard: Guard, store: MemoryStore) -> None:
    """Calls that wait for a thread are never made, and who has asked gets what everybody gets without a store."""
    gate = store.before = Gate()
    with ThreadPoolExecutor(THREADS + 4) as threads:
        asked = [threads.submit(held, guard) for _ in range(THREADS + 4)]
        while counted(guard).get("calls", 0) < THREADS + 4 or guard._threads._work_queue.qsize() < 4:
            time.sleep(0.001)
        guard.close()
        gate.opened.set()
        answers = [one.result(60) for one in asked]
    assert (answers.count(Held()), answers.count(None)) == (THREADS, 4)


def test_a_guard_that_closes_just_now_answers_nothing(guard: Guard) -> None:
    """A call that has passed the door when the guard closes finds no thread."""

    class Late(Breaker):
        def admits(self) -> bool:
            guard.close()
            return True

    guard.reading = Late("reading")
    assert held(guard) is None
