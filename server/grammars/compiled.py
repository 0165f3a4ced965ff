"""Compiled grammars of the server: compiled once, off the event loop, and kept for the next request.

One event loop uses it. The compiling thread also searches the minimum and its witness, so that afterwards
only the decoding thread touches a grammar's tables. With a store, threads of another pool wait for it and for other
processes that compile; they hand work to the compiling threads. Cached grammars are bounded by count and by size;
running requests hold their grammars themselves. No `LruCache` serves: grammars in use grow, so that sizes are counted
anew when one is asked for. A refusal is not kept: it comes again, as cheaply as the first time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor, wait
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Literal, TypeAlias

from grammar_cache import CompiledGrammar, Constraint, Limits, Minimum, Vocabulary, compile_grammar
from grammar_cache.compile import constraint_id
from grammar_cache.interrupt import Interrupt
from grammar_cache.offline.distance_table import DistanceTable
from grammar_cache.offline.precompute import computed_table
from grammar_cache.offline.tabled_grammar import TabledGrammar
from grammar_cache.store.sharing import SharedGrammars
from server.grammars.exchange import Exchange, Refresh

Source: TypeAlias = Literal["hit", "miss", "shared"]
"""Source of a request's grammar: here, nowhere (it was compiled), or in the store."""

Place: TypeAlias = tuple[str, str]
"""Tenant, and id of its grammar."""

