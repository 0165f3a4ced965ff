"""Lexer contexts: what of the lexemes read so far still matters to what may follow, as one integer.

Where a lexeme has ended, its watch goes on beside whatever follows (see `lexeme`). A context belongs to an item, since
another reading of the same text has ended other lexemes elsewhere. Context 0 is that of grammars without a lexer. This
module knows no stack.
"""

from __future__ import annotations

from dataclasses import dataclass

from grammar_cache.lexeme import DEAD, FATAL, HARMLESS
from grammar_cache.network.network import Network


@dataclass(frozen=True, slots=True)
class Context:
    """`watches` that are on, ascending; `lexer`: the automaton of a contextual lexer that is in force, or -1.

    `label`: the terminal that it has just closed, which the return has to be open to, or -1.
    """

    watches: tuple[int, ...] = ()
    lexer: int = -1
    label: int = -1


class Contexts:
    """Interned as they are met; `start` is that of the empty text."""

    def __init__(self, network: Network) -> None:
        self._table: list[list[int]] = network.watched.watches.tolist()
        self._ends = network.watched.ends
        self._closes = network.watched.closes
        self._labels = network.watched.labels
        self._numbers = {Context(): 0}
        self._members = [Context()]
        self._may_end = [True]
        self._stepped: dict[tuple[int, int], int] = {}
        self.start = self._number(Context(lexer=network.lexer_start))

    def lexer(self, context: int) -> int:
        """The automaton of the contextual lexer that is in force."""
        return self._members[context].lexer

    def described(self, context: int) -> bytes:
        """Content of a context as bytes: the same in every process."""
        of = self._members[context]
        return b"".join(number.to_bytes(4, "big", signed=True) for number in (of.lexer, of.label, *of.watches))

    def may_end(self, context: int) -> bool:
        """Whether the text may be over here."""
        return self._may_end[context]

    def step(self, context: int, byte_class: int) -> int:
        """The context after a byte, or FATAL if a lexeme would have ended elsewhere."""
        key = (context, byte_class)
        after = self._stepped.get(key)
        if after is None:
            before = self._members[context]
            found = {self._table[watch][byte_class] for watch in before.watches}
            after = FATAL if FATAL in found else self._number(Context(_on(found), before.lexer))
            self._stepped[key] = after
        return after

    def closed(self, context: int, state: int) -> int:
        """The context after a rule has ended in a state; only where lexemes end does it change."""
        watch, label = self._closes[state], self._labels[state]
        if watch == HARMLESS and label < 0:
            return context
        before = self._members[context]
        return self._number(Context(_on({*before.watches, watch}), before.lexer, label))

    def shifted(self, context: int, label: int, lexer: int | None) -> int:
        """The context behind a return that is open to a terminal; DEAD if another one has closed."""
        before = self._members[context]
        if before.label != label:
            return DEAD
        return self._number(Context(before.watches, before.lexer if lexer is None else lexer))

    def _number(self, context: Context) -> int:
        number = self._numbers.get(context)
        if number is None:
            number = len(self._members)
            self._numbers[context] = number
            self._members.append(context)
            self._may_end.append(all(self._ends[watch] for watch in context.watches))
        return number


def _on(watches: set[int]) -> tuple[int, ...]:
    return tuple(sorted(watches - {HARMLESS}))
