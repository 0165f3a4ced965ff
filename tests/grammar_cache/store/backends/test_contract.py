"""Behaviour of every store: the same tests for a file, a server and a cluster."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count, cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammar_cache.store.contract import (
    AT_ONCE_BYTES,
    AT_ONCE_ENTRIES,
    Change,
    Discard,
    Held,
    Merge,
    Put,
    Release,
    Size,
    Use,
)
from tests.grammar_cache.store.conftest import Opener
from tests.strategies import examples

A, B, C = "a" * 32, "b" * 32, "c" * 32
KEY, OTHER = b"k" * 16, b"o" * 16
NOW = float(round(time.time()))


def test_nothing_is_there_at_first(opened: Opener) -> None:
    """A name that nobody has written: nothing to load, to list or to remove."""
    store = opened()
    assert store.load(A) == Held()
    assert store.look([A]) == [Held()]
    assert store.infos() == []
    assert not store.remove(A)


def test_an_artefact_is_there_for_others(opened: Opener) -> None:
    """An artefact that one process has put is loaded by another, whole, whatever the bytes; and only under its name."""
    value = bytes(range(256)) * 500
    opened().write([Put(A, value, "me", NOW)])
    assert opened().load(A) == Held(value, {})
    assert opened().look([A]) == [Size(len(value), 0)]
    assert opened().load(B) == Held()


def test_the_last_artefact_stays(opened: Opener) -> None:
    """One takes the place of another; when the first was made stays known."""
    store, at = opened(), NOW
    store.write([Put(A, b"first", "me", at)])
    store.write([Put(A, b"second", "you", at + 5)])
    assert store.load(A).artefact == b"second"
    [info] = store.infos()
    assert (info.origin, info.created, info.used, info.artefact_bytes) == ("you", at, at + 5, 6)


def test_a_table_is_there_for_others(opened: Opener) -> None:
    """A table is found with an artefact or without one."""
    opened().write([Merge(A, {KEY: b"1", OTHER: b"\0\xff"}, NOW)])
    assert opened().load(A) == Held(None, {KEY: b"1", OTHER: b"\0\xff"})
    assert opened().look([A]) == [opened().load(A)]
    opened().write([Put(A, b"artefact", "me", NOW)])
    assert opened().load(A) == Held(b"artefact", {KEY: b"1", OTHER: b"\0\xff"})


def test_a_look_brings_what_is_small(opened: Opener) -> None:
    """A look brings an artefact and a table up to so many bytes and entries, by name, in order, else how much they
    are.
    """
    store = opened()
    some = {number.to_bytes(16, "big"): b"1" for number in range(AT_ONCE_ENTRIES)}
    store.write([Put(A, bytes(AT_ONCE_BYTES), "me", NOW), Merge(A, some, NOW), Merge(B, {KEY: b"1"}, NOW)])
    store.write([Put(C, bytes(AT_ONCE_BYTES + 1), "me", NOW)])
    assert store.look([C, A, B, "d" * 32]) == [
        Size(AT_ONCE_BYTES + 1, 0), Held(bytes(AT_ONCE_BYTES), some), Held(None, {KEY: b"1"}), Held(),
    ]  # fmt: skip
    store.write([Merge(A, {KEY: b"1"}, NOW)])
    assert store.look([A]) == [Size(AT_ONCE_BYTES, AT_ONCE_ENTRIES + 1)]
    assert store.look([]) == []


@pytest.mark.parametrize(("one", "other"), [(b"\0\1", b"\0\2"), (b"\x7f", b"\x80"), (b"a", b"a\0"), (b"\0", b"\0\0")])
def test_the_lesser_value_stays(opened: Opener, one: bytes, other: bytes) -> None:
    """The lesser value stays by its bytes, a prefix before what is longer; whoever comes first."""
    store = opened()
    store.write([Merge(A, {KEY: one}, NOW), Merge(A, {KEY: other}, NOW)])
    store.write([Merge(B, {KEY: other}, NOW), Merge(B, {KEY: one}, NOW)])
    assert store.load(A).entries == store.load(B).entries == {KEY: one}


def test_any_order_of_writers_ends_the_same(opened: Opener) -> None:
    """Tables merged in one order by one process, and in another by two in turns: the least value of each key stays."""
    one, two, names = opened(), opened(), (f"{number:032x}" for number in count())
    values = st.dictionaries(st.sampled_from([KEY, OTHER]), st.binary(min_size=1, max_size=2), max_size=2)
    orders = st.lists(values, min_size=1, max_size=5).flatmap(lambda t: st.tuples(st.just(t), st.permutations(t)))

    @given(orders)
    @examples(20)
    def check(written: tuple[list[dict[bytes, bytes]], list[dict[bytes, bytes]]]) -> None:
        first, second = next(names), next(names)
        one.write([Merge(first, table, NOW) for table in written[0]])
        for store, table in zip(cycle((one, two)), written[1], strict=False):
            store.write([Merge(second, table, NOW)])
        least = {key: min(t[key] for t in written[0] if key in t) for t in written[0] for key in t}
        assert one.load(first).entries == two.load(second).entries == least

    check()


def test_writers_at_the_same_time_lose_nothing(opened: Opener) -> None:
    """Two processes improve the same values at once: in the end each is the least that either wrote."""
    values = [[{KEY: bytes([n]), n.to_bytes(16, "big"): bytes([w])} for n in range(40, 0, -1)] for w in (1, 2)]

    def write(writer: int) -> None:
        store = opened()
        for table in values[writer]:
            store.write([Merge(A, table, NOW)])

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, (0, 1)))
    assert opened().load(A).entries == {KEY: b"\1", **{n.to_bytes(16, "big"): b"\1" for n in range(1, 41)}}


def test_a_table_has_its_limit(opened: Opener) -> None:
    """Behind it nothing is added, but what is there is still improved."""
    store = opened(entries=3)
    store.write([Merge(A, {bytes([n]) * 16: b"5" for n in range(5)}, NOW)])
    assert len(store.load(A).entries) == 3
    known = min(store.load(A).entries)
    store.write([Merge(A, {known: b"4", b"z" * 16: b"1"}, NOW)])
    assert len(store.load(A).entries) == 3
    assert store.load(A).entries[known] == b"4"


def test_what_is_too_long_is_not_read(opened: Opener) -> None:
    """Somebody else has written it: an artefact comes with one byte too many, entries don't come."""
    opened().write([Put(A, b"x" * 100, "me", NOW), Merge(A, {KEY: b"y" * 50, OTHER: b"y" * 20, b"short": b"y"}, NOW)])
    found = opened(artefact_bytes=80, entry_bytes=20).load(A)
    assert found == Held(b"x" * 81, {OTHER: b"y" * 20})
    assert opened(entries=2).load(A).entries == {}  # three: more than anybody of us writes


