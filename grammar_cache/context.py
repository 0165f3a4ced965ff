"""Lexer contexts: which watches are on, as one integer.

Where a lexeme has ended, its watch goes on beside whatever follows (see `lexeme`). A context is the set of watches
that are on; it belongs to an item, since another reading of the same text has ended other lexemes elsewhere. Context 0
has none, and is the only one in grammars without a lexer. This module knows no stack.
"""

from __future__ import annotations

from grammar_cache.lexeme import FATAL, HARMLESS
from grammar_cache.network import Network

Watches = tuple[int, ...]


class Contexts:
    """Interned as they are met."""

    def __init__(self, network: Network) -> None:
        self._table: list[list[int]] = network.watches.tolist()
        self._ends = network.watch_ends
        self._closes = network.closes
        self._numbers: dict[Watches, int] = {(): 0}
        self._members: list[Watches] = [()]
        self._may_end = [True]
        self._stepped: dict[tuple[int, int], int] = {}
        self._closed: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._members)

    def step(self, context: int, byte_class: int) -> int:
        """The context after a byte, or FATAL if a lexeme would have ended elsewhere."""
        if not context:
            return 0
        key = (context, byte_class)
        after = self._stepped.get(key)
        if after is None:
            found = {self._table[watch][byte_class] for watch in self._members[context]}
            after = FATAL if FATAL in found else self._number(found)
            self._stepped[key] = after
        return after

    def closed(self, context: int, state: int) -> int:
        """The context after a rule has ended in a state; only where lexemes end does it change."""
        watch = self._closes[state]
        if watch == HARMLESS:
            return context
        key = (context, watch)
        after = self._closed.get(key)
        if after is None:
            after = self._number({*self._members[context], watch})
            self._closed[key] = after
        return after

    def may_end(self, context: int) -> bool:
        """Whether the text may be over here."""
        return self._may_end[context]

    def _number(self, watches: set[int]) -> int:
        members = tuple(sorted(watches - {HARMLESS}))
        number = self._numbers.get(members)
        if number is None:
            number = len(self._members)
            self._numbers[members] = number
            self._members.append(members)
            self._may_end.append(all(self._ends[watch] for watch in members))
        return number
