"""Whoever holds memory between steps begins only when all it may need is free; everybody's turn comes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from server.backends.backend import DoesNotFit
from server.backends.vllm.frontend.capacity import Capacity, Room, room_for

WHOLE = Room(blocks=10, seats=8)


class Crowd:
    """Requests by name: who is in, and in which order they came in."""

    def __init__(self) -> None:
        self.capacity = Capacity(WHOLE)
        self.inside: list[str] = []
        self.history: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ends: dict[str, asyncio.Event] = {}

    async def come(self, name: str, blocks: int, seats: int = 1, *, firm: bool) -> None:
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._be(name, Room(blocks, seats), firm))
        await settled()

    async def go(self, *names: str) -> None:
        for name in names:
            self._ends[name].set()
        await settled()

    async def cancel(self, *names: str) -> None:
        for name in names:
            self._tasks[name].cancel()
        await settled()
        assert all(self._tasks[name].cancelled() for name in names)

    async def _be(self, name: str, need: Room, firm: bool) -> None:
        async with self.capacity.taken(need, firm=firm):
            self.inside.append(name)
            self.history.append(name)
            try:
                await self._ends[name].wait()
            finally:
                self.inside.remove(name)


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def with_crowd(test: Callable[[Crowd], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test(Crowd()))


@pytest.mark.parametrize(
    ("length", "width", "expected"),
    [
        (32, None, Room(1, 1)),
        (33, None, Room(2, 1)),
        (33, 1, Room(3, 1)),
        (33, 2, Room(6, 2)),
        (64, 4, Room(12, 4)),
    ],
)
def test_what_is_needed(length: int, width: int | None, expected: Room) -> None:
    """Each beam may hold a whole text, and one block more while it is copied."""
    assert room_for(length, width, [(32, None)]) == expected


def test_a_text_takes_blocks_of_all_kinds_of_memory() -> None:
    """Layers whose windows slide have blocks of their own, and no more than the window needs."""
    kinds = [(32, None), (32, 3), (64, None)]
    assert room_for(64, None, kinds) == Room(2 + 2 + 1, 1)
    assert room_for(320, 2, kinds) == Room(2 * (10 + 3 + 5) + 2, 2)


def test_what_never_fits_is_refused_at_once() -> None:
    async def test(crowd: Crowd) -> None:
        for need in (Room(11, 1), Room(1, 9)):
            with pytest.raises(DoesNotFit, match="the engine has 10 and 8"):
                async with crowd.capacity.taken(need, firm=True):
                    pass
        await crowd.come("beams", 10, 8, firm=True)
        assert crowd.inside == ["beams"]

    with_crowd(test)


def test_firm_requests_never_share_what_is_not_there() -> None:
    async def test(crowd: Crowd) -> None:
        await crowd.come("a", 6, firm=True)
        await crowd.come("b", 5, firm=True)
        await crowd.come("c", 4, firm=True)
        assert crowd.inside == ["a"]  # c would fit, and b came first
        await crowd.go("a")
        assert crowd.inside == ["b", "c"]

    with_crowd(test)


def test_places_in_a_batch_count_like_memory() -> None:
    async def test(crowd: Crowd) -> None:
        await crowd.come("a", 1, 5, firm=True)
        await crowd.come("b", 1, 4, firm=True)
        assert crowd.inside == ["a"]
        await crowd.go("a")
        assert crowd.inside == ["b"]

    with_crowd(test)


def test_others_share_as_they_like_while_nobody_is_firm() -> None:
    """The engine can take memory back from them; none is ever refused."""

    async def test(crowd: Crowd) -> None:
        for name in "abc":
            await crowd.come(name, 8, firm=False)
        await crowd.come("huge", 99, firm=False)
        assert crowd.inside == ["a", "b", "c", "huge"]

    with_crowd(test)


def test_nobody_is_overtaken_for_ever() -> None:
    """Neither beams by a stream of others, nor others by a stream of beams."""

    async def test(crowd: Crowd) -> None:
        await crowd.come("plain 1", 8, firm=False)
        await crowd.come("plain 2", 8, firm=False)
        await crowd.come("beams 1", 6, firm=True)
        await crowd.come("plain 3", 8, firm=False)
        await crowd.come("beams 2", 6, firm=True)
        assert crowd.inside == ["plain 1", "plain 2"]
        await crowd.go("plain 1")
        assert crowd.inside == ["plain 2"]
        await crowd.go("plain 2")
        assert crowd.inside == ["beams 1"]  # plain 3 and they would not fit together
        await crowd.go("beams 1")
        assert crowd.inside == ["plain 3"]
        await crowd.go("plain 3")
        assert crowd.inside == ["beams 2"]

    with_crowd(test)


def test_others_go_on_beside_beams_where_they_fit() -> None:
    async def test(crowd: Crowd) -> None:
        await crowd.come("beams", 6, firm=True)
        await crowd.come("plain 1", 4, firm=False)
        await crowd.come("plain 2", 4, firm=False)
        assert crowd.inside == ["beams", "plain 1"]
        await crowd.go("plain 1")
        assert crowd.inside == ["beams", "plain 2"]

    with_crowd(test)


def test_who_leaves_frees_what_it_had_or_its_place_in_the_line() -> None:
    async def test(crowd: Crowd) -> None:
        await crowd.come("a", 8, firm=True)
        await crowd.come("b", 8, firm=True)
        await crowd.come("c", 2, firm=True)
        await crowd.cancel("b")
        assert crowd.inside == ["a", "c"]
        await crowd.cancel("a")
        await crowd.come("d", 8, firm=True)
        assert crowd.inside == ["c", "d"]

    with_crowd(test)


@pytest.mark.parametrize("firm", [False, True])
def test_several_that_leave_at_once_keep_nothing(firm: bool) -> None:
    """Texts of one request are cancelled together: who waits isn't let in by another that leaves in the same moment."""

    async def test(crowd: Crowd) -> None:
        await crowd.come("beams", 6, firm=True)
        for name in "abcd":
            await crowd.come(name, 3, firm=firm)
        assert crowd.inside == ["beams", "a"]
        await crowd.cancel("a", "b", "c", "d")
        await crowd.come("e", 4, firm=True)
        assert crowd.inside == ["beams", "e"]
        await crowd.go("beams", "e")
        await crowd.come("f", 10, 8, firm=True)
        assert crowd.inside == ["f"]

    with_crowd(test)


@pytest.mark.parametrize("seed", range(20))
def test_any_crowd(seed: int) -> None:
    """Firm ones and those beside them never hold more than there is; in the end everybody was in, in order."""
    rng = random.Random(seed)

    async def test(crowd: Crowd) -> None:
        needs = {}
        arrived: list[str] = []
        for number in range(40):
            firm = rng.random() < 0.5
            name = f"{'beams' if firm else 'plain'} {number}"
            needs[name] = Room(rng.randint(1, 10 if firm else 14), rng.randint(1, 4))
            arrived.append(name)
            await crowd.come(name, needs[name].blocks, needs[name].seats, firm=firm)
            if crowd.inside and rng.random() < 0.6:
                await crowd.go(rng.choice(crowd.inside))
            if any(name.startswith("beams") for name in crowd.inside):
                assert sum(needs[name].blocks for name in crowd.inside) <= WHOLE.blocks
                assert sum(needs[name].seats for name in crowd.inside) <= WHOLE.seats
        while crowd.inside:
            await crowd.go(crowd.inside[0])
        assert crowd.history == arrived

    with_crowd(test)
