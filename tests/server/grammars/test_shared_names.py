"""Names of grammars in several processes that share a store, and in one that has none."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from grammar_cache import Constraint, Limits
from grammar_cache.store.database import Database
from grammar_cache.store.seals import Seals
from server.grammars import named as module
from server.grammars.named import REMEMBERED_SECONDS, NamedGrammars
from server.protocol.errors import ApiError
from tests.grammar_cache.store.databases import PATIENT
from tests.grammar_cache.store.fakes import Clock, Gate, MemoryStore, breaking
from tests.server.grammars.test_sharing import SECRET

T = TypeVar("T")
A, B = Constraint("regex", "a+"), Constraint("regex", "b+")


class World:
    """Named grammars over a store in memory, at times of the test's choice."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self.store = store
        self.clock = clock
        self.database = Database(store, Seals(SECRET.encode()), Limits(), "tests", timing=PATIENT)
        self.named = NamedGrammars(self.database.catalogue(20.0), clock)

    def later(self) -> None:
        self.clock.sleep(REMEMBERED_SECONDS)

    def find(self, name: str = "x") -> Constraint:
        return asyncio.run(self.named.find(name, "grammar.name"))


@pytest.fixture
def worlds() -> tuple[World, World]:
    """Two processes with one store."""
    store, clock = MemoryStore(), Clock()
    return World(store, clock), World(store, clock)


def refusal(asked: Coroutine[Any, Any, T]) -> str:
    with pytest.raises(ApiError) as caught:
        asyncio.run(asked)
    return caught.value.code.value


def test_a_change_is_met_within_seconds(worlds: tuple[World, World]) -> None:
    """A remembered name counts until its change is met, some seconds later."""
    one, other = worlds
    assert asyncio.run(one.named.register("x", A))
    assert other.find() == A
    assert asyncio.run(one.named.register("x", B))
    assert (one.find(), other.find()) == (B, A)
    other.later()
    assert other.find() == B
    asyncio.run(one.named.forget("x"))
    assert refusal(one.named.find("x", "name")) == "grammar_not_found"
    assert other.find() == B
    other.later()
    assert refusal(other.named.find("x", "name")) == "grammar_not_found"


def test_while_the_store_is_away_what_is_known_stays(worlds: tuple[World, World]) -> None:
    """A name that isn't known is to be asked for again, and what is registered meanwhile is known here alone."""
    one, other = worlds
    asyncio.run(one.named.register("x", A))
    one.store.before = breaking
    one.later()
    assert one.find() == A
    assert refusal(other.named.find("x", "name")) == "store_unavailable"
    assert refusal(one.named.forget("x")) == "store_unavailable"
    assert not asyncio.run(one.named.register("y", B))
    assert asyncio.run(one.named.registered()) == ["x", "y"]
    one.store.before = lambda: None
    one.later()
    other.later()
    one.clock.sleep(60)
    assert one.find("y") == B


def test_a_name_given_anew_while_the_store_is_away_keeps_its_new_meaning(worlds: tuple[World, World]) -> None:
    """Here, until the server ends or the name is given or taken away once more; others go on with the old one."""
    one, other = worlds
    asyncio.run(one.named.register("x", A))
    one.store.before = breaking
    assert not asyncio.run(one.named.register("x", B))
    one.store.before = lambda: None
    one.later()
    assert (one.find(), other.find()) == (B, A)
    assert asyncio.run(one.named.register("x", B))
    other.later()
    assert other.find() == B
    asyncio.run(one.named.forget("x"))
    assert refusal(one.named.find("x", "name")) == "grammar_not_found"


def test_a_name_given_anew_while_it_is_looked_up_keeps_its_new_meaning(worlds: tuple[World, World]) -> None:
    """The store answers with the old one, and wasn't told of the new one."""
    one, _ = worlds
    asyncio.run(one.named.register("x", A))
    one.later()

    async def meanwhile() -> list[Constraint]:
        gate = one.store.before = Gate()
        finding = asyncio.create_task(one.named.find("x", "grammar.name"))
        await asyncio.to_thread(gate.reached.wait, 60)
        one.store.before = breaking
        assert not await one.named.register("x", B)
        gate.opened.set()
        return [await finding, await one.named.find("x", "grammar.name")]

    assert asyncio.run(meanwhile()) == [B, B]


def test_values_of_others_are_no_definitions(worlds: tuple[World, World]) -> None:
    """Sealed by another secret, or put in another place."""
    one, other = worlds
    for name, constraint in (("x", A), ("y", B)):
        asyncio.run(one.named.register(name, constraint))
    places = sorted(one.store.artefacts)
    values = [one.store.artefacts[place] for place in places]
    one.store.artefacts.update(zip(places, reversed(values), strict=True))
    for name in "xy":
        assert refusal(other.named.find(name, "name")) == "grammar_not_found"


def test_without_a_store_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that somebody relies on never goes: more names are refused."""
    monkeypatch.setattr(module, "MOST_NAMES", 2)
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    named = NamedGrammars(None)
    assert not asyncio.run(named.register("x", A))
    asyncio.run(named.register("y", B))
    assert refusal(named.register("z", A)) == "invalid_value"
    assert refusal(named.register("x", Constraint("regex", "a" * 9))) == "invalid_value"
    assert refusal(named.register("x", Constraint("regex", "é" * 5))) == "invalid_value"  # ten bytes
    asyncio.run(named.register("x", Constraint("regex", "a" * 8)))
    asyncio.run(named.forget("y"))
    assert asyncio.run(named.registered()) == ["x"]
    assert asyncio.run(named.find("x", "name")).text == "a" * 8
