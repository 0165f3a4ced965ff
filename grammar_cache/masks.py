"""Which tokens may come next, as one bit each, without walking the whole vocabulary at every new configuration.

Most tokens stay inside the rule that an item is in, whatever lies below on the stack: what they are depends on the
item's state alone, and is walked once. The others end that rule on their way and go on below it; they begin with one
of the `exits` of the state, and only there is the stack looked at, once for each configuration that a rule may end in.

This is for grammars without a lexer and for budgets that every such token fits; `bits` says where it can't tell. This
module knows tokens and distances, but no request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from grammar_cache.configuration import Configurations
from grammar_cache.distance import Distances
from grammar_cache.vocabulary import Vocabulary

Bits = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class _Inside:
    """Tokens that a state's rule is still in, or ends with; `farthest`: the most that any of them leaves to its end.

    `exits`: trie nodes at which the rule has ended and longer tokens begin.
    """

    bits: Bits
    farthest: int
    exits: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class _Below:
    """Tokens that go on below the rule, as values of some bytes of a mask; `farthest` counts to the end of the text."""

    places: NDArray[np.int32]
    values: Bits
    farthest: int


@dataclass(frozen=True, slots=True, eq=False)
class _Mask:
    """Right for whoever has `farthest` tokens or more behind this one."""

    bits: Bits
    farthest: int


class Masks:
    """Masks of visited configurations, and the parts that they are made of; the least recently used go first."""

    def __init__(
        self, configurations: Configurations, distances: Distances, vocabulary: Vocabulary, limit_bytes: int
    ) -> None:
        self._configurations = configurations
        self._distances = distances
        self._vocabulary = vocabulary
        self._bytes = _size(vocabulary)
        self._kept = max(16, limit_bytes // (2 * self._bytes))
        self._inside: dict[int, _Inside] = {}
        self._below: OrderedDict[tuple[int, int], _Below] = OrderedDict()
        self._masks: OrderedDict[int, _Mask] = OrderedDict()

    def bits(self, configuration: int, tokens: int) -> Bits | None:
        """One bit a token, little-endian, in multiples of 32; None if some token may need more than `tokens` behind it.

        Read-only. Stop ids are set iff the text is complete.
        """
        mask = self._masks.get(configuration)
        if mask is None:
            mask = self._made(configuration)
            _keep(self._masks, configuration, mask, self._kept)
        else:
            self._masks.move_to_end(configuration)
        return mask.bits if mask.farthest <= tokens else None

    def _made(self, configuration: int) -> _Mask:
        bits = np.zeros(self._bytes, np.uint8)
        farthest = 0
        self._distances.update()
        for state, node in self._configurations.items[configuration]:
            known = self._inside.get(state)
            if known is None:
                known = self._inside[state] = self._walked_inside(state)
            np.bitwise_or(bits, known.bits, out=bits)
            if known.farthest >= 0:
                farthest = max(farthest, known.farthest + self._distances.node_cost(node))
            if len(known.exits):
                under = self._under(state, known.exits, self._configurations.popped(node))
                bits[under.places] |= under.values
                farthest = max(farthest, under.farthest)
        if self._configurations.accepts[configuration]:
            _allow(self._vocabulary.stop_ids, bits)
        bits.flags.writeable = False
        return _Mask(bits, farthest)

    def _under(self, state: int, exits: NDArray[np.int32], after: int) -> _Below:
        known = self._below.get((state, after))
        if known is None:
            known = self._walked_below(exits, after)
            _keep(self._below, (state, after), known, self._kept)
        return known

    def _walked_inside(self, state: int) -> _Inside:
        table, vocabulary, trie = self._configurations, self._vocabulary, self._vocabulary.trie
        start = table.at(state)
        bits = np.zeros(self._bytes, np.uint8)
        exits, missed = np.empty(trie.size, np.int32), np.empty((trie.size, 2), np.int32)
        reached = np.zeros(table.count, np.bool_)
        seeds, exit_count = np.array([[0, start]], np.int32), 0
        while len(seeds):
            self._expand(seeds[:, 1])
            reached = np.concatenate([reached, np.zeros(table.count - len(reached), np.bool_)])
            exit_count, misses = inside(
                trie.byte, trie.depth, trie.skip, trie.string, table.network.classes, table.next, table.accepts,
                seeds, vocabulary.longest, vocabulary.token_offsets, vocabulary.token_list, bits, reached, exits,
                exit_count, missed,
            )  # fmt: skip
            seeds = missed[:misses].copy()
        self._distances.update()
        farthest = int(self._distances.additive[: len(reached)][reached].max(initial=-1))
        return _Inside(bits, farthest, np.sort(exits[:exit_count]))

    def _walked_below(self, exits: NDArray[np.int32], after: int) -> _Below:
        table, vocabulary, trie = self._configurations, self._vocabulary, self._vocabulary.trie
        room = int((trie.skip[exits] - exits).sum())
        strings, reached = np.empty(room, np.int32), np.empty(room, np.int32)
        missed = np.empty((room, 2), np.int32)
        seeds = np.stack([exits, np.full_like(exits, after)], axis=1)
        count, first = 0, True
        while len(seeds):
            self._expand(seeds[:, 1])
            count, misses = below(
                trie.byte, trie.depth, trie.skip, trie.string, table.network.classes, table.next,
                seeds, first, vocabulary.longest, strings, reached, count, missed,
            )  # fmt: skip
            seeds, first = missed[:misses].copy(), False
        self._distances.update()
        farthest = int(self._distances.additive[reached[:count]].max(initial=0))
        tokens = _tokens(strings[:count], vocabulary.token_offsets, vocabulary.token_list)
        places, which = np.unique(tokens >> 3, return_inverse=True)
        values = np.zeros(len(places), np.uint8)
        np.bitwise_or.at(values, which, (1 << (tokens & 7)).astype(np.uint8))
        return _Below(places, values, farthest)

    def _expand(self, configurations: NDArray[np.int32]) -> None:
        for unknown in np.unique(configurations).tolist():
            self._configurations.expand(unknown)


def packed(vocabulary: Vocabulary, viable: NDArray[np.bool_], *, stop: bool) -> Bits:
    """The mask of the viable strings, bool[strings], as bits by token id, and of the stop ids."""
    found = np.packbits(np.append(viable, False)[vocabulary.string_of], bitorder="little")
    bits = np.pad(found, (0, _size(vocabulary) - len(found)))
    if stop:
        _allow(vocabulary.stop_ids, bits)
    bits.flags.writeable = False
    return bits


def _size(vocabulary: Vocabulary) -> int:
    """Bytes of a mask."""
    return 4 * -(-vocabulary.size // 32)


def _allow(tokens: Iterable[int], bits: Bits) -> None:
    for token in tokens:
        bits[token >> 3] |= 1 << (token & 7)


_K = TypeVar("_K")
_V = TypeVar("_V")


def _keep(kept: OrderedDict[_K, _V], key: _K, value: _V, count: int) -> None:
    kept[key] = value
    if len(kept) > count:
        kept.popitem(last=False)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def inside(
    byte: NDArray[np.uint8],
    depth: NDArray[np.int32],
    skip: NDArray[np.int32],
    string: NDArray[np.int32],
    classes: NDArray[np.uint8],
    table: NDArray[np.int32],
    accepts: NDArray[np.bool_],
    seeds: NDArray[np.int32],
    longest: int,
    offsets: NDArray[np.int32],
    token_list: NDArray[np.int32],
    bits: Bits,
    reached: NDArray[np.bool_],
    exits: NDArray[np.int32],
    exit_count: int,
    missed: NDArray[np.int32],
) -> tuple[int, int]:
    """Sets the bits of the tokens below the seeds (node, configuration before it) that are alive, and where they lead.

    Returns how many `exits` there are now, and how many seeds are left for the next call in `missed`.
    """
    path = np.empty(longest + 1, np.int32)
    misses = 0
    for k in range(len(seeds)):
        i, end = seeds[k, 0], skip[seeds[k, 0]]
        path[max(0, depth[i] - 1)] = seeds[k, 1]
        i = max(i, 1)
        while i < end:
            before = path[depth[i] - 1]
            after = table[before, classes[byte[i]]]
            if after < 0:
                if after == -2:
                    missed[misses, 0] = i
                    missed[misses, 1] = before
                    misses += 1
                i = skip[i]
                continue
            path[depth[i]] = after
            if string[i] >= 0:
                for t in range(offsets[string[i]], offsets[string[i] + 1]):
                    bits[token_list[t] >> 3] |= np.uint8(1 << (token_list[t] & 7))
                reached[after] = True
            if accepts[after] and skip[i] > i + 1:
                exits[exit_count] = i
                exit_count += 1
            i += 1
    return exit_count, misses


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def below(
    byte: NDArray[np.uint8],
    depth: NDArray[np.int32],
    skip: NDArray[np.int32],
    string: NDArray[np.int32],
    classes: NDArray[np.uint8],
    table: NDArray[np.int32],
    seeds: NDArray[np.int32],
    first: bool,
    longest: int,
    strings: NDArray[np.int32],
    reached: NDArray[np.int32],
    count: int,
    missed: NDArray[np.int32],
) -> tuple[int, int]:
    """The strings below the seeds that are alive, and what they lead to, added to `strings` and `reached`.

    At `first` a seed is a node and the configuration after it, later one before it, as left in `missed`. A string may
    be found more than once: exits lie below each other.
    """
    path = np.empty(longest + 1, np.int32)
    misses = 0
    for k in range(len(seeds)):
        i, end = seeds[k, 0], skip[seeds[k, 0]]
        if first:
            path[depth[i]] = seeds[k, 1]
            i += 1
        else:
            path[depth[i] - 1] = seeds[k, 1]
        while i < end:
            before = path[depth[i] - 1]
            after = table[before, classes[byte[i]]]
            if after < 0:
                if after == -2:
                    missed[misses, 0] = i
                    missed[misses, 1] = before
                    misses += 1
                i = skip[i]
                continue
            path[depth[i]] = after
            if string[i] >= 0:
                strings[count] = string[i]
                reached[count] = after
                count += 1
            i += 1
    return count, misses


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _tokens(strings: NDArray[np.int32], offsets: NDArray[np.int32], token_list: NDArray[np.int32]) -> NDArray[np.int32]:
    size = 0
    for s in strings:
        size += offsets[s + 1] - offsets[s]
    found = np.empty(size, np.int32)
    at = 0
    for s in strings:
        for k in range(offsets[s], offsets[s + 1]):
            found[at] = token_list[k]
            at += 1
    return found
