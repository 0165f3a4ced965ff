"""Exchange of what searches of a grammar find, from this process to others and from them to here.

Three threads meet: whoever may wait for the store brings what is new, the one that owns the grammar's tables takes it
in and gives its own, and the event loop only asks whether it is time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from time import monotonic

from grammar_cache import CompiledGrammar
from grammar_cache.distances.claims import Finding
from grammar_cache.store.database import News
from grammar_cache.store.sharing import SharedGrammars

REFRESH_SECONDS = 5.0
"""Between two looks for what others have found."""


class Exchange:
    """Exchange of a grammar that has just come out of the store, or goes there. `entries`: that were there at the last
    look.
    """

    def __init__(self, shared: SharedGrammars, grammar_id: str, grammar: CompiledGrammar) -> None:
        self._shared = shared
        self._grammar = grammar
        self._brought: SimpleQueue[Mapping[bytes, Finding]] = SimpleQueue()
        self.grammar_id = grammar_id
        self.entries = 0

    def bring(self, news: News) -> None:
        """Holds them for `take`."""
        self.entries = news.entries
        self._brought.put(news.claims)

    def take(self) -> Mapping[bytes, Finding]:
        """Offers what was brought since the last time to the grammar, and returns it for those that are made from it.

        Whoever owns the grammar's tables calls it; it doesn't wait.
        """
        brought: dict[bytes, Finding] = {}
        while True:
            try:
                brought |= self._brought.get_nowait()
            except Empty:
                self._grammar.offer(brought)
                return brought

    def give(self, *claims: Mapping[bytes, Finding]) -> None:
        """Tells others what the grammar's searches have found since the last time, and those elsewhere: their claims.

        Whoever owns the grammar's tables calls it; it doesn't wait.
        """
        for found in (self._grammar.learned(), *claims):
            self._shared.tell(self.grammar_id, found)


class Refresh:
    """Now and then, one look for all grammars that were used since the last one."""

    def __init__(self, shared: SharedGrammars, clock: Callable[[], float] = monotonic) -> None:
        self._shared = shared
        self._clock = clock
        self._next = clock() + REFRESH_SECONDS
        self._used: dict[str, Exchange] = {}

    def due(self, exchange: Exchange) -> list[Exchange]:
        """Notes a use, and says what to `bring` now: nothing, but for one caller at a time. The event loop calls it."""
        self._used[exchange.grammar_id] = exchange
        now = self._clock()
        if now < self._next:
            return []
        self._next = now + REFRESH_SECONDS
        due, self._used = list(self._used.values()), {}
        return due

    def bring(self, exchanges: Sequence[Exchange]) -> None:
        """Looks for what is new. Waits for the store, no longer than its time limits."""
        news = self._shared.news({exchange.grammar_id: exchange.entries for exchange in exchanges})
        for exchange in exchanges:
            if exchange.grammar_id in news:
                exchange.bring(news[exchange.grammar_id])
