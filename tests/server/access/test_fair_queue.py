"""Fair turns, as properties over a simulated clock: each work ends when the simulation says so."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.access.fair_queue import FairQueue


@dataclass(slots=True, eq=False)
class Job:
    """A work of the simulation: what it may cost at most, and what it does cost, which is as long as it takes."""

    key: str
    request: int
    most: int
    taken: int
    arrives: int
    share: float = 1.0
    begun: float | None = None
    ended: float | None = None


@dataclass(slots=True, eq=False)
class Simulation:
    """A queue whose works take as much time as tokens. Arrivals and ends happen at whole moments."""

    places: int
    jobs: list[Job]
    now: int = 0
    running: dict[Job, asyncio.Event] = field(default_factory=dict)

    async def run(self) -> None:
        """Runs all jobs to their ends."""
        queue = FairQueue(self.places)
        waiting, tasks = sorted(self.jobs, key=lambda job: job.arrives), []
        while waiting or any(job.ended is None for job in self.jobs):
            while waiting and waiting[0].arrives <= self.now:
                tasks.append(asyncio.create_task(self._work(queue, waiting.pop(0))))
            await self._settle()
            assert len(self.running) <= self.places
            assert not queue.waiting or len(self.running) == self.places, "a place is free though somebody waits"
            self.now += 1
            for job, over in list(self.running.items()):
                if job.begun is not None and self.now - job.begun >= job.taken:
                    del self.running[job]
                    over.set()
            await self._settle()
        await asyncio.gather(*tasks)
        assert (queue.running, queue.waiting) == (0, 0)

    async def _work(self, queue: FairQueue, job: Job) -> None:
        async with queue.turn(job.key, (job.key, job.request), job.most, job.share) as turn:
            job.begun = self.now
            over = self.running[job] = asyncio.Event()
            await over.wait()
            turn.cost = job.taken
        job.ended = self.now

    async def _settle(self) -> None:
        for _ in range(6):
            await asyncio.sleep(0)

    def served(self, key: str, moment: int) -> float:
        """Tokens of a key's works up to a moment, an independent count."""
        begun = [job for job in self.jobs if job.key == key and job.begun is not None]
        return sum(min(job.taken, max(0, moment - (job.begun or 0))) for job in begun) / begun[0].share

    def waits(self, key: str) -> set[int]:
        """Moments at which a work of the key waits."""
        own = [job for job in self.jobs if job.key == key]
        return {moment for job in own for moment in range(job.arrives, int(job.begun or 0))}


@st.composite
def simulations(draw: st.DrawFn) -> Simulation:
    """Up to four keys with shares, requests of several works, and costs that are mostly overestimated."""
    shares = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=2, max_size=4))
    jobs = []
    for number, share in enumerate(shares):
        for request in range(draw(st.integers(0, 4))):
            arrives, works = draw(st.integers(0, 30)), draw(st.integers(1, 12))
            taken = draw(st.integers(1, 9))
            most = taken * draw(st.integers(1, 5))
            jobs += [Job(f"key-{number}", request, most, taken, arrives, share) for _ in range(works)]
    return Simulation(draw(st.integers(1, 4)), jobs)


@settings(max_examples=60)
@given(simulations())
def test_keys_that_wait_are_served_alike(simulation: Simulation) -> None:
    """Neither of two keys is served more than the other while both wait, by share, but for the works that run."""
    asyncio.run(simulation.run())
    keys = sorted({job.key for job in simulation.jobs})
    for one in keys:
        for other in keys:
            for begin, end in stretches(simulation.waits(one) & simulation.waits(other)):
                more = simulation.served(one, end) - simulation.served(one, begin)
                less = simulation.served(other, end) - simulation.served(other, begin)
                # A place holds one work of either key: what it may cost at most is the bound of Sheng et al. (4.1).
                most = max(job.most / job.share for job in simulation.jobs if job.key in (one, other))
                assert more - less <= 2 * most * (simulation.places + 1)


