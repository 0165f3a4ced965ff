"""Lexemes as rules of the network: their automata are deterministic already, and their watches go beside the states.

A contextual lexer becomes one rule whose entry depends on the automaton in force, and a terminal that the parser takes
becomes a return of it, open to that terminal alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.automata.dfa import Dfa
from grammar_cache.automata.nfa import Nfa
from grammar_cache.expression import Grammar
from grammar_cache.lexeme import DEAD, HARMLESS, OPEN, Lexeme, Lexer, Shift

NEVER = Dfa(np.zeros(2, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(1, np.bool_))
"""The automaton of a rule that nothing calls."""

_ONE_BYTE = Dfa(np.array([0, 1, 1], np.int32), np.zeros(1, np.int32), np.ones(1, np.int32), np.array([False, True]))


@dataclass(frozen=True, slots=True)
class Lexical:
    """Roles of a grammar's rules for its lexer; rules are numbered as in the network.

    `lexemes[rule]`: None for a rule of the parser's. `shifts[rule]`: a terminal taken from the contextual lexer, which
    is the last rule if there is one; `entries` are the states of that rule in which its automata begin.
    """

    lexemes: list[Lexeme | None]
    shifts: Mapping[int, Shift]
    entries: tuple[int, ...]
    start: int

    @staticmethod
    def of(grammar: Grammar, names: Sequence[str]) -> Lexical:
        lexemes: list[Lexeme | None] = [grammar.lexemes.get(name) for name in names]
        shifts = {rule: grammar.shifts[name] for rule, name in enumerate(names) if name in grammar.shifts}
        if grammar.lexer is None:
            return Lexical(lexemes, shifts, (), -1)
        combined, entries = _combined(grammar.lexer)
        return Lexical([*lexemes, combined], shifts, entries, grammar.lexer.start)

    def stand_in(self, rule: int) -> Nfa | None:
        """Automaton as productive as the lexeme, and as little nullable; None for a rule of the parser's."""
        lexeme = self.lexemes[rule]
        if lexeme is None and rule not in self.shifts:
            return None
        reads = lexeme is None or bool((lexeme.closes != OPEN).any())
        edges = np.array([[0, 0, 255, 1]] if reads else [], np.int32).reshape(-1, 4)
        return Nfa(2, edges, np.zeros((0, 2), np.int32), np.zeros((0, 3), np.int32))

    def classes(self, rule: int) -> NDArray[np.uint8] | None:
        """Bytes that neither the lexeme nor its watches tell apart share a class, numbered by first byte."""
        lexeme = self.lexemes[rule]
        if lexeme is None:
            return np.zeros(256, np.uint8) if rule in self.shifts else None
        columns = np.concatenate([lexeme.moves, lexeme.watches])
        _, first, inverse = np.unique(columns, axis=1, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.uint8)
        rank[np.argsort(first)] = np.arange(len(first))
        return rank[inverse.reshape(-1)]

    def dfa(self, rule: int, classes: NDArray[np.uint8]) -> Dfa | None:
        """The lexeme's automaton; that of a shift is the contextual lexer's."""
        lexeme = self.lexemes[rule]
        if lexeme is None:
            return _ONE_BYTE if rule in self.shifts else None
        _, first = np.unique(classes, return_index=True)
        rows = lexeme.moves[:, first]
        tails, labels = np.nonzero(rows != DEAD)
        offsets = np.searchsorted(tails, np.arange(len(rows) + 1)).astype(np.int32)
        return Dfa(offsets, labels.astype(np.int32), rows[tails, labels].astype(np.int32), lexeme.closes != OPEN)

    def joined(self, dfas: Sequence[Dfa], classes: NDArray[np.uint8]) -> Watched:
        """Closings and labels of all states, and the watches of all lexemes, numbered one after the other."""
        _, first = np.unique(classes, return_index=True)
        closes: list[int] = []
        labels: list[int] = []
        tables = [np.empty((0, len(first)), np.int32)]
        ends: list[bool] = []
        for dfa, lexeme in zip(dfas, self.lexemes, strict=True):
            if lexeme is None or dfa.size != len(lexeme.moves):  # the latter: one that can't close at all
                closes += [HARMLESS] * dfa.size
                labels += [-1] * dfa.size
                continue
            offset = len(ends)
            closes += [w + offset if w >= 0 else HARMLESS for w in lexeme.closes.tolist()]
            labels += lexeme.label.tolist() if lexeme is self.lexemes[-1] and self.entries else [-1] * dfa.size
            table = lexeme.watches[:, first]
            tables.append(np.where(table >= 0, table + offset, table))
            ends += lexeme.ends.tolist()
        return Watched(tuple(closes), tuple(labels), np.concatenate(tables), tuple(ends))


@dataclass(frozen=True, slots=True)
class Watched:
    """`closes` and `labels` by state, `watches` int32[watches, byte classes], `ends` by watch: see `lexeme`."""

    closes: tuple[int, ...]
    labels: tuple[int, ...]
    watches: NDArray[np.int32]
    ends: tuple[bool, ...]


def _combined(lexer: Lexer) -> tuple[Lexeme, tuple[int, ...]]:
    """The automata of a lexer side by side, and where each begins."""
    states = np.cumsum([0, *(len(a.moves) for a in lexer.automata)])
    watches = np.cumsum([0, *(len(a.watches) for a in lexer.automata)])
    return Lexeme(
        np.concatenate([_shifted(a.moves, s) for a, s in zip(lexer.automata, states, strict=False)]),
        np.concatenate([_shifted(a.closes, w) for a, w in zip(lexer.automata, watches, strict=False)]),
        np.concatenate([a.label for a in lexer.automata]),
        np.concatenate([_shifted(a.watches, w) for a, w in zip(lexer.automata, watches, strict=False)]),
        np.concatenate([a.ends for a in lexer.automata]),
    ), tuple(states[:-1].tolist())


def _shifted(table: NDArray[np.int32], offset: int) -> NDArray[np.int32]:
    return np.where(table >= 0, table + offset, table).astype(np.int32)
