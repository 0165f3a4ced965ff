"""Total automata over bytes, where intersection and complement are simple."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from grammar_cache.dfa import Dfa, too_many_states
from grammar_cache.interrupt import Interrupt
from grammar_cache.nfa import Nfa
from grammar_cache.partition import minimal
from grammar_cache.subsets import DONE, STOPPED, TOO_LARGE


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """`table` int32[states, byte classes]: the state after a byte. Classes are intervals; state 0 is the start."""

    classes: NDArray[np.uint8]
    table: NDArray[np.int32]
    final: NDArray[np.bool_]

    @staticmethod
    def of(dfa: Dfa, classes: NDArray[np.uint8]) -> Total:
        """With a sink for what a partial automaton doesn't read."""
        sink = dfa.size
        table = np.full((sink + 1, int(classes[-1]) + 1), sink, np.int32)
        table[dfa.tails, dfa.labels] = dfa.heads
        return Total(classes, table, np.append(dfa.final, False))

    def complement(self) -> Total:
        return Total(self.classes, self.table, ~self.final)

    def intersection(self, other: Total, limit: int, interrupt: Interrupt) -> Total:
        """Raises LimitExceeded(rule_states), Interrupted."""
        pairs = self.classes.astype(np.int64) << 8 | other.classes
        classes = np.cumsum(np.append(False, pairs[1:] != pairs[:-1])).astype(np.uint8)
        _, first = np.unique(classes, return_index=True)
        ours, theirs = self.table[:, self.classes[first]], other.table[:, other.classes[first]]
        outcome, table, met = _product(ours, theirs, limit, interrupt.flag)
        if outcome == STOPPED:
            interrupt.check()
        if outcome == TOO_LARGE:
            raise too_many_states(limit)
        return Total(classes, table, self.final[met[:, 0]] & other.final[met[:, 1]])

    def put_before(self, nfa: Nfa, target: int) -> int:
        """Copies the minimal automaton in front of a state; returns the copy of its start."""
        states, width = self.table.shape
        labels = np.tile(np.arange(width, dtype=np.int32), states)
        tails = np.repeat(np.arange(states, dtype=np.int32), width)
        dfa = Dfa(*minimal(tails, labels, np.ascontiguousarray(self.table).reshape(-1), self.final))
        base = nfa.add(dfa.size)
        _, low = np.unique(self.classes, return_index=True)
        tails, heads = dfa.tails, dfa.heads
        begins = np.ones(len(tails), np.bool_)  # where neighbouring classes lead to one state, they are one edge
        begins[1:] = (tails[1:] != tails[:-1]) | (heads[1:] != heads[:-1]) | (dfa.labels[1:] != dfa.labels[:-1] + 1)
        ends = np.append(begins[1:], True)[: len(tails)]
        high = np.append(low[1:], 256) - 1
        first, last = low[dfa.labels[begins]], high[dfa.labels[ends]]
        edges = np.stack([base + tails[begins], first, last, base + heads[begins]], axis=1)
        nfa.edges.frombytes(edges.astype(np.int32).tobytes())
        ending = base + np.flatnonzero(dfa.final)
        nfa.skips.frombytes(np.stack([ending, np.full_like(ending, target)], axis=1).astype(np.int32).tobytes())
        return base


EVERYTHING = Total(np.zeros(256, np.uint8), np.zeros((1, 1), np.int32), np.ones(1, np.bool_))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _product(
    a: NDArray[np.int32], b: NDArray[np.int32], limit: int, stop: NDArray[np.uint8]
) -> tuple[int, NDArray[np.int32], NDArray[np.int32]]:
    """The pairs of states that are met, over common classes: outcome, table, the pairs."""
    width = a.shape[1]
    met = np.zeros((64, 2), np.int32)
    table = np.empty((64, width), np.int32)
    number = {np.int64(0): np.int32(0)}
    count, at = 1, 0
    while at < count:
        if stop[0]:
            return STOPPED, table, met
        for c in range(width):
            p, q = a[met[at, 0], c], b[met[at, 1], c]
            key = np.int64(p) * len(b) + q
            if key not in number:
                if count == limit:
                    return TOO_LARGE, table, met
                if count == len(met):
                    met = np.concatenate((met, np.zeros_like(met)))
                    table = np.concatenate((table, np.zeros_like(table)))
                number[key] = np.int32(count)
                met[count] = p, q
                count += 1
            table[at, c] = number[key]
        at += 1
    return DONE, table[:count], met[:count]
