"""Total automata over bytes, where intersection and complement are simple."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.automata.dfa import Dfa, minimised, too_many_states
from grammar_cache.automata.product import dead_state, product
from grammar_cache.automata.subset_kernels import STOPPED, TOO_LARGE
from grammar_cache.interrupt import Interrupt
from grammar_cache.loops.array_types import Flags, IntRows, Ints, Octets
from grammar_cache.loops.jit import jit

WORK = 32
"""Transitions that each product of an intersection may have, for each state that a rule may have."""


GROWTH = 4
"""Growth of a product, as a multiple of the larger automaton, above which it is made minimal."""

LARGEST = 1_000_000
"""Numbers (of 4 bytes) in all tables that are kept."""
_OVERHEAD = 256
"""Numbers that a table is counted as more, however small."""


@dataclass(frozen=True, slots=True, eq=False)
class CompleteDfa:
    """`table` int32[states, byte classes]: the state after a byte. Classes are intervals; state 0 is the start.

    `least` is the minimal automaton of the same language, where it is known.
    """

    classes: Octets
    table: Ints
    final: Flags
    least: Dfa | None = None

    @staticmethod
    def of(dfa: Dfa, classes: Octets) -> CompleteDfa:
        """Completes a minimal automaton by a sink for the bytes it doesn't read."""
        table, final = _filled(dfa.first, dfa.labels, dfa.heads, dfa.final, int(classes[-1]) + 1)
        return CompleteDfa(classes, table, final, dfa)

    @property
    def weight(self) -> int:
        """Numbers in the table, and some for the rest."""
        return _OVERHEAD + self.table.size

    def complement(self) -> CompleteDfa:
        return CompleteDfa(self.classes, self.table, ~self.final)

    def minimal(self, interrupt: Interrupt) -> Dfa:
        """The minimal automaton of the same language, without a sink."""
        if self.least is not None:
            return self.least
        tails, labels, heads = _transitions(self.table, dead_state(self.table, self.final))
        return minimised(tails, labels, heads, self.final, interrupt)


EVERYTHING = CompleteDfa(np.zeros(256, np.uint8), np.zeros((1, 1), np.int32), np.ones(1, np.bool_))


def intersection(totals: Sequence[CompleteDfa], limit: int, interrupt: Interrupt) -> CompleteDfa:
    """The smallest first, a product that has grown minimal before the next. LimitExceeded(rule_states), Interrupted."""
    if not totals:
        return EVERYTHING
    first, *others = sorted(totals, key=lambda total: len(total.final))
    result, least = first, len(first.final)
    for other in others:
        if len(result.final) > GROWTH * least:
            result = _minimised(result, limit, interrupt)
        least = max(len(result.final), len(other.final))
        result = _both(result, other, limit, interrupt)
    return _minimised(result, limit, interrupt) if others else result