def test_a_table_of_somebody_else_is_not_read(opened: Opener) -> None:
    """A table with more values than anybody of us writes is read by nobody, and its values give way to what is
    written.
    """
    small, large = opened(entries=3), opened(entries=300_000)
    for begin in range(0, 20_000, 5000):
        large.write([Merge(A, {n.to_bytes(16, "big"): b"1" for n in range(begin, begin + 5000)}, NOW)])
    small.write([Put(A, b"artefact", "me", NOW)])
    assert small.look([A]) == [Held(b"artefact", {})]
    assert small.load(A) == Held(b"artefact", {})
    small.write([Merge(A, {KEY: b"1"}, NOW)])
    assert small.load(A) == Held(b"artefact", {KEY: b"1"})


def test_discarding_what_has_changed_is_no_harm(opened: Opener) -> None:
    """Discarding takes only the very value that was found wrong."""
    store = opened()
    store.write([Merge(A, {KEY: b"2", OTHER: b"2"}, NOW), Merge(A, {OTHER: b"1"}, NOW)])
    store.write([Discard(A, {KEY: b"2", OTHER: b"2"}), Discard(B, {KEY: b"2"})])
    assert store.load(A).entries == {OTHER: b"1"}


def test_uses_are_counted(opened: Opener) -> None:
    """Uses are counted, with the time of the last; nothing is kept of a name that isn't there."""
    store, at = opened(), NOW
    store.write([Put(A, b"1", "me", at), Use(A, at + 1), Use(A, at + 2), Use(B, at)])
    [info] = store.infos()
    assert (info.name, info.uses, info.used) == (A, 2, at + 2)


