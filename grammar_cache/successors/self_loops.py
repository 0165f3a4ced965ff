"""Loops that read much of a vocabulary, by content: the inside of a JSON string, of a comment, of an identifier.

A *region* is a set of states of one rule that a state leads through back to itself. The tokens that stay in it, and
where the others leave it, depend on nothing else, so that it is walked once for all grammars of a vocabulary.

A state's *loop exits* are known because most of the tokens behind it stay in a region: the state is in it, or it goes
on as one of its states does, but for a few bytes (a key that may become a declared one, say). The exits are the nodes
at which tokens leave the loop, and those few bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.configurations.arena import NetworkBlock
from grammar_cache.loops.array_types import Flags, Ints, Longs
from grammar_cache.successors.self_loop_kernels import (
    around,
    heaviest_behind,
    least_into,
    may_end,
    tokens_in,
)
from grammar_cache.successors.token_kernels import TokenArrays
from grammar_cache.vocabulary.token_set import TokenBits, mask_bytes
from grammar_cache.vocabulary.vocabulary import Vocabulary

CACHE_BYTES = 16 << 20
_LARGEST = 64
"""States that are looked at: those of a JSON string are fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """The region of a state in one grammar: its `states`, that one first.

    `after[place, byte]`: the place of the state after it, or that it leads nowhere, or out of the region. `key`: equal
    for regions that read alike.
    """

    states: Ints
    after: NDArray[np.int8]
    key: bytes


