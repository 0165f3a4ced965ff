"""Nondeterministic automata over byte ranges, and how code points become bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grammar_cache.expression import Range

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


@dataclass(slots=True)
class Nfa:
    """States are 0 (start), 1 (accept), 2…; edges as (low byte, high byte, target)."""

    epsilon: list[list[int]] = field(default_factory=lambda: [[], []])
    edges: list[list[tuple[int, int, int]]] = field(default_factory=lambda: [[], []])
    calls: list[list[tuple[int, int]]] = field(default_factory=lambda: [[], []])

    def add(self) -> int:
        self.epsilon.append([])
        self.edges.append([])
        self.calls.append([])
        return len(self.edges) - 1

    def add_chain(self, source: int, target: int, ranges: Sequence[Range]) -> None:
        """A path from source to target that reads one byte of each range."""
        for low, high in ranges[:-1]:
            state = self.add()
            self.edges[source].append((low, high, state))
            source = state
        low, high = ranges[-1]
        self.edges[source].append((low, high, target))


def byte_classes(nfas: Iterable[Nfa]) -> NDArray[np.uint8]:
    """A class for every byte, uint8[256]: bytes that no edge tells apart share one. Classes are intervals."""
    cut = np.zeros(257, bool)
    for nfa in nfas:
        for edges in nfa.edges:
            for low, high, _ in edges:
                cut[low] = cut[high + 1] = True
    cut[0] = False
    return np.cumsum(cut[:256]).astype(np.uint8)
