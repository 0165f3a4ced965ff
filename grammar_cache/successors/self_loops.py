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
from grammar_cache.array_types import Ints, Longs
from grammar_cache.configurations.arena import NetworkArrays
from grammar_cache.jit import jit, jit_no_arrays
from grammar_cache.successors.token_kernels import TokenArrays
from grammar_cache.vocabulary.token_set import TokenBits, mask_bytes
from grammar_cache.vocabulary.vocabulary import Vocabulary

CACHE_BYTES = 16 << 20
_LARGEST = 64
"""States that are looked at: those of a JSON string are fewer."""
_DEAD, _OUT = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """The region of a state in one grammar: its `states`, that one first.

    `after[place, byte]`: the place of the state after it, or that it leads nowhere, or out of the region.
    """

    states: Ints
    after: NDArray[np.int8]

    @property
    def key(self) -> bytes:
        """Equal for regions that read alike."""
        return blake2b(self.after.tobytes(), digest_size=16).digest()


def loop_at(rules: NetworkArrays, state: int) -> Loop | None:
    """The region of a state; None if it doesn't lead back to itself.

    States that call a rule, or that a rule may end in, are outside.
    """
    states = np.empty(_LARGEST, np.int32)
    after = np.empty((_LARGEST, 256), np.int8)
    size = _around(rules, state, states, after)
    return Loop(states[:size], after[:size]) if size else None


def wide_loop_at(rules: NetworkArrays, state: int, weights: NDArray[np.int64]) -> Loop | None:
    """The region of a state, if most tokens stay in it at first."""
    loop = loop_at(rules, state)
    stays = 0 if loop is None else weights[loop.after[0] >= 0].sum()
    return loop if stays * 2 > weights.sum() else None


