"""Reports on kept grammars are made once each, by one thread, and go with the grammar."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from grammar_cache import CompiledGrammar, Constraint, Vocabulary, compile_grammar
from grammar_cache.analysis.report import Report
from grammar_cache.analysis.report import report as made
from server.grammars import reports as module
from server.grammars.reports import Reports

VOCABULARY = Vocabulary([b"a", b"b", None], [2])


def test_a_report_is_made_once_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests at the same time get the report that the first of them has asked for; another grammar has its own."""
    threads: list[int] = []

    def report(constraint: Constraint, grammar: CompiledGrammar) -> Report:
        threads.append(threading.get_ident())
        return made(constraint, grammar)

    monkeypatch.setattr(module, "report", report)
    one, other = Constraint("regex", "a|b"), Constraint("regex", "a*")
    grammar, another = compile_grammar(one, VOCABULARY), compile_grammar(other, VOCABULARY)
    known = Reports()

    async def asked() -> tuple[Report, Report, Report]:
        return await asyncio.gather(known.of(one, grammar), known.of(other, another), known.of(one, grammar))

    try:
        found = asyncio.run(asked())
        assert [told.finite for told in found] == [True, False, True]
        assert found[2] is found[0]
        assert len(threads) == 2 and len(set(threads)) == 1
    finally:
        known.close()


def test_a_report_goes_with_its_grammar() -> None:
    """No report is kept of a grammar that isn't."""
    known = Reports()
    try:
        constraint = Constraint("regex", "a|b")
        grammar = compile_grammar(constraint, VOCABULARY)
        asyncio.run(known.of(constraint, grammar))
        assert len(known._known) == 1
        del grammar
        gc.collect()
        assert len(known._known) == 0
    finally:
        known.close()