def test_listing_and_removing(opened: Opener) -> None:
    """The last used first; what is removed is gone with all that belongs to it."""
    store, at = opened(), NOW
    store.write([Put(A, b"123", "me", at), Merge(A, {KEY: b"1"}, at), Merge(B, {KEY: b"1", OTHER: b"2"}, at + 1)])
    assert [(i.name, i.artefact_bytes, i.entries) for i in store.infos()] == [(B, 0, 2), (A, 3, 1)]
    assert opened().remove(A)
    assert not store.remove(A)
    assert [info.name for info in store.infos()] == [B]
    assert store.load(A) == Held()
    assert store.remove(A, B, C)
    assert store.infos() == []


CHANGES: list[Change] = [
    Put(A, b"1", "me", NOW),
    Merge(A, {KEY: b"1"}, NOW),
    Discard(A, {OTHER: b"1"}),
    Release(A, "t"),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: type(change).__name__)
def test_a_change_made_twice_is_made_once(opened: Opener, change: Change) -> None:
    """A writer that doesn't know whether it has arrived may send it again."""
    store = opened()
    store.write([Merge(A, {OTHER: b"0"}, NOW), change])
    once = store.load(A), store.infos()
    store.write([change])
    assert (store.load(A), store.infos()) == once


def test_a_lease_has_one_holder(opened: Opener) -> None:
    """A lease goes to its holder alone, who gets it again, and it ends when the holder releases it, not when others
    do.
    """
    one, two = opened(), opened()
    assert one.acquire(A, "one", 60)
    assert not two.acquire(A, "two", 60)
    assert one.acquire(A, "one", 60)
    assert two.acquire(B, "two", 60)
    two.write([Release(A, "two")])
    assert not two.acquire(A, "two", 60)
    one.write([Release(A, "one")])
    assert two.acquire(A, "two", 60)


def test_the_lease_of_a_dead_holder_ends(opened: Opener) -> None:
    """A dead holder's lease goes to anybody after its time."""
    one, two = opened(), opened()
    assert one.acquire(A, "one", 0.03)
    begun = time.monotonic()
    while not two.acquire(A, "two", 60):
        assert time.monotonic() - begun < 10
    assert not one.acquire(A, "one", 60)


def test_a_lease_is_no_longer_than_that_of_who_asks(opened: Opener) -> None:
    """A lease whose holder died ends soon, though an hour was asked for: nobody waits for that."""
    one, two = opened(), opened()
    assert one.acquire(A, "dead", 3600)
    begun = time.monotonic()
    while not two.acquire(A, "two", 0.03):
        assert time.monotonic() - begun < 10


def test_of_many_who_ask_at_once_one_gets_the_lease(opened: Opener) -> None:
    """Eight at the same time."""
    stores = [opened() for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        got = list(threads.map(lambda number: stores[number].acquire(A, str(number), 60), range(8)))
    assert got.count(True) == 1


def test_many_changes_go_at_once(opened: Opener) -> None:
    """Changes of many names go in one call."""
    store = opened()
    names = [f"{number:032x}" for number in range(50)]
    store.write([change for name in names for change in (Put(name, name.encode(), "me", NOW), Use(name, NOW))])
    assert {info.name for info in store.infos()} == set(names)
    assert store.load(names[7]).artefact == names[7].encode()
