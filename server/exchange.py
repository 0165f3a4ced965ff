"""What searches of one grammar find, from this process to others and from them to here.

Three threads meet: whoever may wait for the store brings what is new, the decoding thread, which owns the grammar's
tables, takes it in and gives its own, and the event loop only asks whether it is time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from time import monotonic

from grammar_cache import CompiledGrammar
from grammar_cache.claims import Claim
from grammar_cache.store.sharing import SharedGrammars

REFRESH_SECONDS = 5.0
"""Between two looks for what others have found."""


class Exchange:
    """Of a grammar that has just come out of the store, or goes there."""

    def __init__(
        self,
        shared: SharedGrammars,
        grammar_id: str,
        grammar: CompiledGrammar,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._shared = shared
        self._grammar_id = grammar_id
        self._grammar = grammar
        self._clock = clock
        self._next = clock() + REFRESH_SECONDS
        self._entries = 0
        self._brought: SimpleQueue[Mapping[bytes, Claim]] = SimpleQueue()

    def due(self) -> bool:
        """Whether to `bring` now. One caller is told so at a time."""
        now = self._clock()
        if now < self._next:
            return False
        self._next = now + REFRESH_SECONDS
        return True

    def bring(self) -> None:
        """Looks for what is new. Waits for the store, no longer than its time limits."""
        news = self._shared.news(self._grammar_id, self._entries)
        self._entries = news.entries
        if news.claims:
            self._brought.put(news.claims)

    def take(self) -> None:
        """Offers what was brought to the grammar. The decoding thread calls it; it doesn't wait."""
        while True:
            try:
                self._grammar.offer(self._brought.get_nowait())
            except Empty:
                return

    def give(self) -> None:
        """Tells others what was found since the last time. The decoding thread calls it; it doesn't wait."""
        self._shared.tell(self._grammar_id, self._grammar)
