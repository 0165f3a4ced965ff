"""The states of a network in flat arrays, and one at a time as an object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grammar_cache.loops.array_types import Flags, Ints, Octets


@dataclass(frozen=True, slots=True)
class NetworkState:
    """One state: `moves` maps a byte class to a state, `calls` lists (rule, return state), in canonical order."""

    moves: dict[int, int]
    calls: tuple[tuple[int, int], ...]
    final: bool
    rule: int


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """The moves and calls of state s are those from `…_first[s]` to `…_first[s + 1]`, by byte class and by rule.

    Move m is by any class from `move_low[m]` to `move_high[m]`: as many as lead to one state, one behind the other.
    """

    move_first: Ints
    move_low: Octets
    move_high: Octets
    move_to: Ints
    call_first: Ints
    call_rule: Ints
    call_back: Ints
    final: Flags
    rule: Ints

    @property
    def count(self) -> int:
        return len(self.final)

    @property
    def live(self) -> Flags:
        """Liveness of each state: whether anything follows within its rule."""
        moves, calls = self.move_first, self.call_first
        return (moves[1:] > moves[:-1]) | (calls[1:] > calls[:-1])

    def moves(self, state: int) -> list[tuple[int, int]]:
        """Pairs (byte class, state after it)."""
        own = slice(self.move_first[state], self.move_first[state + 1])
        columns = (column[own].tolist() for column in (self.move_low, self.move_high, self.move_to))
        return [(of, to) for low, high, to in zip(*columns, strict=True) for of in range(low, high + 1)]

    def by_class(self) -> tuple[Ints, Ints, Ints]:
        """Each state with each byte class that it reads, and the state after it."""
        counts = self.move_high.astype(np.int32) + 1 - self.move_low
        begins = np.cumsum(counts) - counts
        classes = np.repeat(self.move_low - begins, counts) + np.arange(counts.sum())
        states = np.repeat(np.arange(self.count, dtype=np.int32), np.diff(self.move_first))
        return np.repeat(states, counts), classes.astype(np.int32), np.repeat(self.move_to, counts)

    def calls(self) -> list[tuple[tuple[int, int], ...]]:
        """Calls of every state: its pairs (rule, return state)."""
        found: list[tuple[tuple[int, int], ...]] = [()] * self.count
        pairs = list(zip(self.call_rule.tolist(), self.call_back.tolist(), strict=True))
        for state in np.flatnonzero(np.diff(self.call_first)).tolist():
            found[state] = tuple(pairs[self.call_first[state] : self.call_first[state + 1]])
        return found

    def first_calls(self, entries: Sequence[int]) -> list[list[int]]:
        """Rules that are called in each of some states."""
        rules, first = self.call_rule, self.call_first
        bounds = zip(first[entries].tolist(), first[1:][entries].tolist(), strict=True)
        return [rules[begin:end].tolist() if end > begin else [] for begin, end in bounds]

    def listed(self) -> list[NetworkState]:
        """All as objects, for who wants to read them."""
        calls, final, rule = self.calls(), self.final.tolist(), self.rule.tolist()
        return [NetworkState(dict(self.moves(s)), calls[s], final[s], rule[s]) for s in range(self.count)]
