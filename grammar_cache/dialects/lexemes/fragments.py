"""Lexemes read in a context, as automata that know nothing of contexts any more.

While watches are on, a state is a pair: of the lexeme's own, and of the context. The byte that a watch forbids leads
nowhere. Once all watches are harmless, what is left are the lexeme's own states. Where the lexeme may close decides the
context behind it, so there is one automaton for each of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.automata.builder import NONE
from grammar_cache.automata.complete_dfa import edges_of
from grammar_cache.automata.dfa import determinise
from grammar_cache.automata.nfa import Nfa, byte_classes
from grammar_cache.dialects.lexemes.contexts import FREE, Contexts
from grammar_cache.dialects.lexemes.lexeme import DEAD, OPEN, Lexeme
from grammar_cache.errors import LimitExceeded
from grammar_cache.expression import Automaton
from grammar_cache.interrupt import Interrupt

NO_CALLS = np.zeros((0, 3), np.int32)
ANY = -1
"""Label of no alternative in particular: a lexeme may close by any of them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A lexeme in a context: rows of `edges` are as in an `Nfa`, state 0 is the start. `ends`: by the context behind
    the lexeme, the states in which it closes."""

    states: int
    edges: NDArray[np.int32]
    ends: dict[int, list[int]]


class _Walk(NamedTuple):
    """States of a lexeme in a context: `pairs` with contexts in which watches are on, the start first, and behind them
    the lexeme's own, of which some are `reached`. Rows of `edges` are as in an `Nfa`.
    """

    pairs: list[tuple[int, int]]
    edges: NDArray[np.int32]
    reached: NDArray[np.bool_]


class Fragments:
    """Automata of lexemes by the contexts before and behind them, made once each. Equal ones are one object."""

    def __init__(self, contexts: Contexts, limit: int) -> None:
        """`limit`: states of one automaton."""
        self.contexts = contexts
        self._limit = limit
        self._own: dict[int, NDArray[np.int32]] = {}
        self._walks: dict[tuple[int, int], _Walk] = {}
        self._readings: dict[tuple[int, int, int], Reading] = {}
        self._known: dict[bytes, Automaton] = {}

    def reading(self, lexeme: Lexeme, label: int, context: int) -> Reading:
        """Reading of a lexeme from a context on that closes by that alternative. Raises LimitExceeded(rule_states)."""
        key = (id(lexeme), label, context)
        if key not in self._readings:
            self._readings[key] = self._made(lexeme, label, context)
        return self._readings[key]

    def behind(self, lexeme: Lexeme, label: int, context: int) -> list[int]:
        """Contexts in which it may close, ascending."""
        return sorted(self.reading(lexeme, label, context).ends)

    def automaton(self, lexeme: Lexeme, label: int, context: int, behind: int) -> Automaton:
        """The texts of a lexeme from one context to another."""
        found = self.reading(lexeme, label, context)
        skips = [(0, 2), *((2 + state, 1) for state in found.ends[behind])]
        return self._minimal(2 + found.states, [found.edges + _SHIFT * 2], skips)

    def skipping(self, ignored: Sequence[tuple[Lexeme, int]], context: int) -> dict[int, Automaton]:
        """The texts of any number of ignored lexemes in a row, by the context behind them."""
        hubs, size = {context: 2}, 3  # where one may begin in a context
        edges: list[NDArray[np.int32]] = []
        skips = [(0, 2)]
        todo = [context]
        for before in todo:  # grows while it is read
            for lexeme, label in ignored:
                found = self.reading(lexeme, label, before)
                edges.append(found.edges + _SHIFT * size)
                skips.append((hubs[before], size))
                at, size = size, size + found.states
                for behind, states in found.ends.items():
                    if behind not in hubs:
                        hubs[behind], size = size, size + 1
                        todo.append(behind)
                    skips += [(at + state, hubs[behind]) for state in states]
                self._check(size)
        return {behind: self._minimal(size, edges, [*skips, (hub, 1)]) for behind, hub in sorted(hubs.items())}

    def _minimal(self, states: int, edges: Sequence[NDArray[np.int32]], skips: Sequence[tuple[int, int]]) -> Automaton:
        rows = np.concatenate([np.empty((0, 4), np.int32), *edges])
        nfa = Nfa(states, rows, np.array(skips, np.int32).reshape(-1, 2), NO_CALLS)
        classes = byte_classes([nfa])
        dfa = determinise(nfa, classes, NONE, NONE, self._limit, Interrupt())
        made = Automaton(dfa.size, *edges_of(dfa.first, dfa.labels, dfa.heads, dfa.final, classes))
        return self._known.setdefault(made.edges.tobytes() + b" " + made.ends.tobytes(), made)

    def _made(self, lexeme: Lexeme, label: int, context: int) -> Reading:
        pairs, edges, reached = self._walk(lexeme, context)
        closes = lexeme.closes if label == ANY else np.where(lexeme.label == label, lexeme.closes, OPEN)
        ends: dict[int, list[int]] = {}
        for place, (state, at) in enumerate(pairs):
            if closes[state] != OPEN and place:
                ends.setdefault(self.contexts.closed(at, lexeme, int(closes[state])), []).append(place)
        for state in np.flatnonzero((closes != OPEN) & reached).tolist():
            ends.setdefault(self.contexts.closed(FREE, lexeme, int(closes[state])), []).append(len(pairs) + state)
        return Reading(len(pairs) + len(lexeme.moves), edges, ends)

    def _walk(self, lexeme: Lexeme, context: int) -> _Walk:
        """Made once for all labels, of which there may be thousands."""
        key = (id(lexeme), context)
        if key not in self._walks:
            pairs, table = self._in_contexts(lexeme, context)
            own = self._own_edges(lexeme)
            edges = np.concatenate([_edges(table), own + _SHIFT * len(pairs)]) if pairs else own
            reached = _reached(len(pairs) + len(lexeme.moves), edges)
            self._walks[key] = _Walk(pairs, edges, reached[len(pairs) :])
        return self._walks[key]

    def _in_contexts(self, lexeme: Lexeme, context: int) -> tuple[list[tuple[int, int]], NDArray[np.int32]]:
        """The pairs of a state and a context other than FREE, the start first, and what each byte leads to: a pair, or
        behind them all a state of the lexeme's own, or DEAD.
        """
        if context == FREE:
            return [], np.empty((0, 256), np.int32)
        pairs, number = [(0, context)], {(0, context): 0}
        rows: list[NDArray[np.int32]] = []
        for state, at in pairs:  # grows while it is read
            moves, after = lexeme.moves[state], self.contexts.after(at)
            alive = (moves != DEAD) & (after >= 0)
            row = np.full(256, DEAD, np.int32)
            for pair in set(zip(moves[alive].tolist(), after[alive].tolist(), strict=True)):
                here = alive & (moves == pair[0]) & (after == pair[1])
                if pair[1] == FREE:
                    row[here] = DEAD - 1 - pair[0]
                    continue
                if pair not in number:
                    number[pair] = len(pairs)
                    pairs.append(pair)
                row[here] = number[pair]
            rows.append(row)
            self._check(len(pairs))
        table = np.stack(rows)
        return pairs, np.where(table < DEAD, len(pairs) - table + DEAD - 1, table)

    def _own_edges(self, lexeme: Lexeme) -> NDArray[np.int32]:
        if id(lexeme) not in self._own:
            self._own[id(lexeme)] = _edges(lexeme.moves)
        return self._own[id(lexeme)]

    def _check(self, states: int) -> None:
        if states > self._limit:
            raise LimitExceeded(f"a terminal needs more than {self._limit} states", limit="rule_states")


_SHIFT = np.array([1, 0, 0, 1], np.int32)


def _edges(table: NDArray[np.int32]) -> NDArray[np.int32]:
    """Edges (state, low byte, high byte, state after it) of a table by byte."""
    begins = np.ones(table.shape, np.bool_)
    begins[:, 1:] = table[:, 1:] != table[:, :-1]
    tails, low = np.nonzero(begins)
    heads = table[tails, low]
    high = np.append(low[1:], 0) - 1
    high[high < 0] = 255
    kept = heads != DEAD
    rows: NDArray[np.int32] = np.stack([tails, low, high, heads], axis=1)[kept].astype(np.int32)
    return rows


def _reached(states: int, edges: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Flags of the states that are reached from the first."""
    after: dict[int, list[int]] = {}
    for tail, head in set(map(tuple, edges[:, ::3].tolist())):
        after.setdefault(tail, []).append(head)
    found = np.zeros(states, np.bool_)
    todo = [0]
    while todo:
        state = todo.pop()
        if not found[state]:
            found[state] = True
            todo += after.get(state, ())
    return found
