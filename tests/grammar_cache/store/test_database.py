"""The database over stores of every kind: what one process keeps another one finds, and nothing that isn't right."""

from __future__ import annotations

import pytest

from grammar_cache.distances.claims import Claim
from grammar_cache.limits import Limits
from grammar_cache.store.database import Database, Known
from grammar_cache.store.opening import open_store
from grammar_cache.store.seals import Seals
from tests.grammar_cache.store.databases import PATIENT, SECRET, counted, database, until
from tests.grammar_cache.store.fakes import MemoryStore

KEY, OTHER = b"k" * 16, b"o" * 16
CLAIM, LONGER = Claim(2, (7, 8)), Claim(3, (1, 2, 3))


def test_what_one_process_keeps_another_one_finds(address: str) -> None:
    """Artefact and claims, by the grammar's id; its use is noted."""
    with database(address) as one:
        assert one.load("grammar") == Known()
        one.keep("grammar", b"artefact" * 1000)
        one.learn("grammar", {KEY: CLAIM})
    with database(address) as two:
        assert two.load("grammar") == Known(b"artefact" * 1000, {KEY: CLAIM})
        assert two.load("other") == Known()
        assert counted(two)["hits"] == counted(two)["misses"] == 1
    [info] = open_store(address).infos()
    assert (info.origin, info.entries, info.uses) == ("tests", 1, 1)
    assert info.artefact_bytes < 1000


def test_the_lesser_distance_stays(address: str) -> None:
    """Whoever is first, and whatever the witnesses."""
    for first, second in ((CLAIM, LONGER), (LONGER, CLAIM)):
        with database(address) as one:
            one.learn(f"{first}", {KEY: first})
        with database(address) as two:
            two.learn(f"{first}", {KEY: second, OTHER: LONGER})
        with database(address) as three:
            assert three.load(f"{first}").claims == {KEY: CLAIM, OTHER: LONGER}


def test_other_secrets_tenants_and_limits_are_apart(address: str) -> None:
    """Secrets, tenants and limits keep entries apart, though all write for the same grammar."""
    with database(address) as one:
        one.keep("grammar", b"ours")
    others = [
        Database(open_store(address), Seals(b"x" * 16), Limits(), "tests", timing=PATIENT),
        Database(open_store(address), Seals(SECRET, "tenant"), Limits(), "tests", timing=PATIENT),
        Database(open_store(address), Seals(SECRET), Limits(step_fuel=7), "tests", timing=PATIENT),
    ]
    for other in others:
        assert other.load("grammar") == Known()
        assert "rejected" not in counted(other)
        other.keep("grammar", b"theirs")
        other.close(20)
    assert len(open_store(address).infos()) == 4
    with database(address) as one:
        assert one.load("grammar").artefact == b"ours"


def test_nothing_of_a_grammar_is_told_by_its_name(address: str) -> None:
    """Neither its text's id nor its claims' keys are in what a server lists."""
    with database(address) as one:
        one.keep("grammar-id", b"artefact")
    [info] = open_store(address).infos()
    assert len(info.name) == 32
    assert "grammar" not in f"{info}"


def test_what_is_too_large_is_dropped(address: str) -> None:
    """An artefact before or behind packing, a claim: counted, and all else is written."""
    with database(address, unpacked_bytes=5000, artefact_bytes=100, entry_bytes=40) as one:
        one.keep("too large", bytes(5001))
        one.keep("too large when packed", bytes(n * n % 251 for n in range(1000)))
        one.keep("right", bytes(5000))
        one.learn("claims", {KEY: Claim(50, (1,) * 50), OTHER: CLAIM})
    assert counted(one)["dropped"] == 2
    with database(address) as two:
        assert two.load("too large") == two.load("too large when packed") == Known()
        assert two.load("right").artefact == bytes(5000)
        assert two.load("claims").claims == {OTHER: CLAIM}


def test_one_compiles_and_the_others_wait(address: str) -> None:
    """The lease is released behind the artefact: who waits for it finds it."""
    with database(address) as one, database(address) as two:
        made = []

        def make() -> bytes:
            made.append(1)
            assert not two.acquire(two._seals.name("grammar", Limits()), "somebody else")
            one.keep("grammar", b"artefact")
            return b"artefact"

        assert one.once("grammar", lambda: one.load("grammar").artefact, make, 60) == b"artefact"
        found = two.once("grammar", lambda: two.load("grammar").artefact, lambda: pytest.fail("made"), 60)
        assert found == b"artefact"
        until(lambda: two.acquire(two._seals.name("grammar", Limits()), "somebody else"))
        assert made == [1]


def test_an_error_of_ours_is_raised() -> None:
    """An error that isn't a store's is raised."""
    store = MemoryStore()

    def wrong() -> None:
        raise ZeroDivisionError

    opened = Database(store, Seals(SECRET), Limits(), "tests", timing=PATIENT)
    store.before = wrong
    with pytest.raises(ZeroDivisionError):
        opened.load("grammar")
    store.before = lambda: None
    opened.close(20)
    assert store.closed
