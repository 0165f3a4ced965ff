"""Nondeterministic automata over byte ranges, and how code points become bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.counting_sort import by_key
from grammar_cache.expression import Range
from grammar_cache.loops.array_types import IntRows, Ints, Octets
from grammar_cache.loops.jit import jit

_UTF8_LIMITS = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)


@lru_cache(maxsize=4096)
def utf8_sequences(low: int, high: int) -> tuple[tuple[Range, ...], ...]:
    """The code points low..high as sequences of byte ranges, each of which is a product of its ranges."""
    found: list[tuple[Range, ...]] = []
    todo = [(low, high)]
    while todo:
        low, high = todo.pop()
        if low > high:
            continue
        limit = next(limit for limit in _UTF8_LIMITS if low <= limit)
        if high > limit:
            todo += [(limit + 1, high), (low, limit)]
            continue
        first, last = chr(low).encode(), chr(high).encode()
        for tail in range(1, len(first)):  # a block of the last `tail` continuation bytes must be whole or alone
            mask = (1 << 6 * tail) - 1
            if low >> 6 * tail != high >> 6 * tail:
                if low & mask:
                    todo += [((low | mask) + 1, high), (low, low | mask)]
                    break
                if high & mask != mask:
                    todo += [(high & ~mask, high), (low, (high & ~mask) - 1)]
                    break
        else:
            found.append(tuple(zip(first, last, strict=True)))
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True, eq=False)
class Nfa:
    """States are 0 (start), 1 (accept), 2…

    Rows of `edges` are (source, low byte, high byte, target), of `skips` (source, target), which read nothing, of
    `calls` (source, rule, target).
    """

    size: int
    edges: Ints
    skips: Ints
    calls: Ints

    def accepts(self, passable: NDArray[np.bool_], *, reads: bool) -> bool:
        """Whether state 1 is reached through calls of `passable` rules, and by bytes too if it `reads`."""
        return bool(_accepts(self.size, self.edges if reads else self.edges[:0], self.skips, self.calls, passable))


@jit
def ordered(table: IntRows, column: int, keys: int) -> tuple[Ints, Ints]:
    """Offset of each key's rows in the order of that column, and the rows in that order; ties stay."""
    first, places = by_key(np.ascontiguousarray(table[:, column]), keys)
    return first, table[places]


@jit
def _accepts(states: int, edges: IntRows, skips: IntRows, calls: IntRows, passable: NDArray[np.bool_]) -> bool:
    links = np.empty((len(edges) + len(skips) + len(calls), 2), np.int32)
    size = 0
    for i in range(len(edges)):
        links[size, 0], links[size, 1] = edges[i, 0], edges[i, 3]
        size += 1
    for i in range(len(skips)):
        links[size, 0], links[size, 1] = skips[i, 0], skips[i, 1]
        size += 1
    for i in range(len(calls)):
        if passable[calls[i, 1]]:
            links[size, 0], links[size, 1] = calls[i, 0], calls[i, 2]
            size += 1
    first, links = ordered(links[:size], 0, states)
    seen, todo, waiting = np.zeros(states, np.bool_), np.zeros(states, np.int32), 1
    seen[0] = True
    while waiting:
        waiting -= 1
        s = todo[waiting]
        for k in range(first[s], first[s + 1]):
            if not seen[links[k, 1]]:
                seen[links[k, 1]] = True
                todo[waiting] = links[k, 1]
                waiting += 1
    return bool(seen[1])


def byte_classes(nfas: Sequence[Nfa]) -> Octets:
    """A class for every byte, uint8[256]: bytes that no edge tells apart share one. Classes are intervals."""
    return _byte_classes(nfas[0].edges if len(nfas) == 1 else np.concatenate([nfa.edges for nfa in nfas]))


@jit
def _byte_classes(edges: IntRows) -> Octets:
    cut = np.zeros(257, np.bool_)
    for i in range(len(edges)):
        cut[edges[i, 1]] = cut[edges[i, 2] + 1] = True
    classes = np.zeros(256, np.uint8)
    for byte in range(1, 256):
        classes[byte] = classes[byte - 1] + cut[byte]
    return classes