WAITING_THREADS = 32
"""Grammars that are looked for in the store, or waited for, at the same time."""
WAIT_SECONDS = 20.0
"""Seconds to wait for another process that compiles the same grammar; after that, this one does."""
LOOK_SECONDS = 0.1
"""Seconds between two looks of a thread that waits for a compiling one: whether anybody still wants the grammar."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Certified:
    """A grammar that is ready to decode, and what is known of it beforehand.

    `witness_text` is a shortest complete answer; None where no answer of this model can be that long.
    `compile_ms` is what compiling took, when that was, or loading; `source` is told to the request that asked.
    """

    grammar: CompiledGrammar
    grammar_id: str
    minimum: Minimum
    witness_text: str | None
    compile_ms: float
    source: Source
    exchange: Exchange | None = None

    @property
    def ignored(self) -> tuple[str, ...]:
        """Parts of the constraint that are not enforced."""
        return self.grammar.ignored

    @property
    def table(self) -> DistanceTable | None:
        """Distances that were computed offline."""
        return self.grammar.table if isinstance(self.grammar, TabledGrammar) else None

    @property
    def held_bytes(self) -> int:
        """Bytes that the grammar holds; those of a grammar in use grow."""
        return self.grammar.held_bytes


@dataclass(slots=True, eq=False)
class _Pending:
    """A grammar being compiled, and how many requests wait for it."""

    compiling: Future[Certified]
    result: asyncio.Future[Certified]
    interrupt: Interrupt
    waiting: int = 0


class Grammars:
    """The least recently used go first. `room`: bytes of all together. Each tenant has its own, `of` all."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        longest_answer: int,
        limits: Limits,
        count: int,
        room: int,
        threads: int,
    ) -> None:
        self._vocabulary = vocabulary
        self._longest_answer = longest_answer
        self._limits = limits
        self._count = count
        self._room = room
        self._tenant = ""
        self._shared: SharedGrammars | None = None
        self._refresh: Refresh | None = None
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="swyb-compile")
        self._waiters = ThreadPoolExecutor(WAITING_THREADS, thread_name_prefix="swyb-waiting")
        self._offline = ThreadPoolExecutor(1, thread_name_prefix="swyb-precompute")
        self._cached: OrderedDict[Place, Certified] = OrderedDict()
        self._pending: dict[Place, _Pending] = {}
        self._compiled: Counter[str] = Counter()

    def of(self, tenant: str, shared: SharedGrammars | None) -> Grammars:
        """Grammars of one tenant, in the same room: `shared` are those of its store."""
        own = copy(self)
        own._tenant, own._shared = tenant, shared
        own._refresh = None if shared is None else Refresh(shared)
        return own

    @property
    def compiled(self) -> int:
        """Number of grammars that were compiled for this tenant."""
        return self._compiled[self._tenant]

    @property
    def kept(self) -> int:
        """Number of cached grammars, of all tenants."""
        return len(self._cached)

    @property
    def held_bytes(self) -> int:
        """Bytes that cached grammars hold, of all tenants."""
        return sum(certified.held_bytes for certified in self._cached.values())

    @property
    def certified(self) -> list[Certified]:
        """Cached grammars of this tenant, the last used last."""
        return [certified for (tenant, _), certified in self._cached.items() if tenant == self._tenant]

    async def get(self, constraint: Constraint) -> Certified:
        """Raises GrammarError. Whoever asks for a grammar that is being compiled waits for that.

        One that was begun anew for want of room is handed out as it is now.
        """
        grammar_id = constraint_id(constraint, self._vocabulary)
        place = self._tenant, grammar_id
        known = self._cached.get(place)
        if known is not None and known.grammar.current is not known.grammar:
            known = self._cached[place] = replace(known, grammar=known.grammar.current)
        if known is not None:
            self._cached.move_to_end(place)
            self._shrink()
            if self._refresh is not None and known.exchange is not None:
                due = self._refresh.due(known.exchange)
                if due:
                    self._waiters.submit(self._refresh.bring, due).add_done_callback(_log_failure)
            return replace(known, source="hit")
        pending = self._pending.get(place) or self._begin(constraint, grammar_id)
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
                self._forget(place, pending)
            # A refusal has this frame in its traceback, and the future has the refusal: else they would hold each
            # other, and all that was compiled so far, until Python's collector of garbage comes by.
            del pending

    async def precompute(self, constraint: Constraint, height: int, most: int) -> Certified:
        """Computes a table of up to `most` configurations, for all who share the store, and uses it from now on.

        Needs a store. Raises GrammarError.
        """
        grammar_id, interrupt = constraint_id(constraint, self._vocabulary), Interrupt()
        computing = self._offline.submit(self._computed, constraint, grammar_id, height, most, interrupt)
        try:
            certified = await asyncio.wrap_future(computing)
        except asyncio.CancelledError:
            interrupt.set()
            raise
        place = self._tenant, grammar_id
        self._pending.pop(place, None)  # what is being compiled meanwhile has no table, and isn't to replace this one
        self._cached[place] = certified
        self._shrink()
        return certified

    def _computed(
        self, constraint: Constraint, grammar_id: str, height: int, most: int, interrupt: Interrupt
    ) -> Certified:
        assert self._shared is not None, "a table is for those who share it"
        begun = perf_counter()
        certified = self._compile(constraint, grammar_id, interrupt)  # the one that is kept is in use
        table = computed_table(certified.grammar, grammar_id, height, most, interrupt)
        self._shared.keep_table(grammar_id, table)
        tabled = TabledGrammar(certified.grammar, table)
        found = self._certified(tabled, grammar_id, begun, "miss")
        return replace(found, exchange=Exchange(self._shared, grammar_id, tabled))

    def close(self) -> None:
        """Compiles nothing more, and stops what is being compiled."""
        for pending in self._pending.values():
            pending.interrupt.set()
        for pool in (self._waiters, self._offline, self._threads):
            pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, constraint: Constraint, grammar_id: str) -> _Pending:
        interrupt = Interrupt()
        pool, work = (self._threads, self._compile) if self._shared is None else (self._waiters, self._obtain)
        compiling = pool.submit(work, constraint, grammar_id, interrupt)
        pending = _Pending(compiling, asyncio.wrap_future(compiling), interrupt)
        place = self._tenant, grammar_id
        self._pending[place] = pending
        pending.result.add_done_callback(partial(self._keep, place, pending))
        return pending

    def _obtain(self, constraint: Constraint, grammar_id: str, interrupt: Interrupt) -> Certified:
        """Grammar from the store, or compiled by another thread than this one, which may wait for long."""
        assert self._shared is not None, "without a store nobody waits"
        begun = perf_counter()
        made: Certified | None = None

        def make() -> CompiledGrammar:
            nonlocal made
            made = self._handed_over(constraint, grammar_id, interrupt)
            return made.grammar

        grammar, found = self._shared.get(grammar_id, make, WAIT_SECONDS, interrupt)
        if made is None or grammar is not made.grammar:  # it is another one, or has a table
            made = self._certified(grammar, grammar_id, begun, "shared" if found else "miss")
        return replace(made, exchange=Exchange(self._shared, grammar_id, grammar))

    def _handed_over(self, constraint: Constraint, grammar_id: str, interrupt: Interrupt) -> Certified:
        """Grammar compiled by another thread, which may be busy for long. Whom nobody waits for leaves before.

        Raises Interrupted.
        """
        compiling = self._threads.submit(self._compile, constraint, grammar_id, interrupt)
        try:
            while not wait((compiling,), LOOK_SECONDS).done:
                interrupt.check()
            return compiling.result()
        finally:
            compiling.cancel()

    def _compile(self, constraint: Constraint, grammar_id: str, interrupt: Interrupt) -> Certified:
        begun = perf_counter()
        interrupt.check()  # it may have waited for a thread
        grammar = compile_grammar(constraint, self._vocabulary, self._limits, interrupt)
        return self._certified(grammar, grammar_id, begun, "miss")

    def _certified(self, grammar: CompiledGrammar, grammar_id: str, begun: float, source: Source) -> Certified:
        minimum = grammar.minimum
        text = witness_text(grammar, self._longest_answer)
        spent = round((perf_counter() - begun) * 1000, 3)
        return Certified(grammar, grammar_id, minimum, text, spent, source)

    def _forget(self, place: Place, pending: _Pending) -> None:
        if self._pending.get(place) is pending:
            del self._pending[place]

    def _keep(self, place: Place, pending: _Pending, done: asyncio.Future[Certified]) -> None:
        awaited = self._pending.get(place) is pending
        self._forget(place, pending)
        if not done.cancelled() and done.exception() is None:
            known = done.result()
            self._compiled[place[0]] += known.source == "miss"
            if awaited:
                self._cached[place] = known
                self._shrink()

    def _shrink(self) -> None:
        sizes = {name: certified.held_bytes for name, certified in self._cached.items()}
        total = sum(sizes.values())
        while self._cached and (len(self._cached) > self._count or total > self._room):
            name, _ = self._cached.popitem(last=False)
            total -= sizes[name]


def _log_failure(done: Future[None]) -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        _log.error("looking for what others have found has failed", exc_info=error)


def witness_text(grammar: CompiledGrammar, longest: int) -> str | None:
    """A shortest complete text; None if it has more tokens than that, as with `a{1000000000}`."""
    if grammar.minimum.tokens > longest:
        return None
    return grammar.vocabulary.text(grammar.witness(grammar.start)).decode(errors="replace")
