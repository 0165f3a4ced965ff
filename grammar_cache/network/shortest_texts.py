"""The shortest texts of a network, one after the other.

First the sizes of the shortest rests of all states are found (Knuth 1977, "A generalization of Dijkstra's algorithm"),
then texts byte by byte from the start, those that may become the shortest first: A* with sizes that are exact.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np

from grammar_cache.loops.array_types import Octets
from grammar_cache.network.states import States

MOST_BEGINNINGS = 100_000
"""Beginnings of texts that are looked at, some 0.3 s: what isn't found by then counts as not there."""
DEEPEST = 100
"""Calls in each other that are looked into."""

_PLAIN = b"abcdefghijklmnopqrstuvwxyz0123456789"
_BYTES = bytes((*_PLAIN, *sorted(set(range(256)) - set(_PLAIN))))
_RANKS = bytes(_BYTES.index(byte) for byte in range(256))
"""Place of each byte in the order of texts of one size: letters and digits come first. Texts are found as ranks."""


_Beginning: TypeAlias = tuple[int, int, bytes, tuple[int, ...]]
"""Bytes of the shortest text that begins so, bytes of the beginning below 0, itself, and the stack of states."""


def shortest_texts(states: States, entry: tuple[int, ...], classes: Octets, count: int) -> Iterator[bytes]:
    """The shortest texts of the first rule, the shortest first, at most so many."""
    least, calls, final = _shortest_rests(states, entry), states.calls(), states.final.tolist()
    ranks: dict[int, list[bytes]] = defaultdict(list)
    for byte in _BYTES:
        ranks[int(classes[byte])].append(_RANKS[byte : byte + 1])
    waiting: list[_Beginning] = []
    seen, found = set[_Beginning](), set[bytes]()

    def wait(text: bytes, *stack: int) -> None:
        if len(stack) <= DEEPEST and all(state in least for state in stack):
            beginning = len(text) + sum([least[state] for state in stack]), -len(text), text, stack
            if beginning not in seen:
                seen.add(beginning)
                heappush(waiting, beginning)

    wait(b"", entry[0])
    while waiting and len(found) < count and len(seen) < MOST_BEGINNINGS:
        _, _, text, stack = heappop(waiting)
        below, state = stack[:-1], stack[-1]
        if final[state] and below:
            wait(text, *below)
        elif final[state] and text not in found:
            found.add(text)
            yield text.translate(_BYTES)
        for of, behind in states.moves(state):
            for rank in ranks[of][:count]:
                wait(text + rank, *below, behind)
        for rule, back in calls[state]:
            wait(text, *below, back, entry[rule])


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
