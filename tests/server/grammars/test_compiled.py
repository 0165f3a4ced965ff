"""The cache of compiled grammars."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from grammar_cache import Constraint, GrammarSyntaxError, Limits, UnsupportedFeature, compile_grammar
from server.grammars import compiled as module
from server.grammars.compiled import Certified, Grammars
from tests.garbage import left_to_the_collector
from tests.server.running import VOCABULARY


def make(count: int = 8, room: int = 1 << 30, longest_answer: int = 100) -> Grammars:
    """A cache for the tests' vocabulary."""
    return Grammars(
        VOCABULARY,
        longest_answer=longest_answer,
        limits=Limits(),
        count=count,
        room=room,
        threads=2,
    )


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of all grammars that were compiled, in order."""
    seen: list[str] = []

    def counting(constraint: Constraint, *rest: Any) -> Any:
        seen.append(constraint.text)
        return compile_grammar(constraint, *rest)

    monkeypatch.setattr(module, "compile_grammar", counting)
    return seen


def regex(text: str) -> Constraint:
    """A constraint."""
    return Constraint("regex", text)


async def _all(cache: Grammars, *texts: str) -> list[Certified]:
    try:
        return [await cache.get(regex(text)) for text in texts]
    finally:
        cache.close()


def test_a_grammar_is_compiled_once(compiled: list[str]) -> None:
    """The second request gets the same grammar, and is told that it was kept."""
    first, second = asyncio.run(_all(make(), "[ab]{3}", "[ab]{3}"))
    assert (first.source, second.source) == ("miss", "hit")
    assert second.grammar is first.grammar
    assert compiled == ["[ab]{3}"]


def test_a_grammar_that_was_begun_anew_is_handed_out(compiled: list[str]) -> None:
    """A grammar that a request has begun anew for want of room is what the next one gets; nothing is compiled."""

    async def meanwhile() -> tuple[Certified, Certified, Certified]:
        cache = make()
        try:
            first = await cache.get(regex("[ab]{3}"))
            table = first.grammar._configurations
            table.limit = table.count
            _ = first.grammar.renewed()
            second = await cache.get(regex("[ab]{3}"))
            return first, second, await cache.get(regex("[ab]{3}"))
        finally:
            cache.close()

    first, second, third = asyncio.run(meanwhile())
    assert (first.grammar.full, second.grammar.full) == (True, False)
    assert third.grammar is second.grammar is first.grammar.renewed()
    assert [one.source for one in (first, second, third)] == ["miss", "hit", "hit"]
    assert compiled == ["[ab]{3}"]


def test_options_are_part_of_what_is_kept() -> None:
    """Schemas with other whitespace are other grammars."""

    async def both() -> tuple[Certified, Certified]:
        cache = make()
        try:
            loose = await cache.get(Constraint("json_schema", '{"const": [1]}', whitespace="any"))
            return loose, await cache.get(Constraint("json_schema", '{"const": [1]}', whitespace="compact"))
        finally:
            cache.close()

    loose, compact = asyncio.run(both())
    assert loose.grammar_id != compact.grammar_id
    assert compact.source == "miss"


def test_what_is_known_beforehand() -> None:
    """The minimum and a shortest answer are there before any decoding."""
    [known] = asyncio.run(_all(make(), "(the quick|the quick name)!"))
    assert (known.minimum.tokens, known.minimum.exact) == (3, True)
    assert known.witness_text == "the quick!"


def test_a_witness_that_no_answer_can_hold_is_not_made() -> None:
    """A language whose shortest text is longer than the context window has a minimum, but no example."""
    [known] = asyncio.run(_all(make(longest_answer=100), "x{101}"))
    assert (known.minimum.tokens, known.witness_text) == (101, None)


def test_concurrent_requests_share_one_compilation(compiled: list[str]) -> None:
    """Whoever asks while a grammar is compiled waits for it, also if the first one goes away."""

    async def ask() -> tuple[Certified, Certified]:
        cache = make()
        try:
            first = asyncio.create_task(cache.get(regex("[ab]{4}")))
            others = [asyncio.create_task(cache.get(regex("[ab]{4}"))) for _ in range(2)]
            await asyncio.sleep(0)
            first.cancel()
            one, two = await asyncio.gather(*others)
            return one, two
        finally:
            cache.close()

    one, two = asyncio.run(ask())
    assert one.grammar is two.grammar
    assert compiled == ["[ab]{4}"]


def test_compiling_leaves_the_event_loop_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a grammar is compiled, the event loop goes on."""
    goes_on = threading.Event()

    def blocked(*arguments: Any) -> Any:
        assert goes_on.wait(10)
        return compile_grammar(*arguments)

    monkeypatch.setattr(module, "compile_grammar", blocked)

    async def ask() -> Certified:
        cache = make()
        try:
            task = asyncio.create_task(cache.get(regex("a")))
            await asyncio.sleep(0.01)
            goes_on.set()
            return await task
        finally:
            cache.close()

    assert asyncio.run(ask()).source == "miss"


