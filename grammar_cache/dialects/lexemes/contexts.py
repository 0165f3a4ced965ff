"""Lexer contexts: what of the lexemes read so far still matters to what may follow, as one integer.

Where a lexeme has ended, its watch goes on beside whatever follows (see `lexeme`). The watches that are on are a
context; another reading of the same text has ended other lexemes elsewhere, and is in another one. Watches that forbid
alike are one watch, and one that forbids less than another beside it is left out, so that contexts are few.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from grammar_cache.automata.partition import stable_blocks
from grammar_cache.dialects.lexemes.lexeme import FATAL, HARMLESS, Lexeme
from grammar_cache.errors import LimitExceeded

FREE = 0
"""The context in which no watch is on."""
MOST = 500
"""Contexts of one grammar: each set of watches may be one, so they can double with every terminal. Published grammars
have 60 at most.
"""


class Contexts:
    """Contexts of a set of lexemes, numbered as they are met. One too many raises LimitExceeded(states)."""

    def __init__(self, lexemes: Iterable[Lexeme]) -> None:
        self._lexemes = list({id(lexeme): lexeme for lexeme in lexemes}.values())  # kept alive: they are known by id
        self._table, self._ends, block = _distinct(self._lexemes)
        self._block: dict[int, NDArray[np.int32]] = {}
        offset = 0
        for lexeme in self._lexemes:
            self._block[id(lexeme)] = block[offset : offset + len(lexeme.ends)]
            offset += len(lexeme.ends)
        self._columns: list[list[int]] = np.unique(self._table, axis=1).tolist()  # bytes that no watch tells apart once
        self._covers: dict[tuple[int, int], bool] = {}
        self._numbers: dict[tuple[int, ...], int] = {}
        self._members: list[tuple[int, ...]] = []
        self._rows: dict[int, NDArray[np.int32]] = {}
        self._number(())

    def may_end(self, context: int) -> bool:
        """Whether the text may be over here."""
        return all(self._ends[watch] for watch in self._members[context])

    def after(self, context: int) -> NDArray[np.int32]:
        """The context after each byte, int32[256], or FATAL where a lexeme would have ended elsewhere."""
        row = self._rows.get(context)
        if row is None:
            rows = self._table[list(self._members[context])].reshape(-1, 256)
            columns, which = np.unique(rows, axis=1, return_inverse=True)
            numbers = [FATAL if FATAL in column else self._number(column) for column in columns.T.tolist()]
            row = self._rows[context] = np.array(numbers, np.int32)[which.reshape(-1)]
        return row

    def closed(self, context: int, lexeme: Lexeme, watch: int) -> int:
        """The context after the end of a lexeme with that watch over it, or HARMLESS."""
        if watch == HARMLESS:
            return context
        return self._number((*self._members[context], int(self._block[id(lexeme)][watch])))

    def _number(self, watches: Iterable[int]) -> int:
        own = sorted(set(watches) - {HARMLESS})
        if len(own) > 1:
            own = [w for w in own if not any(other != w and self._is_covered(w, other) for other in own)]
        key = tuple(own)
        number = self._numbers.get(key)
        if number is None:
            number = len(self._members)
            if number >= MOST:
                message = f"terminals that others could still change make more than {MOST} lexer contexts"
                raise LimitExceeded(message, limit="states")
            self._numbers[key] = number
            self._members.append(key)
        return number

    def _is_covered(self, watch: int, other: int) -> bool:
        """Whether another watch forbids all that this one forbids. Equal ones are the same watch."""
        asked = watch, other
        if asked not in self._covers:
            self._compare(asked)
        return self._covers[asked]

    def _compare(self, asked: tuple[int, int]) -> None:
        """Decides whether the second watch covers the first: all pairs that both lead to have to hold.

        A pair that doesn't hold decides all pairs that led to it, so that few are looked at again.
        """
        led: dict[tuple[int, int], tuple[int, int] | None] = {asked: None}
        todo = [asked]
        while todo:
            pair = todo.pop()
            known = self._covers.get(pair)
            if known:
                continue
            following = None if known is False else self._following(*pair)
            if following is None:
                wrong: tuple[int, int] | None = pair
                while wrong is not None:
                    self._covers[wrong] = False
                    wrong = led[wrong]
                return
            for after in following:
                if after not in led:
                    led[after] = pair
                    todo.append(after)
        self._covers |= dict.fromkeys(led, True)

    def _following(self, watch: int, other: int) -> set[tuple[int, int]] | None:
        """Pairs of watches behind each byte, where the other one doesn't forbid all; None where it allows more."""
        if watch == HARMLESS:
            return set()
        if other == HARMLESS or (self._ends[other] and not self._ends[watch]):
            return None
        pairs = {pair for pair in zip(self._columns[watch], self._columns[other], strict=True) if pair[1] != FATAL}
        return None if any(after == FATAL for after, _ in pairs) else pairs


def _distinct(lexemes: Sequence[Lexeme]) -> tuple[NDArray[np.int32], list[bool], NDArray[np.int32]]:
    """The watches of all lexemes, those that forbid alike merged: a table, which of them may be on at the end of the
    text, and the number of each watch, lexeme by lexeme. HARMLESS is what some turn out to be.
    """
    offsets = np.cumsum([0, *(len(lexeme.ends) for lexeme in lexemes)]).tolist()
    count = offsets[-1]
    tables = [np.where(x.watches >= 0, x.watches + at, x.watches) for x, at in zip(lexemes, offsets, strict=False)]
    table = np.concatenate([*tables, np.full((1, 256), count, np.int32)]).astype(np.int32)  # the last one is harmless
    table[table == HARMLESS] = count
    ends = np.concatenate([*(lexeme.ends for lexeme in lexemes), np.ones(1, np.bool_)]).astype(np.bool_)
    columns = np.unique(table, axis=1)
    tails, labels = np.nonzero(columns != FATAL)
    heads = columns[tails, labels].astype(np.int32)
    block = stable_blocks(tails.astype(np.int32), labels.astype(np.int32), heads, ends)
    names, first, inverse = np.unique(block, return_index=True, return_inverse=True)
    order = np.argsort(first)  # by first watch: `stable_blocks` numbers them otherwise
    rank = np.empty(len(names), np.int32)
    rank[order] = np.arange(len(names))
    number: NDArray[np.int32] = rank[inverse.reshape(-1)]
    harmless = number[count]
    watch = np.where(number == harmless, HARMLESS, number - (number > harmless)).astype(np.int32)
    kept = first[order]
    kept = kept[kept != first[block[count] == names][0]]
    rows = table[kept]
    return np.where(rows >= 0, watch[rows], FATAL).astype(np.int32), ends[kept].tolist(), watch[:count]