def stretches(moments: set[int]) -> Iterator[tuple[int, int]]:
    """First and last moment of each unbroken stretch."""
    ordered = sorted(moments)
    starts = [at for at in ordered if at - 1 not in moments]
    ends = [at for at in ordered if at + 1 not in moments]
    return zip(starts, ends, strict=True)


@pytest.mark.parametrize("places", [1, 4, 32])
def test_two_large_requests_starve_nobody(places: int) -> None:
    """A key that comes while two requests of 128 answers wait is served at the next free place, and so is another
    request of the key that sent them, a round later at most.
    """
    flood = [Job("flood", request, 2048, 20, 0) for request in range(2) for _ in range(128)]
    other, same = Job("other", 0, 64, 20, 1), Job("flood", 9, 64, 20, 1)
    asyncio.run(Simulation(places, [*flood, other, same]).run())
    assert other.begun is not None
    assert same.begun is not None
    assert other.begun <= 20
    assert same.begun <= 20 + 20 * ceil(3 / places)
    assert max(job.begun or 0 for job in flood) > 40 or places == 32


def test_no_key_saves_up_turns() -> None:
    """A key that was idle for long gets its share from then on, and nothing for the time before."""
    early = [Job("busy", 0, 10, 10, 0) for _ in range(60)]
    late = [Job("late", 0, 10, 10, 200) for _ in range(20)]
    asyncio.run(Simulation(1, [*early, *late]).run())
    turns = sorted((job for job in [*early, *late] if (job.begun or 0) >= 200), key=lambda job: job.begun or 0)[:20]
    assert 9 <= sum(job.key == "late" for job in turns) <= 11
    assert all(one.key != another.key for one, another in pairwise(turns[1:]))


def test_shares_are_kept() -> None:
    """A key with three times the share has three times the tokens."""
    jobs = [Job("three", 0, 8, 4, 0, 3.0) for _ in range(90)] + [Job("one", 0, 8, 4, 0, 1.0) for _ in range(90)]
    asyncio.run(Simulation(2, jobs).run())
    early = [job for job in jobs if (job.begun or 0) < 160]
    assert 0.7 <= sum(job.key == "three" for job in early) / len(early) <= 0.8


def test_an_overestimate_is_not_held_against_anybody() -> None:
    """Keys whose budgets are a hundred times what they take are served as those that ask for what they need."""
    jobs = [Job("generous", 0, 400, 4, 0) for _ in range(50)] + [Job("exact", 0, 4, 4, 0) for _ in range(50)]
    asyncio.run(Simulation(1, jobs).run())
    early = [job for job in jobs if (job.begun or 0) < 200]
    assert 0.4 <= sum(job.key == "generous" for job in early) / len(early) <= 0.6


def test_who_goes_away_leaves_nothing_behind() -> None:
    """Works that are cancelled while they wait, and just as their turn comes, free their places."""

    async def scenario() -> None:
        queue, over = FairQueue(1), asyncio.Event()

        async def work(name: str) -> None:
            async with queue.turn(name, name, 5):
                await over.wait()

        first, second, third = (asyncio.create_task(work(name)) for name in "abc")
        await asyncio.sleep(0)
        assert (queue.running, queue.waiting) == (1, 2)
        second.cancel()
        first.cancel()
        third.cancel()
        for task in (first, second, third):
            with suppress(asyncio.CancelledError):
                await task
        assert (queue.running, queue.waiting) == (0, 0)
        over.set()
        await asyncio.wait_for(work("d"), 1)

    asyncio.run(scenario())


def test_at_the_end_everybody_is_let_in() -> None:
    """An open queue has places for all, those that come later too."""

    async def scenario() -> int:
        queue, over = FairQueue(1), asyncio.Event()

        async def work(name: str) -> None:
            async with queue.turn(name, name, 5):
                await over.wait()

        tasks = [asyncio.create_task(work(name)) for name in "abc"]
        await asyncio.sleep(0)
        queue.open()
        tasks.append(asyncio.create_task(work("d")))
        await asyncio.sleep(0)
        running = queue.running
        over.set()
        await asyncio.gather(*tasks)
        return running

    assert asyncio.run(scenario()) == 4
