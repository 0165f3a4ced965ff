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
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from grammar_cache.arena import Ints, Rules, Store
from grammar_cache.configuration import Configurations
from grammar_cache.distance import INFINITE, Distances
from grammar_cache.levels import LEVELS, alike
from grammar_cache.stepping import expand
from grammar_cache.vocabulary import Vocabulary
from grammar_cache.walk import Tokens

Bits = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class _Inside:
    """Tokens that a state's rule is still in, or ends with; `farthest`: no less than any of them leaves to its end.

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
        self._words = Tokens.of(vocabulary)
        self._path = np.empty(vocabulary.longest + 1, np.int32)
        self._bytes = _size(vocabulary)
        self._kept = max(16, limit_bytes // (2 * self._bytes))
        self._inside: dict[int, _Inside] = {}
        self._nothing = _Inside(np.zeros(0, np.uint8), -1, np.empty(0, np.int32))
        self._alike: dict[int, Ints] = {}
        self._first_alike: dict[tuple[int, int], int] = {}
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
        for state, node in self._configurations.items(configuration):
            known = self._inside.get(state)
            if known is None:
                known = self._inside[state] = self._found_inside(state)
            np.bitwise_or(bits, known.bits, out=bits)
            if known.farthest >= 0:
                farthest = max(farthest, known.farthest + self._distances.node_cost(node))
            if len(known.exits):
                under = self._under(state, known.exits, self._configurations.popped(node))
                bits[under.places] |= under.values
                farthest = max(farthest, under.farthest)
        if self._configurations.accepts(configuration):
            _allow(self._vocabulary.stop_ids, bits)
        bits.flags.writeable = False
        return _Mask(bits, farthest)

    def _under(self, state: int, exits: NDArray[np.int32], after: int) -> _Below:
        known = self._below.get((state, after))
        if known is None:
            known = self._walked_below(exits, after)
            _keep(self._below, (state, after), known, self._kept)
        return known

    def _found_inside(self, state: int) -> _Inside:
        """Walked, but for the short tokens if a state that was walked before reads short texts alike."""
        first, kinds_of = self._levels(state)
        kinds = kinds_of[:, state - first].tolist()
        for level in range(len(kinds) - 1, -1, -1):
            like = self._first_alike.get((level, kinds[level]))
            if like is not None:
                length = int(LEVELS[level])
                found = self._shifted(self._inside[like], like, state)
                if length < self._vocabulary.longest:
                    found = self._walked_inside(state, found, length)
                break
        else:
            found = self._walked_inside(state, self._nothing, 0)
        for level, kind in enumerate(kinds):
            self._first_alike.setdefault((level, kind), state)
        return found

    def _shifted(self, found: _Inside, like: int, state: int) -> _Inside:
        """The same for another state: what is behind its tokens costs as much more as the state itself."""
        if found.farthest < 0:
            return found
        costs = self._distances.state_costs
        return replace(found, farthest=max(0, found.farthest + int(costs[state]) - int(costs[like])))

    def _levels(self, state: int) -> tuple[int, Ints]:
        """The first state of its rule, and what is alike in it."""
        network = self._configurations.network
        rule = int(network.states.rule[state])
        known = self._alike.get(rule)
        if known is None:
            bounds = (*network.entry, network.states.count)
            costs = self._distances.state_costs
            known = alike(self._configurations.rules, costs, INFINITE, bounds[rule], bounds[rule + 1], LEVELS)
            self._alike[rule] = known
        return network.entry[rule], known

    def _walked_inside(self, state: int, like: _Inside, length: int) -> _Inside:
        """Walks the tokens of more than `length` bytes; the others are those of `like`."""
        table, path, long_tokens = self._configurations, self._path, self._vocabulary.long_tokens
        bits = like.bits & long_tokens.others(length) if length else np.zeros(self._bytes, np.uint8)
        exits = np.empty(self._vocabulary.trie.size, np.int32)
        reached = np.zeros(0, np.bool_)
        path[0], place, exit_count = table.at(state), 1, 0
        while place < len(self._words.byte):
            reached = np.concatenate([reached, np.zeros(len(table.store.accepts) - len(reached), np.bool_)])
            place, exit_count, status = inside(
                table.rules, table.store, self._words, long_tokens.deepest, length, path, place, bits, reached, exits,
                exit_count,
            )  # fmt: skip
            if status < 0:
                table.outcome(status)
        self._distances.update()
        farthest = int(self._distances.additive[: len(reached)][reached].max(initial=like.farthest))
        kept = like.exits[self._words.depth[like.exits] <= length]
        together = np.sort(np.concatenate([kept, exits[:exit_count]]), kind="stable")  # two ascending runs
        return _Inside(like.bits if np.array_equal(bits, like.bits) else bits, farthest, together)

    def _walked_below(self, exits: NDArray[np.int32], after: int) -> _Below:
        table, vocabulary, words = self._configurations, self._vocabulary, self._words
        room = int((words.skip[exits] - exits).sum())
        strings, reached = np.empty(room, np.int32), np.empty(room, np.int32)
        done = place = count = 0
        while done < len(exits):
            done, place, count, status = below(
                table.rules, table.store, words, self._path, exits, after, done, place, strings, reached, count
            )
            if status < 0:
                table.outcome(status)
        self._distances.update()
        farthest = int(self._distances.additive[reached[:count]].max(initial=0))
        tokens = _tokens(strings[:count], vocabulary.token_offsets, vocabulary.token_list)
        places, which = np.unique(tokens >> 3, return_inverse=True)
        values = np.zeros(len(places), np.uint8)
        np.bitwise_or.at(values, which, (1 << (tokens & 7)).astype(np.uint8))
        return _Below(places, values, farthest)


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


@njit(cache=True, nogil=True, _nrt=False)  # type: ignore[untyped-decorator]
def inside(
    rules: Rules,
    store: Store,
    words: Tokens,
    deepest: Ints,
    length: int,
    path: Ints,
    i: int,
    bits: Bits,
    reached: NDArray[np.bool_],
    exits: Ints,
    exit_count: int,
) -> tuple[int, int, int]:
    """Sets the bits of the tokens from this place on that are alive, and where they lead; of those that are longer.

    Returns the place, how many `exits` there are now, and the status.
    """
    while i < len(words.byte):
        if deepest[i] <= length:
            i = words.skip[i]
            continue
        before = path[words.depth[i] - 1]
        if store.row[before] < 0:
            status = expand(rules, store, before)
            if status < 0:
                return i, exit_count, status
        after = store.next[store.row[before], rules.classes[words.byte[i]]]
        if after < 0:
            i = words.skip[i]
            continue
        path[words.depth[i]] = after
        i += 1
        if words.depth[i - 1] <= length:
            continue
        string = words.string[i - 1]
        if string >= 0:
            for t in range(words.offsets[string], words.offsets[string + 1]):
                bits[words.ids[t] >> 3] |= np.uint8(1 << (words.ids[t] & 7))
            reached[after] = True
        if store.accepts[after] and words.skip[i - 1] > i:
            exits[exit_count] = i - 1
            exit_count += 1
    return i, exit_count, 0


@njit(cache=True, nogil=True, _nrt=False)  # type: ignore[untyped-decorator]
def below(
    rules: Rules,
    store: Store,
    words: Tokens,
    path: Ints,
    exits: Ints,
    after_exit: int,
    done: int,
    i: int,
    strings: Ints,
    reached: Ints,
    count: int,
) -> tuple[int, int, int, int]:
    """The strings below the exits that are alive, and what they lead to, added to `strings` and `reached`.

    Goes on at node i below exit number `done`, or at the exit itself where i is 0. Returns both, how many strings there
    are, and the status. A string may be found more than once: exits lie below each other.
    """
    while done < len(exits):
        if i == 0:
            i = exits[done] + 1
            path[words.depth[exits[done]]] = after_exit
        end = words.skip[exits[done]]
        while i < end:
            before = path[words.depth[i] - 1]
            if store.row[before] < 0:
                status = expand(rules, store, before)
                if status < 0:
                    return done, i, count, status
            after = store.next[store.row[before], rules.classes[words.byte[i]]]
            if after < 0:
                i = words.skip[i]
                continue
            path[words.depth[i]] = after
            if words.string[i] >= 0:
                strings[count] = words.string[i]
                reached[count] = after
                count += 1
            i += 1
        done, i = done + 1, 0
    return done, i, count, 0


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
