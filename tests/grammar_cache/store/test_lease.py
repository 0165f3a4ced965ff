"""One makes it, the others wait: for as long as it makes sense."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from grammar_cache.store.lease import LONGEST_PAUSE, once
from tests.grammar_cache.store.fakes import Clock

A = "a" * 32


class Table:
    """Leases and values of one place. `away`: nobody can be asked, as with a store that is down."""

    def __init__(self) -> None:
        self.holder: str | None = None
        self.value: str | None = None
        self.asked = 0
        self.away = False

    def acquire(self, name: str, token: str) -> bool:
        self.asked += 1
        if self.away:
            return True
        self.holder = self.holder or token
        return self.holder == token

    def release(self, name: str, token: str) -> None:
        if self.holder == token:
            self.holder = None

    def look(self) -> str | None:
        return self.value

    def make(self) -> str:
        self.value = "made"
        return "made"


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_what_is_there_is_not_made(table: Table) -> None:
    """Nor is the lease asked for."""
    table.value = "there"
    assert once(table, A, table.look, lambda: pytest.fail("made"), 1) == "there"
    assert table.asked == 0


def test_who_gets_the_lease_makes_it_and_releases_it(table: Table, clock: Clock) -> None:
    """The first to ask makes it without a pause, and releases the lease."""
    assert once(table, A, table.look, table.make, 1, clock.sleep, clock) == "made"
    assert table.holder is None
    assert clock.slept == []


def test_who_gets_the_lease_looks_once_more(table: Table) -> None:
    """The one before had it, and was done, between the look and the lease."""
    looks = iter((None, "theirs"))
    assert once(table, A, lambda: next(looks), lambda: pytest.fail("made"), 1) == "theirs"
    assert table.holder is None


def test_the_others_wait_and_look(table: Table, clock: Clock) -> None:
    """Waiting processes look more and more seldom; what the holder made is theirs too."""
    table.holder = "somebody"

    def pause(seconds: float) -> None:
        clock.sleep(seconds)
        if len(clock.slept) == 12:
            table.value, table.holder = "theirs", None

    assert once(table, A, table.look, lambda: pytest.fail("made"), 60, pause, clock) == "theirs"
    assert clock.slept == sorted(clock.slept)
    assert len(clock.slept) == 12
    assert clock.slept[-1] == LONGEST_PAUSE


def test_if_the_holder_dies_another_one_makes_it(table: Table, clock: Clock) -> None:
    """The lease of a dead holder ends, and who comes next gets it."""
    table.holder = "somebody"

    def pause(seconds: float) -> None:
        clock.sleep(seconds)
        if clock.now > 1001:
            table.holder = None

    assert once(table, A, table.look, table.make, 60, pause, clock) == "made"
    assert clock.now < 1001 + 2 * LONGEST_PAUSE
    assert table.holder is None


def test_nobody_waits_longer_than_agreed(table: Table, clock: Clock) -> None:
    """A process that has waited as long as agreed makes it all the same, without the lease, which stays whose it is."""
    table.holder = "somebody"
    assert once(table, A, table.look, table.make, 2.0, clock.sleep, clock) == "made"
    assert clock.now == pytest.approx(1002.0)
    assert table.holder == "somebody"


def test_without_a_store_everybody_makes_it(table: Table, clock: Clock) -> None:
    """Everybody makes it at once where there is no store."""
    table.away = True
    assert once(table, A, lambda: None, table.make, 60, clock.sleep, clock) == "made"
    assert clock.slept == []


def test_a_failure_releases_the_lease(table: Table) -> None:
    """Whatever it is; the next one tries for itself."""

    def fail() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        once(table, A, table.look, fail, 1)
    assert table.holder is None


def test_who_waits_can_be_stopped(table: Table, clock: Clock) -> None:
    """Looking stops a wait by what it raises: nobody wants it any more."""
    table.holder = "somebody"

    def look() -> str | None:
        if clock.slept:
            raise InterruptedError
        return None

    with pytest.raises(InterruptedError):
        once(table, A, look, table.make, 60, clock.sleep, clock)
    assert table.holder == "somebody"


def test_of_many_at_once_one_makes_it(table: Table) -> None:
    """Eight threads, and a making that takes until all others have asked."""
    together, all_asked, made = Barrier(8), Event(), []

    def make() -> str:
        assert all_asked.wait(60)
        made.append(1)
        return table.make()

    def look() -> str | None:
        if table.asked >= 8:
            all_asked.set()
        return table.look()

    def ask(_: int) -> str:
        together.wait()
        return once(table, A, look, make, 60)

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(8))) == ["made"] * 8
    assert made == [1]


def test_who_is_at_work_renews_its_lease() -> None:
    """A holder at work renews its lease for as long as it takes, and not any longer: the lease is given back in the
    end.
    """
    renewed = Event()

    class Counting(Table):
        def acquire(self, name: str, token: str) -> bool:
            held = super().acquire(name, token)
            if self.asked > 3:
                renewed.set()
            return held

    counting = Counting()

    def make() -> str:
        assert renewed.wait(60)
        return "made"

    assert once(counting, A, counting.look, make, 60, renewal=0.001) == "made"
    assert counting.holder is None