def loop_at(rules: NetworkBlock, state: int, weights: Longs, share: int = 2) -> Loop | None:
    """The region of a state, if it leads back to itself and more than one of `share` tokens stay there at first.

    `weights`: of the tokens, by first byte. States that call a rule, or that a rule may end in, are outside.
    """
    states, after = np.empty(_LARGEST, np.int32), np.empty((_LARGEST, 256), np.int8)
    size = around(rules, state, weights, share, states, after)
    if not size:
        return None
    after = after[:size].copy()
    return Loop(states[:size].copy(), after, blake2b(after.tobytes(), digest_size=16).digest())


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Tokens that stay in a region, and by place in it those that end there.

    `shortest`: by the first byte of tokens and the place in it, the shortest, then least string that ends there, or -1.
    `exits`: trie nodes, ascending, at which tokens leave it, the places that they leave from, and the bytes that they
    begin with. `visited`: by first byte, how many other nodes were looked at.
    """

    tokens: TokenBits
    ending: tuple[TokenBits, ...]
    shortest: NDArray[np.int32]
    exits: NDArray[np.int32]
    leaving: NDArray[np.int8]
    under: NDArray[np.uint8]
    visited: NDArray[np.int64]

    @property
    def size_bytes(self) -> int:
        arrays = (self.shortest, self.exits, self.leaving, self.under, self.visited)
        bits = sum(one.size_bytes + 100 for one in (self.tokens, *self.ending))
        return bits + sum(array.nbytes for array in arrays) + 200


class RegionCache(LruCache[bytes, Region]):
    """Regions of one vocabulary by the key of their loop: see `Vocabulary.cache`."""

    def __init__(self) -> None:
        super().__init__(CACHE_BYTES)


def region(loop: Loop, vocabulary: Vocabulary) -> Region:
    """Classification of the tokens in a region."""
    cache = vocabulary.cache(RegionCache)
    known = cache.get(loop.key)
    if known is None:
        known = _walked(loop, vocabulary)
        cache.keep(loop.key, known, known.size_bytes)
    return known


def _walked(loop: Loop, vocabulary: Vocabulary) -> Region:
    words = TokenArrays.of(vocabulary)
    bits = np.zeros((len(loop.states), mask_bytes(vocabulary.size)), np.uint8)
    shortest, visited = np.full((256, len(loop.states)), -1, np.int32), np.zeros(256, np.int64)
    exits, leaving = np.empty(vocabulary.trie.size, np.int32), np.empty(vocabulary.trie.size, np.int8)
    path = np.zeros(vocabulary.longest + 1, np.int8)
    count = tokens_in(loop.after, words, path, bits, shortest, exits, leaving, visited)
    ending = tuple(TokenBits.of(row.copy()) for row in bits)
    tokens = TokenBits.of(np.bitwise_or.reduce(bits, axis=0))
    first = vocabulary.children.node[: vocabulary.children.first[1]]
    under = vocabulary.trie.byte[first[np.searchsorted(first, exits[:count], side="right") - 1]]
    return Region(tokens, ending, shortest, exits[:count].copy(), leaving[:count].copy(), under, visited)


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """Parts of `LoopExits` that are the same wherever a state goes on as a region's first one but for the same bytes:
    `used` are places of the region, or how many it has for the state itself.
    """

    used: Ints
    ends: Ints
    shortest: Ints
    tokens: tuple[TokenBits, ...]
    begin: Ints
    past: Ints
    before: Ints
    visited: int
    apart: int

    @property
    def size_bytes(self) -> int:
        arrays = (self.used, self.ends, self.shortest, self.begin, self.past, self.before)
        return sum(array.nbytes + 100 for array in arrays) + 300


class _WaysCache(LruCache[tuple[bytes, bytes], _Ways]):
    """Ways of one vocabulary by the key of their loop and the bytes that are read alike: see `Vocabulary.cache`."""

    def __init__(self) -> None:
        super().__init__(CACHE_BYTES)


@dataclass(frozen=True, slots=True, eq=False)
class LoopExits:
    """`states`: places, the one asked for among them. At `ends`, places again, tokens end: the `shortest` strings of
    each, and all `tokens` of the region. Still to be looked at are the nodes from each of `begin` to before `past`,
    coming from the places `before`; `visited` is how many nodes that leaves out. What is at the last `apart` of these
    nodes is among the region's tokens, and doesn't stay. `ending`: a byte may lead to the end of the rule.
    """

    states: Ints
    ends: Ints
    shortest: Ints
    tokens: tuple[TokenBits, ...]
    begin: Ints
    past: Ints
    before: Ints
    visited: int
    apart: int
    ending: bool

    @property
    def own_bytes(self) -> int:
        """Bytes without the arrays that are the same around other states: see `_Ways`."""
        return self.states.nbytes + 300


@dataclass(frozen=True, slots=True, eq=False)
class Like:
    """A state that others mostly go on as: the next state by byte, or -1, and the region if most tokens stay there."""

    after: Ints
    loop: Loop | None

    @property
    def size_bytes(self) -> int:
        loop = 0 if self.loop is None else self.loop.states.nbytes + self.loop.after.nbytes + 400
        return self.after.nbytes + loop + 300


def surroundings(rules: NetworkBlock, state: int, vocabulary: Vocabulary, likes: dict[int, Like]) -> LoopExits | None:
    """Exits of the loop around a state; None if most tokens don't stay in a loop at first. `likes`: what is known of
    states that others go on as, to which it adds.
    """
    after, weights = np.empty(256, np.int32), vocabulary.byte_weights
    most, heaviest, alive = heaviest_behind(rules, state, weights, after)
    if not most:
        return None
    loop, other = loop_at(rules, state, weights) if 2 * alive > most else None, after
    if loop is None and heaviest >= 0:
        like = likes.get(heaviest)
        if like is None:
            like = likes[heaviest] = _like(rules, heaviest, weights)
        loop, other = like.loop, like.after
    if loop is None:
        return None
    alike = after == other
    if weights[~alike].sum() * 2 > most:
        return None
    ways, states = _ways(loop, alike, vocabulary), np.append(loop.states, state)
    return LoopExits(
        states[ways.used],
        ways.ends,
        ways.shortest,
        ways.tokens,
        ways.begin,
        ways.past,
        ways.before,
        ways.visited,
        ways.apart,
        may_end(rules, states),
    )


def _like(rules: NetworkBlock, state: int, weights: Longs) -> Like:
    after = np.empty(256, np.int32)
    heaviest_behind(rules, state, weights, after)
    return Like(after, loop_at(rules, state, weights))


def _ways(loop: Loop, alike: Flags, vocabulary: Vocabulary) -> _Ways:
    """Ways from a state that reads some bytes as the first state of a loop does."""
    cache = vocabulary.cache(_WaysCache)
    key = loop.key, alike.tobytes()
    known = cache.get(key)
    if known is None:
        known = _found_ways(region(loop, vocabulary), len(loop.states), alike, vocabulary)
        cache.keep(key, known, known.size_bytes)
    return known


def _found_ways(found: Region, size: int, alike: Flags, vocabulary: Vocabulary) -> _Ways:
    trie = vocabulary.trie
    first = vocabulary.children.node[: vocabulary.children.first[1]]
    others = first[~alike[trie.byte[first]]]
    stays = alike[found.under]
    exits, leaving = found.exits[stays], found.leaving[stays].astype(np.int32)
    shortest = _least(found.shortest, alike, vocabulary.lengths)
    ends = np.flatnonzero(shortest >= 0)
    begin = np.concatenate([exits, others])
    used, places = np.unique(np.concatenate([ends, leaving, [size]]), return_inverse=True)
    return _Ways(
        used.astype(np.int32),
        places[: len(ends)].astype(np.int32),
        shortest[ends],
        tuple(found.ending[end] for end in ends.tolist()),
        begin,
        trie.skip[begin],
        np.append(places[len(ends) : -1], np.full(len(others), places[-1])).astype(np.int32),
        int(found.visited[alike].sum()),
        len(others),
    )


def _least(strings: Ints, rows: Flags, lengths: Ints) -> Ints:
    """Least strings: the shortest, then least one of each column, in the chosen rows; -1 where there is none."""
    least = np.empty(strings.shape[1], np.int32)
    least_into(strings, rows, lengths, least)
    return least
