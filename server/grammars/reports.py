"""Reports on kept grammars: made one at a time, as they hold the interpreter, and known as long as the grammar is."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakKeyDictionary

from grammar_cache import CompiledGrammar, Constraint
from grammar_cache.analysis.report import Report, report


class Reports:
    """Reports by grammar. One thread of its own makes them, and alone touches them."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[CompiledGrammar, Report] = WeakKeyDictionary()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="swyb-report")

    async def of(self, constraint: Constraint, grammar: CompiledGrammar) -> Report:
        """Report on a constraint and what it compiled to."""
        return await asyncio.wrap_future(self._thread.submit(self._made, constraint, grammar))

    def close(self) -> None:
        """Makes nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _made(self, constraint: Constraint, grammar: CompiledGrammar) -> Report:
        known = self._known.get(grammar)
        if known is None:
            known = self._known[grammar] = report(constraint, grammar)
        return known
