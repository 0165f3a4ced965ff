"""An engine that fails is started anew, so often and no more; stopping leaves none behind."""

from __future__ import annotations

import asyncio
import logging

import pytest

from server.backends.backend import State
from server.backends.vllm.frontend.supervision import Patience, Supervisor

AT_ONCE = Patience(pauses=(0.0, 0.0))


class Engine:
    def __init__(self) -> None:
        self.failed = asyncio.Event()
        self.closed = False

    async def until_ended(self) -> None:
        await self.failed.wait()

    async def close(self) -> None:
        self.closed = True


class Maker:
    """Starts engines; the starts numbered in `failing`, from 0, fail."""

    def __init__(self, *failing: int) -> None:
        self.made: list[Engine] = []
        self.starts = 0
        self.failing = failing

    async def __call__(self) -> Engine:
        self.starts += 1
        if self.starts - 1 in self.failing:
            raise RuntimeError("it doesn't start")
        self.made.append(Engine())
        return self.made[-1]


async def reaches(supervisor: Supervisor[Engine], state: State) -> None:
    async with asyncio.timeout(5):
        while supervisor.state is not state:
            await asyncio.sleep(0)


def test_an_engine_that_fails_is_started_anew() -> None:
    """An engine that fails runs nothing until it is started anew, and the state says so; after the last restart nothing
    more is tried.
    """

    async def test() -> None:
        maker = Maker()
        supervisor = Supervisor(maker, AT_ONCE)
        first = supervisor.state
        assert first is State.STARTING
        supervisor.start()
        for number in range(3):
            await reaches(supervisor, State.READY)
            assert supervisor.running is maker.made[number]
            maker.made[number].failed.set()
            await reaches(supervisor, State.RESTARTING if number < 2 else State.FAILED)
            assert supervisor.running is None
        assert [engine.closed for engine in maker.made] == [True] * 3
        await supervisor.stop()
        assert supervisor.state is State.STOPPED

    asyncio.run(test())


def test_a_first_start_that_fails_is_final(caplog: pytest.LogCaptureFixture) -> None:
    """A first start that fails is the fault of the model or its options: trying again changes nothing."""

    async def test() -> None:
        maker = Maker(0)
        supervisor = Supervisor(maker, AT_ONCE)
        supervisor.start()
        await reaches(supervisor, State.FAILED)
        assert maker.starts == 1

    with caplog.at_level(logging.ERROR):
        asyncio.run(test())
    assert "it doesn't start" in caplog.text


def test_a_restart_that_fails_is_tried_again() -> None:
    async def test() -> None:
        maker = Maker(1)
        supervisor = Supervisor(maker, AT_ONCE)
        supervisor.start()
        await reaches(supervisor, State.READY)
        maker.made[0].failed.set()
        await reaches(supervisor, State.RESTARTING)
        await reaches(supervisor, State.READY)
        assert (maker.starts, len(maker.made)) == (3, 2)
        await supervisor.stop()

    asyncio.run(test())


def test_an_engine_that_lasted_begins_a_new_row() -> None:
    async def test() -> None:
        maker = Maker()
        supervisor = Supervisor(maker, Patience(pauses=(0.0,), stable=0.0))
        supervisor.start()
        for number in range(4):
            await reaches(supervisor, State.READY)
            maker.made[number].failed.set()
            await reaches(supervisor, State.RESTARTING)
        await supervisor.stop()

    asyncio.run(test())


def test_stopping_while_it_starts_cancels_the_start() -> None:
    """However long a model takes to load."""

    async def test() -> None:
        begun = asyncio.Event()

        async def slow() -> Engine:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError("it never starts")

        supervisor = Supervisor(slow, AT_ONCE)
        supervisor.start()
        await begun.wait()
        async with asyncio.timeout(5):
            await supervisor.stop()
        assert supervisor.state is State.STOPPED

    asyncio.run(test())
