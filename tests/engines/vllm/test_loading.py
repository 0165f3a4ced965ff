"""Grammars are sent once, before they are used, and none that is used goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import pytest

from grammar_cache import CompiledGrammar, Constraint, Limits, Vocabulary, compile_grammar
from grammar_cache.artefact import from_bytes
from server.engines.vllm.loading import LoadedGrammars

VOCABULARY = Vocabulary([b"a", b"b", b"c"], [3])
T = TypeVar("T")


def grammar(text: str) -> CompiledGrammar:
    return compile_grammar(Constraint("regex", text), VOCABULARY)


class Workers:
    """What the workers hold, and every call in its order. `gate`: calls wait for it."""

    def __init__(self) -> None:
        self.held: dict[str, CompiledGrammar] = {}
        self.calls: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.failing = False

    async def call(self, method: str, key: str, data: bytes = b"", limits: Mapping[str, int] | None = None) -> None:
        self.calls.append(method)
        await self.gate.wait()
        if self.failing:
            raise RuntimeError("no")
        if method == "drop_grammar":
            del self.held[key]
        else:
            self.held[key] = from_bytes(data, VOCABULARY, Limits(**(limits or {})))


def of_loop(test: Callable[[Workers], Coroutine[Any, Any, T]]) -> T:
    async def run() -> T:
        return await test(Workers())

    return asyncio.run(run())


def test_a_grammar_is_sent_once_for_all_who_wait() -> None:
    """Requests that come while it is being sent wait for that; later ones don't send it again."""

    async def test(workers: Workers) -> None:
        loaded = LoadedGrammars(workers.call, 4)
        shared = grammar("a+b")
        workers.gate.clear()

        async def use() -> str:
            async with loaded.loaded(shared) as key:
                assert workers.held[key].minimum == shared.minimum
                return key

        waiting = [asyncio.create_task(use()) for _ in range(3)]
        while not workers.calls:
            await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        workers.gate.set()
        assert len({*await asyncio.gather(*waiting), await use()}) == 1
        assert workers.calls == ["load_grammar"]

    of_loop(test)


def test_the_least_recently_used_goes_first_and_none_in_use() -> None:
    async def test(workers: Workers) -> None:
        loaded = LoadedGrammars(workers.call, 2)
        first, second, third, fourth = (grammar(text) for text in ("a", "b", "c", "ab"))
        async with loaded.loaded(first) as used:
            for other in (second, third):
                async with loaded.loaded(other):
                    pass
            assert len(workers.held) == 2
            assert used in workers.held
        async with AsyncExitStack() as stack:
            keys = [await stack.enter_async_context(loaded.loaded(each)) for each in (first, second, third, fourth)]
            assert set(keys) <= set(workers.held)  # more than the bound, but all in use
        async with loaded.loaded(first):
            pass
        async with loaded.loaded(grammar("bc")):
            pass
        assert len(workers.held) == 2

    of_loop(test)


def test_a_load_that_failed_is_tried_again() -> None:
    async def test(workers: Workers) -> None:
        loaded = LoadedGrammars(workers.call, 2)
        one = grammar("a")
        workers.failing = True
        with pytest.raises(RuntimeError, match="no"):
            async with loaded.loaded(one):
                raise AssertionError("it isn't there")
        workers.failing = False
        async with loaded.loaded(one) as key:
            assert key in workers.held

    of_loop(test)


def test_who_goes_away_takes_nothing_from_those_who_wait() -> None:
    async def test(workers: Workers) -> None:
        loaded = LoadedGrammars(workers.call, 2)
        one = grammar("a")
        workers.gate.clear()

        async def use() -> str:
            async with loaded.loaded(one) as key:
                return key

        first, second = asyncio.create_task(use()), asyncio.create_task(use())
        while not workers.calls:
            await asyncio.sleep(0)
        first.cancel()
        workers.gate.set()
        assert await second in workers.held
        assert first.cancelled()

    of_loop(test)
