"""Distances computed offline, on request: for all who share a store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Event
from typing import cast

from grammar_cache import CompiledGrammar, Constraint
from grammar_cache.store.sharing import SharedGrammars
from server.grammars.compiled import Certified
from server.settings import Settings
from tests.server.grammars.test_compiled import make
from tests.server.grammars.test_named import listing, register
from tests.server.grammars.test_sharing import redis, settings
from tests.server.running import Running, error_of, eventually, serving

__all__ = ["redis", "settings"]

NESTED = 'root ::= "a" mid "ue" | "c"\nmid ::= "b" root "tr"'
"""The token `true` ends two rules at once: each rule for itself needs more."""


def test_a_table_is_computed_for_all_who_share_the_store(settings: Settings) -> None:
    """Whoever opens the grammar from then on uses it and says so; answers are complete within every budget."""
    with serving(settings=settings) as first:
        before = first.chat(grammar=NESTED, max_tokens=9).json()["swyb"]
        told = register(first, name="nested", grammar=NESTED, precompute={"height": 6}).json()
        table = told["table"]
        assert table["height"] == 6 < table["entries"]
        assert (told["grammar_id"], before["table"]) == (before["grammar_id"], None)
        assert [each["table"] for each in listing(first)["data"]] == [table]
        database = first.service.database
        assert database is not None
        eventually(lambda: database.table(told["grammar_id"]) is not None)
        with serving(settings=settings) as second:
            for server in (first, second):
                for budget in range(1, 12):
                    body = server.chat(grammar={"name": "nested"}, max_tokens=budget, temperature=0).json()
                    assert body["swyb"]["table"] == table["name"]
                    assert body["usage"]["completion_tokens"] <= budget
                    text = body["choices"][0]["message"]["content"]
                    levels = text.count("ab")
                    assert text == "ab" * levels + "c" + "true" * levels
            assert second.service.grammars.compiled == 0


def test_a_table_without_entries_is_told(settings: Settings) -> None:
    """A regular language has no distance below the additive one: its table is empty, and told as in certificates."""
    with serving(settings=settings) as server:
        table = register(server, name="flat", regex="a(b|c){4}", precompute={"height": 2}).json()["table"]
        assert table["entries"] == 0
        assert [each["table"] for each in listing(server)["data"]] == [table]
        certified = server.client.post("/v1/certify", json={"grammar": {"name": "flat"}}).json()
        answer = server.chat(grammar={"name": "flat"}, max_tokens=9).json()
        assert (certified["table"], answer["swyb"]["table"]) == (table, table["name"])


def test_a_table_needs_a_store_and_has_its_limits(running: Running, settings: Settings) -> None:
    """A table that can't be kept for all isn't computed, and no client asks for hours of work."""
    refused = error_of(register(running, name="nested", grammar=NESTED, precompute={"height": 6}))
    assert (refused["code"], refused["param"]) == ("unsupported_parameter", "precompute")
    with serving(settings=settings) as server:
        for wrong in ({"height": -1}, {}, {"height": 1, "configurations": 10**6}, {"height": 1, "seconds": 1}):
            answer = register(server, name="nested", grammar=NESTED, precompute=wrong)
            assert (answer.status_code, error_of(answer)["param"].partition(".")[0]) == (400, "precompute")
        assert listing(server)["data"] == []


class _Slow:
    """A store that hands out what was compiled once it is `told` to, and keeps nothing."""

    def __init__(self, told: Event) -> None:
        self._told = told

    def get(self, name: str, make: Callable[[], CompiledGrammar], *_: object) -> tuple[CompiledGrammar, bool]:
        """The grammar, compiled here."""
        assert self._told.wait(10)
        return make(), False

    def keep_table(self, *_: object) -> None:
        """Keeps nothing."""


def test_a_grammar_that_is_compiled_meanwhile_does_not_replace_the_one_with_a_table() -> None:
    """Whoever has asked for the grammar before gets it without a table, and all who ask later have the table."""
    constraint, told = Constraint("gbnf", NESTED), Event()

    async def ask() -> tuple[Certified, Certified, Certified]:
        cache = make().of("", cast("SharedGrammars", _Slow(told)))
        try:
            before = asyncio.create_task(cache.get(constraint))
            await asyncio.sleep(0)
            tabled = await cache.precompute(constraint, 6, 1000)
            told.set()
            return await before, tabled, await cache.get(constraint)
        finally:
            cache.close()

    before, tabled, after = asyncio.run(ask())
    assert before.table is None
    assert after.grammar is tabled.grammar
    assert after.table is not None
