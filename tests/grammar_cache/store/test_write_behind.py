"""Writing behind: in order, in batches, within bounds; what can't be written is counted, and nobody waits."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from threading import Event, Thread

import pytest

from grammar_cache.store import write_behind
from grammar_cache.store.contract import Change, Discard, Merge, Put, Use
from grammar_cache.store.counters import Counters
from grammar_cache.store.write_behind import ATTEMPTS, BATCH, BATCH_BYTES, BYTES, CHANGES, WriteBehind


class Sent:
    """A sender that keeps what it is given; while `held` it waits, and the first `failing` calls fail."""

    def __init__(self) -> None:
        self.batches: list[list[Change]] = []
        self.going = Event()
        self.going.set()
        self.waiting = Event()
        self.failing = 0
        self.seconds: list[float] = []

    def __call__(self, changes: Sequence[Change], seconds: float) -> bool:
        self.seconds.append(seconds)
        self.waiting.set()
        assert self.going.wait(60)
        self.batches.append(list(changes))
        self.failing -= 1
        return self.failing < 0

    @property
    def changes(self) -> list[Change]:
        return [change for batch in self.batches for change in batch]


@pytest.fixture
def sent() -> Sent:
    return Sent()


@pytest.fixture
def behind(sent: Sent) -> Iterator[WriteBehind]:
    behind = WriteBehind(sent, Counters())
    yield behind
    sent.going.set()
    behind.close(60)


def use(number: int) -> Use:
    return Use(f"{number:032x}", float(number))


def counts(behind: WriteBehind) -> tuple[int, int]:
    counted = behind._counters.snapshot
    return counted["written"], counted["dropped"]


def test_closing_sends_what_is_left(sent: Sent, behind: WriteBehind) -> None:
    """All of it, in order."""
    for number in range(1000):
        behind.put(use(number))
    behind.close(60)
    assert sent.changes == [use(number) for number in range(1000)]
    assert counts(behind) == (1000, 0)


def test_changes_go_in_batches(sent: Sent, behind: WriteBehind) -> None:
    """Changes that gather while the store is busy go together, so many changes and bytes at a time."""
    sent.going.clear()
    behind.put(use(0))
    assert sent.waiting.wait(60)
    behind.put(*map(use, range(1, 2 * BATCH)))
    large = [Put(f"{number:032x}", bytes(BATCH_BYTES // 2), "me", 1.0) for number in range(5)]
    behind.put(*large)
    sent.going.set()
    behind.close(60)
    assert [len(batch) for batch in sent.batches] == [1, BATCH, BATCH, 2, 2]
    assert sent.changes[-5:] == large


def test_what_does_not_fit_is_dropped_at_once(sent: Sent, behind: WriteBehind) -> None:
    """Changes that don't fit, by number or bytes, are dropped at once; putting never waits."""
    sent.going.clear()
    behind.put(use(0))
    assert sent.waiting.wait(60)
    begun = time.monotonic()
    behind.put(*map(use, range(1, CHANGES)))
    behind.put(use(CHANGES), use(CHANGES + 1))
    behind.put(Put("a" * 32, bytes(BYTES + 1), "me", 1.0))
    behind.put(Merge("a" * 32, {b"k": bytes(BYTES)}, 1.0))
    behind.put(Discard("a" * 32, {b"k": bytes(BYTES)}))
    assert time.monotonic() - begun < 5
    assert counts(behind) == (0, 5)
    sent.going.set()
    behind.close(60)
    assert sent.changes == [use(number) for number in range(CHANGES)]
    assert counts(behind) == (CHANGES, 5)


def test_a_batch_is_sent_again(sent: Sent, behind: WriteBehind, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is sent again until it is written, with pauses between; then comes the next one."""
    monkeypatch.setattr(write_behind, "FIRST_PAUSE", 0.001)
    sent.failing = 3
    behind.put(use(1), use(2))
    while len(sent.batches) < 4:
        assert sent.going.wait(60)
    behind.put(use(3))
    behind.close(60)
    assert sent.batches == [[use(1), use(2)]] * 4 + [[use(3)]]
    assert counts(behind) == (3, 0)


def test_a_batch_is_given_up_in_the_end(sent: Sent, behind: WriteBehind, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one may be luckier."""
    monkeypatch.setattr(write_behind, "FIRST_PAUSE", 0.0001)
    monkeypatch.setattr(write_behind, "LONGEST_PAUSE", 0.001)
    sent.failing = ATTEMPTS
    behind.put(use(1))
    while len(sent.batches) < ATTEMPTS:
        assert sent.going.wait(60)
    behind.put(use(2))
    behind.close(60)
    assert sent.batches == [[use(1)]] * ATTEMPTS + [[use(2)]]
    assert counts(behind) == (1, 1)


def test_a_fault_of_ours_loses_one_batch(caplog: pytest.LogCaptureFixture) -> None:
    """An error that isn't a store's is logged, and the next batch is written."""
    sent: list[Change] = []

    def send(changes: Sequence[Change], _: float) -> bool:
        if use(1) in changes:
            raise ZeroDivisionError
        sent.extend(changes)
        return True

    behind = WriteBehind(send, Counters())
    behind.put(use(1))
    while not counts(behind)[1]:
        pass
    behind.put(use(2))
    behind.close(60)
    assert sent == [use(2)]
    assert counts(behind) == (1, 1)
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_closing_does_not_wait_for_a_store_that_is_away(sent: Sent, behind: WriteBehind) -> None:
    """Pauses end, each batch is tried once more, and what fails is dropped."""
    sent.failing = 10**6
    behind.put(use(1))
    while not sent.batches:
        assert sent.going.wait(60)
    begun = time.monotonic()
    behind.close(60)
    assert time.monotonic() - begun < 30
    assert counts(behind) == (0, 1)


def test_the_last_attempt_has_the_time_of_closing(sent: Sent, behind: WriteBehind) -> None:
    """An attempt before has none of its own; one that fails as closing begins is followed by another one."""
    sent.going.clear()
    sent.failing = 1
    behind.put(use(1))
    assert sent.waiting.wait(60)
    closing = Thread(target=behind.close, args=(60,))
    closing.start()
    while not behind._closing:
        pass
    sent.going.set()
    closing.join()
    assert sent.batches == [[use(1)]] * 2
    assert sent.seconds[0] == 0 < sent.seconds[1] <= 60
    assert counts(behind) == (1, 0)


def test_closing_has_its_time(sent: Sent, behind: WriteBehind) -> None:
    """A store that hangs: what is left is dropped."""
    sent.going.clear()
    behind.put(use(1))
    assert sent.waiting.wait(60)
    behind.put(use(2), use(3))
    begun = time.monotonic()
    behind.close(0.05)
    assert time.monotonic() - begun < 10
    assert counts(behind) == (0, 2)


def test_nothing_is_taken_after_closing(sent: Sent, behind: WriteBehind) -> None:
    """A change after closing is counted as dropped."""
    behind.close(60)
    behind.put(use(1))
    assert sent.batches == []
    assert counts(behind) == (0, 1)
