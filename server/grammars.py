"""Compiled grammars of the server: compiled once, off the event loop, and kept for the next request.

One event loop uses it. The compiling thread also searches the minimum and its witness, so that afterwards
only the decoding thread touches a grammar's tables. What is kept is bounded by count and by size; running
requests hold their grammars themselves. A refusal is not kept: it comes again, as cheaply as the first time.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

from grammar_cache import CompiledGrammar, Constraint, Limits, Minimum, Vocabulary, compile_grammar
from grammar_cache.compile import constraint_id
from grammar_cache.interrupt import Interrupt


@dataclass(frozen=True, slots=True, eq=False)
class Certified:
    """A grammar that is ready to decode, and what is known of it beforehand.

    `witness_text` is a shortest complete answer; None where no answer of this model can be that long.
    `compile_ms` is what compiling took, when that was; `cached` says that this request did not wait for it.
    """

    grammar: CompiledGrammar
    grammar_id: str
    minimum: Minimum
    witness_text: str | None
    compile_ms: float
    cached: bool

    @property
    def ignored(self) -> tuple[str, ...]:
        """What of the constraint is not enforced."""
        return self.grammar.ignored

    @property
    def states(self) -> int:
        """What it weighs: states and configurations; those of a grammar in use grow."""
        size = self.grammar.size
        return size["states"] + size["configurations"]


@dataclass(slots=True, eq=False)
class _Pending:
    """A grammar being compiled, and how many requests wait for it."""

    compiling: Future[Certified]
    result: asyncio.Future[Certified]
    interrupt: Interrupt
    waiting: int = 0


class Grammars:
    """The least recently used go first."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        longest_answer: int,
        limits: Limits,
        count: int,
        states: int,
        threads: int,
    ) -> None:
        self._vocabulary = vocabulary
        self._longest_answer = longest_answer
        self._limits = limits
        self._count = count
        self._states = states
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="swyb-compile")
        self._kept: OrderedDict[str, Certified] = OrderedDict()
        self._pending: dict[str, _Pending] = {}

    @property
    def kept(self) -> int:
        """How many are kept."""
        return len(self._kept)

    async def get(self, constraint: Constraint) -> Certified:
        """Raises GrammarError. Whoever asks for a grammar that is being compiled waits for that."""
        grammar_id = constraint_id(constraint, self._vocabulary)
        known = self._kept.get(grammar_id)
        if known is not None:
            self._kept.move_to_end(grammar_id)
            self._shrink()
            return replace(known, cached=True)
        pending = self._pending.get(grammar_id) or self._begin(constraint, grammar_id)
        pending.waiting += 1
        try:
            # The first to ask may go away while others wait.
            return await asyncio.shield(pending.result)
        finally:
            pending.waiting -= 1
            # Clients that come and go leave neither a queue nor work behind. Who asks next begins anew.
            if not pending.waiting and not pending.result.done():
                pending.interrupt.set()
                pending.compiling.cancel()
                self._forget(grammar_id, pending)

    def close(self) -> None:
        """Compiles nothing more, and stops what is being compiled."""
        for pending in self._pending.values():
            pending.interrupt.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, constraint: Constraint, grammar_id: str) -> _Pending:
        interrupt = Interrupt()
        compiling = self._threads.submit(self._compile, constraint, grammar_id, interrupt)
        pending = _Pending(compiling, asyncio.wrap_future(compiling), interrupt)
        self._pending[grammar_id] = pending
        pending.result.add_done_callback(partial(self._keep, grammar_id, pending))
        return pending

    def _compile(self, constraint: Constraint, grammar_id: str, interrupt: Interrupt) -> Certified:
        begun = perf_counter()
        grammar = compile_grammar(constraint, self._vocabulary, self._limits, interrupt)
        minimum = grammar.minimum
        text = witness_text(grammar, self._longest_answer)
        spent = round((perf_counter() - begun) * 1000, 3)
        return Certified(grammar, grammar_id, minimum, text, spent, cached=False)

    def _forget(self, grammar_id: str, pending: _Pending) -> None:
        if self._pending.get(grammar_id) is pending:
            del self._pending[grammar_id]

    def _keep(self, grammar_id: str, pending: _Pending, done: asyncio.Future[Certified]) -> None:
        self._forget(grammar_id, pending)
        if not done.cancelled() and done.exception() is None:
            self._kept[grammar_id] = done.result()
            self._shrink()

    def _shrink(self) -> None:
        sizes = {name: certified.states for name, certified in self._kept.items()}
        total = sum(sizes.values())
        while self._kept and (len(self._kept) > self._count or total > self._states):
            name, _ = self._kept.popitem(last=False)
            total -= sizes[name]


def witness_text(grammar: CompiledGrammar, longest: int) -> str | None:
    """A shortest complete text; None if it has more tokens than that, as with `a{1000000000}`."""
    if grammar.minimum.tokens > longest:
        return None
    return grammar.vocabulary.text(grammar.witness(grammar.start)).decode(errors="replace")
