"""Several streams as one: order, errors, ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from server.merging import merged


class Streams:
    """Streams that count, and know which of them were closed."""

    def __init__(self) -> None:
        self.closed: set[int] = set()

    async def count(self, name: int, steps: int, *, fail: bool = False) -> AsyncGenerator[int]:
        try:
            for step in range(steps):
                await asyncio.sleep(0)
                yield step
            if fail:
                raise ValueError(str(name))
        finally:
            self.closed.add(name)


@pytest.mark.parametrize("lengths", [[3], [0], [2, 0, 5], [1] * 20])
def test_everything_comes_in_each_streams_order(lengths: list[int]) -> None:
    streams = Streams()

    async def collect() -> list[tuple[int, int]]:
        return [event async for event in merged([streams.count(name, n) for name, n in enumerate(lengths)])]

    found = asyncio.run(collect())
    for name, length in enumerate(lengths):
        assert [step for number, step in found if number == name] == list(range(length))
    assert streams.closed == set(range(len(lengths)))


@pytest.mark.parametrize("others", [[], [1000], [1000, 0, 1000]])
def test_an_error_is_raised_and_ends_the_others(others: list[int]) -> None:
    streams = Streams()

    async def collect() -> None:
        failing = streams.count(0, 2, fail=True)
        waiting = [streams.count(name, n) for name, n in enumerate(others, start=1)]
        async for _ in merged([failing, *waiting]):
            assert 0 not in streams.closed or len(streams.closed) <= 2

    async def closed() -> set[int]:
        with pytest.raises(ValueError, match="0"):
            await collect()
        return set(streams.closed)  # at once, not when somebody collects garbage

    assert asyncio.run(closed()) == set(range(len(others) + 1))


@pytest.mark.parametrize("lengths", [[9], [9, 9, 9]])
def test_closing_it_closes_them(lengths: list[int]) -> None:
    streams = Streams()

    async def take(count: int) -> None:
        async with aclosing(merged([streams.count(name, n) for name, n in enumerate(lengths)])) as events:
            async for _ in events:
                count -= 1
                if not count:
                    break

    asyncio.run(take(4))
    assert streams.closed == set(range(len(lengths)))