def test_the_count_is_bounded(compiled: list[str]) -> None:
    """The least recently used grammar goes first."""
    cache = make(count=2)
    asyncio.run(_all(cache, "a", "b", "a", "c", "a", "b"))
    assert cache.kept == 2
    assert compiled == ["a", "b", "c", "b"]


def test_the_size_is_bounded() -> None:
    """Grammars that weigh more than all kept ones may are dropped, even the newest."""
    cache = make(room=1)
    assert asyncio.run(_all(cache, "[ab]{9}"))[0].held_bytes > 1
    assert cache.kept == 0


def test_a_grammar_that_has_grown_counts_with_its_growth() -> None:
    """Bytes that decoding adds to a kept grammar count when the cache is next used."""

    async def grow() -> tuple[int, int]:
        cache = make(room=1_000_000)
        try:
            [grown] = [await cache.get(regex("[a-z]{1,20000}"))]
            await cache.get(regex("a"))
            before = cache.kept
            grown.grammar.consume_bytes(grown.grammar.start, b"a" * 19_000)
            await cache.get(regex("b"))
            return before, cache.kept
        finally:
            cache.close()

    assert asyncio.run(grow()) == (2, 2)


def test_a_refusal_is_not_kept(compiled: list[str]) -> None:
    """A bad grammar is refused each time, and leaves nothing behind."""

    async def twice() -> int:
        cache = make()
        try:
            for _ in range(2):
                with pytest.raises(GrammarSyntaxError):
                    await cache.get(regex("("))
            return cache.kept
        finally:
            cache.close()

    assert asyncio.run(twice()) == 0
    assert compiled == ["(", "("]


def test_a_refusal_leaves_nothing_to_the_collector() -> None:
    """All that was compiled until then goes with the error, which holds it by its traceback."""

    async def refused(cache: Grammars) -> None:
        with pytest.raises(UnsupportedFeature):
            await cache.get(Constraint("json_schema", '{"minItems": 65, "uniqueItems": true}'))

    def asked() -> None:
        cache = make()
        try:
            asyncio.run(refused(cache))
        finally:
            cache.close()

    assert not left_to_the_collector(asked)


def test_nobody_waits_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that go away before their grammar's turn leave no work behind, and may come again."""
    goes_on = threading.Event()
    begun: list[str] = []

    def blocked(constraint: Constraint, *rest: Any) -> Any:
        begun.append(constraint.text)
        assert goes_on.wait(10)
        return compile_grammar(constraint, *rest)

    monkeypatch.setattr(module, "compile_grammar", blocked)

    async def ask() -> Certified:
        cache = make()
        try:
            tasks = [asyncio.create_task(cache.get(regex(text))) for text in "abcdefgh"]
            while len(begun) < 2:
                await asyncio.sleep(0.001)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            again = asyncio.create_task(cache.get(regex("h")))
            await asyncio.sleep(0.01)
            goes_on.set()
            return await again
        finally:
            cache.close()

    assert asyncio.run(ask()).witness_text == "h"
    assert sorted(begun) == ["a", "b", "h"]  # two threads had begun