def _both(a: CompleteDfa, b: CompleteDfa, limit: int, interrupt: Interrupt) -> CompleteDfa:
    classes, ours, theirs = _told_apart(a.classes, b.classes)
    room = max(limit, WORK * limit // len(ours))
    outcome, table, final = product(a.table, b.table, ours, theirs, a.final, b.final, room, interrupt.flag)
    if outcome == STOPPED:
        interrupt.check()
    if outcome == TOO_LARGE:
        raise too_many_states(limit)
    return CompleteDfa(classes, table, final)


def _minimised(total: CompleteDfa, limit: int, interrupt: Interrupt) -> CompleteDfa:
    interrupt.check()
    dfa = total.minimal(interrupt)
    if dfa.size > limit:
        raise too_many_states(limit)
    return CompleteDfa.of(dfa, total.classes)


class CompleteDfaCache(LruCache[bytes, CompleteDfa]):
    """Complete automata by what they are made of. One that takes more than half of the room isn't cached."""

    def __init__(self, largest: int = LARGEST) -> None:
        super().__init__(largest, share=2)


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedDfa:
    """A minimal automaton to put before a state: edges (source, low byte, high byte, target), and final states."""

    states: int
    edges: Ints
    ends: Ints

    @staticmethod
    def side_by_side(many: Sequence[EmbeddedDfa]) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Columns of several automata: their numbers of states, the edges and where each automaton's begin, the same
        for final states.
        """
        if not many:
            return _NO_COLUMNS
        return (
            np.array([one.states for one in many], np.int32),
            np.cumsum([0, *(len(one.edges) for one in many)]).astype(np.int32),
            np.concatenate([one.edges for one in many]),
            np.cumsum([0, *(len(one.ends) for one in many)]).astype(np.int32),
            np.concatenate([one.ends for one in many]),
        )


_NO_COLUMNS = (
    np.zeros(0, np.int32),
    np.zeros(1, np.int32),
    np.zeros((0, 4), np.int32),
    np.zeros(1, np.int32),
    np.zeros(0, np.int32),
)


def standing(total: CompleteDfa, interrupt: Interrupt) -> EmbeddedDfa:
    dfa = total.minimal(interrupt)
    return EmbeddedDfa(dfa.size, *edges_of(dfa.first, dfa.labels, dfa.heads, dfa.final, total.classes))


@jit
def _filled(first: Ints, labels: Ints, heads: Ints, final: Flags, width: int) -> tuple[Ints, Flags]:
    """The table of an automaton and its final states, with a sink."""
    sink = len(final)
    table, ends = np.full((sink + 1, width), sink, np.int32), np.zeros(sink + 1, np.bool_)
    for s in range(sink):
        ends[s] = final[s]
        for t in range(first[s], first[s + 1]):
            table[s, labels[t]] = heads[t]
    return table, ends


@jit
def _transitions(table: IntRows, dead: int) -> tuple[Ints, Ints, Ints]:
    """Tails, labels and heads, without those that lead to the `dead` state."""
    states, width = table.shape
    size = 0
    for s in range(states):
        for c in range(width):
            size += table[s, c] != dead
    tails, labels, heads = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    at = 0
    for s in range(states):
        for c in range(width):
            if table[s, c] != dead:
                tails[at], labels[at], heads[at] = s, c, table[s, c]
                at += 1
    return tails, labels, heads


@jit
def edges_of(first: Ints, labels: Ints, heads: Ints, final: Flags, classes: Octets) -> tuple[Ints, Ints]:
    """Edges (source, low byte, high byte, target) and final states."""
    low, high = np.zeros(256, np.int32), np.zeros(256, np.int32)
    for byte in range(256):
        high[classes[byte]] = byte
    for byte in range(255, -1, -1):
        low[classes[byte]] = byte
    edges, size = np.empty((len(labels), 4), np.int32), 0
    ends, count = np.empty(len(final), np.int32), 0
    for s in range(len(final)):
        if final[s]:
            ends[count] = s
            count += 1
        for t in range(first[s], first[s + 1]):
            if t > first[s] and labels[t] == labels[t - 1] + 1 and heads[t] == heads[t - 1]:
                edges[size - 1, 2] = high[labels[t]]  # neighbouring classes that lead to one state are one edge
                continue
            edges[size, 0], edges[size, 3] = s, heads[t]
            edges[size, 1], edges[size, 2] = low[labels[t]], high[labels[t]]
            size += 1
    return edges[:size].copy(), ends[:count].copy()


@jit
def _told_apart(a: Octets, b: Octets) -> tuple[Octets, Ints, Ints]:
    """Classes for two automata, and what class of each is the first in every one."""
    classes = np.zeros(256, np.uint8)
    ours, theirs = np.empty(256, np.int32), np.empty(256, np.int32)
    count = 0
    for byte in range(256):
        if byte == 0 or a[byte] != a[byte - 1] or b[byte] != b[byte - 1]:
            ours[count], theirs[count] = a[byte], b[byte]
            count += 1
        classes[byte] = count - 1
    return classes, ours[:count].copy(), theirs[:count].copy()
