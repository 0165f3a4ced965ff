"""The shortest texts of a network, one after the other.

First the sizes of the shortest rests of all states are found (Knuth 1977, "A generalization of Dijkstra's algorithm"),
then texts byte by byte from the start, those that may become the shortest first: A* with sizes that are exact.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

import numpy as np

from grammar_cache.interrupt import Interrupt
from grammar_cache.loops.array_types import Octets
from grammar_cache.network.states import States

DEEPEST = 100
"""Calls in each other that are looked into."""

_PLAIN = b"abcdefghijklmnopqrstuvwxyz0123456789"
_BYTES = bytes((*_PLAIN, *sorted(set(range(256)) - set(_PLAIN))))
_RANKS = bytes(_BYTES.index(byte) for byte in range(256))
"""Place of each byte in the order of texts of one size: letters and digits come first. Texts are found as ranks."""


class _Text(NamedTuple):
    """Beginning of a text: a shorter one, and the rank of the byte behind it."""

    before: _Text | None
    rank: int


class _Stack(NamedTuple):
    """States to return to: the innermost, and those around. `depth`: how many they are."""

    state: int
    below: _Stack | None
    depth: int


_Beginning: TypeAlias = tuple[int, int, int, "_Text | None", _Stack]
"""Bytes of the shortest text that begins so, bytes of the beginning below 0, a number that ascends, and what it is."""


class ShortestTexts:
    """Searches for the shortest texts of networks. They share one fuel: states, and beginnings that are kept."""

    def __init__(self, fuel: int, interrupt: Interrupt) -> None:
        self.fuel = fuel
        self._interrupt = interrupt

    def of(self, states: States, entry: tuple[int, ...], classes: Octets, count: int) -> list[bytes]:
        """The shortest texts of the first rule, the shortest first, at most so many. Raises Interrupted."""
        self.fuel -= states.count
        least, calls, final = _shortest_rests(states, entry), states.calls(), states.final.tolist()
        ranks: dict[int, list[int]] = defaultdict(list)
        for byte in _BYTES:
            ranks[int(classes[byte])].append(_RANKS[byte])
        found: dict[bytes, None] = {}
        waiting: list[_Beginning] = []
        if entry[0] in least:
            self._keep(waiting, least[entry[0]], 0, None, _Stack(entry[0], None, 1))
        while waiting and len(found) < count and self.fuel > 0:
            self._interrupt.check()
            bound, unread, _, text, (state, below, depth) = heappop(waiting)
            rest, read = bound - least[state], -unread
            if final[state] and below is None:
                found[_spelled(text)] = None
            elif final[state] and below is not None:
                self._keep(waiting, rest, read, text, below)
            moves = [(of, behind) for of, behind in states.moves(state) if behind in least]
            for rank, behind in sorted((rank, behind) for of, behind in moves for rank in ranks[of][:count]):
                longer, stack = _Text(text, rank), _Stack(behind, below, depth)
                self._keep(waiting, rest + 1 + least[behind], read + 1, longer, stack)
            for rule, back in calls[state]:
                if back in least and entry[rule] in least:
                    stack = _Stack(entry[rule], _Stack(back, below, depth), depth + 1)
                    self._keep(waiting, rest + least[back] + least[entry[rule]], read, text, stack)
        return list(found)

    def _keep(self, waiting: list[_Beginning], bound: int, read: int, text: _Text | None, stack: _Stack) -> None:
        if stack.depth <= DEEPEST:
            self.fuel -= 1
            heappush(waiting, (bound, -read, -self.fuel, text, stack))


def _spelled(text: _Text | None) -> bytes:
    ranks = bytearray()
    while text is not None:
        ranks.append(text.rank)
        text = text.before
    return bytes(reversed(ranks)).translate(_BYTES)


def _shortest_rests(states: States, entry: tuple[int, ...]) -> dict[int, int]:
    """Bytes of the shortest rest of each state's rule, of states that have one."""
    moves, calls = defaultdict[int, list[int]](list), defaultdict[int, list[tuple[int, int]]](list)
    for before, _, behind in zip(*(column.tolist() for column in states.by_class()), strict=True):
        moves[behind].append(before)
    for before, own in enumerate(states.calls()):
        for rule, back in own:
            calls[entry[rule]].append((before, back))
            calls[back].append((before, entry[rule]))
    least: dict[int, int] = {}
    waiting = [(0, state) for state in np.flatnonzero(states.final).tolist()]
    while waiting:
        size, state = heappop(waiting)
        if state in least:
            continue
        least[state] = size
        for before in moves[state]:
            heappush(waiting, (size + 1, before))
        for before, other in calls[state]:
            if other in least:
                heappush(waiting, (size + least[other], before))
    return least
