"""Grammars are sent once, before they are used, and none that is used goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from grammar_cache import CompiledGrammar, Constraint, Vocabulary, compile_grammar
from server.backends.vllm.frontend.loading import LoadedGrammars
from server.backends.vllm.worker.registry import Registry
from tests.server.backends.vllm.fakes import no_split
from tests.server.backends.vllm.worker.test_extension import v2, worker

VOCABULARY = Vocabulary([b"a", b"b", b"c"], [3])
T = TypeVar("T")


def grammar(text: str) -> CompiledGrammar:
    return compile_grammar(Constraint("regex", text), VOCABULARY)


class Workers:
    """Two ranks, and every call in its order. `gate`: calls wait for it."""

    def __init__(self, vocabulary: Vocabulary = VOCABULARY) -> None:
        self.registries = [Registry(vocabulary, no_split) for _ in range(2)]
        self.calls: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.failing = False

    async def call(self, method: str, *arguments: object) -> list[Any]:
        self.calls.append(method)
        await self.gate.wait()
        if self.failing:
            raise RuntimeError("no")
        return [getattr(worker(v2(SimpleNamespace(registry=each))), method)(*arguments) for each in self.registries]

    @property
    def held(self) -> Mapping[str, CompiledGrammar]:
        """Grammars that every rank has."""
        one, other = (registry.grammars for registry in self.registries)
        assert one.keys() == other.keys()
        return one


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
            async with loaded.loaded(shared, None) as key:
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
        async with loaded.loaded(first, None) as used:
            for other in (second, third):
                async with loaded.loaded(other, None):
                    pass
            assert len(workers.held) == 2
            assert used in workers.held
        async with AsyncExitStack() as stack:
            keys = [
                await stack.enter_async_context(loaded.loaded(each, None)) for each in (first, second, third, fourth)
            ]
            assert set(keys) <= set(workers.held)  # more than the bound, but all in use
        async with loaded.loaded(first, None):
            pass
        async with loaded.loaded(grammar("bc"), None):
            pass
        assert len(workers.held) == 2

    of_loop(test)


def test_grammars_that_make_room_at_once() -> None:
    """Two that come while a third is asked for: none is dropped twice, and none that came into use meanwhile."""

    async def test(workers: Workers) -> None:
        loaded = LoadedGrammars(workers.call, 2)
        first, second, third, fourth = (grammar(text) for text in ("a", "b", "c", "ab"))

        async def use(one: CompiledGrammar, turns: int) -> None:
            async with loaded.loaded(one, None) as key:
                for _ in range(turns):
                    assert key in workers.held
                    await asyncio.sleep(0.001)

        await use(first, 1)
        await use(second, 1)
        workers.gate.clear()
        asked = [asyncio.create_task(use(one, 30)) for one in (third, fourth)]
        while "drop_grammar" not in workers.calls:
            await asyncio.sleep(0)
        asked += [asyncio.create_task(use(one, 30)) for one in (second, first)]
        await asyncio.sleep(0.01)
        workers.gate.set()
        await asyncio.gather(*asked)
        await use(grammar("bc"), 1)
        assert len(workers.held) == 2

    of_loop(test)


def test_a_load_that_failed_is_tried_again() -> None:
    async def test(workers: Workers) -> None:
        loaded = LoadedGrammars(workers.call, 2)
        one = grammar("a")
        workers.failing = True
        with pytest.raises(RuntimeError, match="no"):
            async with loaded.loaded(one, None):
                raise AssertionError("it isn't there")
        workers.failing = False
        async with loaded.loaded(one, None) as key:
            assert key in workers.held

    of_loop(test)


def test_who_goes_away_takes_nothing_from_those_who_wait() -> None:
    async def test(workers: Workers) -> None:
        loaded = LoadedGrammars(workers.call, 2)
        one = grammar("a")
        workers.gate.clear()

        async def use() -> str:
            async with loaded.loaded(one, None) as key:
                return key

        first, second = asyncio.create_task(use()), asyncio.create_task(use())
        while not workers.calls:
            await asyncio.sleep(0)
        first.cancel()
        workers.gate.set()
        assert await second in workers.held
        assert first.cancelled()

    of_loop(test)