def byte_weights(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Weight of each byte: how much of the trie begins with it."""
    trie = vocabulary.trie
    first = vocabulary.children.node[: vocabulary.children.first[1]]
    weights = np.zeros(256, np.int64)
    weights[trie.byte[first]] = trie.skip[first] - first
    return weights


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Tokens that stay in a region, and by place in it those that end there.

    `shortest`: by the first byte of tokens and the place in it, the shortest, then least string that ends there, or -1.
    `exits`: trie nodes, ascending, at which tokens leave it, and the places that they leave from. `visited`: by first
    byte, how many other nodes were looked at.
    """

    tokens: TokenBits
    ending: tuple[TokenBits, ...]
    shortest: NDArray[np.int32]
    exits: NDArray[np.int32]
    leaving: NDArray[np.int8]
    visited: NDArray[np.int64]

    @property
    def size_bytes(self) -> int:
        arrays = (self.shortest, self.exits, self.leaving, self.visited)
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
    count = _tokens_in(loop.after, words, path, bits, shortest, exits, leaving, visited)
    ending = tuple(TokenBits.of(row.copy()) for row in bits)
    tokens = TokenBits.of(np.bitwise_or.reduce(bits, axis=0))
    return Region(tokens, ending, shortest, exits[:count].copy(), leaving[:count].copy(), visited)


@dataclass(frozen=True, slots=True, eq=False)
class LoopExits:
    """`states`: places, the one asked for among them. At `ends`, places again, tokens end: the `shortest` strings of
    each, and all `tokens` of the region. Still to be looked at are the nodes from each of `begin` to before `past`,
    coming from the places `before`; `visited` is how many nodes that leaves out. What is at the last `apart` of these
    nodes is among the region's tokens, and doesn't stay. A byte from no place costs more items and edges than `moves`,
    and `ending` times what the end of the rule pops.
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
    moves: int
    ending: int


def surroundings(
    rules: NetworkArrays, state: int, vocabulary: Vocabulary, weights: NDArray[np.int64]
) -> LoopExits | None:
    """Exits of the loop around a state; None if most tokens don't stay in a loop at first. `weights`: by byte, how much
    of the trie begins with it.
    """
    if rules.final[state] or rules.call_first[state] < rules.call_first[state + 1]:
        return None
    after = _after(rules, state)
    loop, like = wide_loop_at(rules, state, weights), state
    if loop is None and (after >= 0).any():
        like = int(np.bincount(after[after >= 0], weights[after >= 0]).argmax())
        loop = wide_loop_at(rules, like, weights)
    if loop is None:
        return None
    alike = after == _after(rules, like)
    if weights[~alike].sum() * 2 > weights.sum():
        return None
    found, trie = region(loop, vocabulary), vocabulary.trie
    first = vocabulary.children.node[: vocabulary.children.first[1]]
    others = first[~alike[trie.byte[first]]]
    under = trie.byte[first[np.searchsorted(first, found.exits, side="right") - 1]]
    exits, leaving = found.exits[alike[under]], found.leaving[alike[under]].astype(np.int32)
    shortest = _least(found.shortest[alike], vocabulary.lengths)
    ends = np.flatnonzero(shortest >= 0)
    begin = np.concatenate([exits, others])
    used, places = np.unique(np.concatenate([ends, leaving, [len(loop.states)]]), return_inverse=True)
    return LoopExits(
        np.append(loop.states, state)[used],
        places[: len(ends)].astype(np.int32),
        shortest[ends],
        tuple(found.ending[end] for end in ends.tolist()),
        begin,
        trie.skip[begin],
        np.append(places[len(ends) : -1], np.full(len(others), places[-1])).astype(np.int32),
        int(found.visited[alike].sum()),
        len(others),
        *_most_moves(rules, np.append(loop.states, state)),
    )


def _most_moves(rules: NetworkArrays, states: Ints) -> tuple[int, int]:
    """Bounds on what reading a byte costs from states that call nothing: items that it makes, and ends of a rule."""
    targets = [rules.move_to[rules.move_first[state] : rules.move_first[state + 1]] for state in states.tolist()]
    return 1 + 2 * max(map(len, targets)), max(int(rules.final[to].sum()) for to in targets)


def _after(rules: NetworkArrays, state: int) -> Ints:
    """Next state of a state in its rule, by byte, or -1."""
    by_class = np.full(int(rules.classes.max()) + 1, -1, np.int32)
    moves = slice(rules.move_first[state], rules.move_first[state + 1])
    by_class[rules.move_class[moves]] = rules.move_to[moves]
    return by_class[rules.classes]


def _least(strings: Ints, lengths: Ints) -> Ints:
    """Least strings: the shortest, then least one of each column; -1 where there is none."""
    absent = strings < 0
    order = np.where(absent, np.iinfo(np.int64).max, lengths[strings].astype(np.int64) << 32 | strings)
    least = order.min(axis=0, initial=np.iinfo(np.int64).max)
    return np.where(least == np.iinfo(np.int64).max, -1, least & 0xFFFFFFFF).astype(np.int32)


@jit
def _around(rules: NetworkArrays, state: int, states: Ints, after: NDArray[np.int8]) -> int:
    """Fills `states` and `after`: how many states there are. They are numbered as bytes meet them, breadth first."""
    row, size, i = np.empty(rules.classes.max() + 1, np.int32), 1, 0
    near = np.full((len(states), 256), _DEAD, np.int8)
    states[0] = state
    while i < size:
        s = states[i]
        if rules.final[s] or rules.call_first[s] < rules.call_first[s + 1]:
            near[i, 0] = _OUT  # never part of a region: nothing of it is looked at
            i += 1
            continue
        row[:] = -1
        for m in range(rules.move_first[s], rules.move_first[s + 1]):
            row[rules.move_class[m]] = rules.move_to[m]
        for byte in range(256):
            to = row[rules.classes[byte]]
            if to < 0:
                continue
            place = 0
            while place < size and states[place] != to:
                place += 1
            if place == size and size < len(states):
                states[size] = to
                size += 1
            near[i, byte] = place if place < size else _OUT
        i += 1
    back = np.zeros(size, np.bool_)
    changed = True
    while changed:
        changed = False
        for i in range(size):
            for byte in range(256):
                to = near[i, byte]
                if not back[i] and (to == 0 or (to > 0 and back[to])):
                    back[i] = changed = True
    if not back[0]:
        return 0
    place_of, kept = np.full(size, _OUT, np.int8), 0
    for i in range(size):
        if back[i]:
            place_of[i], states[kept] = kept, states[i]
            kept += 1
    for i in range(size):
        if back[i]:
            for byte in range(256):
                to = near[i, byte]
                after[place_of[i], byte] = place_of[to] if to >= 0 else to
    return kept


@jit_no_arrays
def _tokens_in(
    after: NDArray[np.int8],
    words: TokenArrays,
    path: NDArray[np.int8],
    bits: NDArray[np.uint8],
    shortest: Ints,
    exits: Ints,
    leaving: NDArray[np.int8],
    visited: Longs,
) -> int:
    """Sets the bits of the tokens that stay, by the place where they end, and the `shortest` strings; notes the nodes
    at which others leave.

    Returns how many nodes these are; `leaving` are the places before them. Others are counted: they are `visited`.
    """
    count, i, first = 0, 1, 0
    while i < len(words.byte):
        if words.depth[i] == 1:
            first = words.byte[i]
        before = path[words.depth[i] - 1]
        to = after[before, words.byte[i]]
        if to < 0:
            if to == _OUT:
                exits[count], leaving[count] = i, before
                count += 1
            else:
                visited[first] += 1
            i = words.skip[i]
            continue
        visited[first] += 1
        path[words.depth[i]] = to
        string = words.string[i]
        if string >= 0:
            known = shortest[first, to]
            if known < 0 or (words.lengths[string], string) < (words.lengths[known], known):
                shortest[first, to] = string
            for t in range(words.offsets[string], words.offsets[string + 1]):
                bits[to, words.ids[t] >> 3] |= np.uint8(1 << (words.ids[t] & 7))
        i += 1
    return count
