"""Waits that are ended from outside, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from server.interrupts import Interrupted, Interrupts


def test_waits_end_when_they_are_interrupted() -> None:
    """Waits under way end, and those to come."""

    async def wait(interrupts: Interrupts) -> None:
        async with interrupts.scope():
            await asyncio.Event().wait()

    async def test() -> None:
        interrupts = Interrupts()
        waiting = [asyncio.create_task(wait(interrupts)) for _ in range(3)]
        await asyncio.sleep(0)
        interrupts.fire()
        found = await asyncio.gather(*waiting, wait(interrupts), return_exceptions=True)
        assert [type(error) for error in found] == [Interrupted] * 4

    asyncio.run(test())


def test_others_limits_and_ends_stay_what_they_are() -> None:
    """A limit inside, a cancellation from outside, a result."""

    async def test() -> None:
        interrupts = Interrupts()
        with pytest.raises(TimeoutError):
            async with interrupts.scope(), asyncio.timeout(0):
                await asyncio.Event().wait()
        async with interrupts.scope():
            await asyncio.sleep(0)
        task = asyncio.create_task(_hold(interrupts))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(test())


async def _hold(interrupts: Interrupts) -> None:
    async with interrupts.scope():
        await asyncio.Event().wait()
