"""Exits of the loop around a state: where the tokens go on that don't stay in it.

Exits are known because most of the tokens behind the state stay in a region: the state is in it, or it goes on as one
of its states does, but for a few bytes (a key that may become a declared one, say). The exits are the nodes at which
tokens leave the loop, and those few bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_types import Ints
from grammar_cache.configurations.arena import NetworkArrays
from grammar_cache.configurations.interner import Configurations
from grammar_cache.successors.self_loops import byte_weights, region, wide_loop_at
from grammar_cache.vocabulary.token_set import TokenBits
from grammar_cache.vocabulary.vocabulary import Vocabulary


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


class KnownExits:
    """Loop exits of configurations of one grammar, by the state of their only item."""

    def __init__(self, configurations: Configurations, vocabulary: Vocabulary) -> None:
        self._configurations = configurations
        self._vocabulary = vocabulary
        self._weights = byte_weights(vocabulary)
        self._by_state: dict[int, LoopExits | None] = {}

    def around(self, configuration: int) -> tuple[LoopExits, Ints] | None:
        """Loop exits of a configuration's only item, if that is all there is, and the configurations of their
        places; None where a byte from one of these counts in what a token costs.
        """
        table, arena = self._configurations, self._configurations.arena
        first, past = arena.item_first[configuration : configuration + 2].tolist()
        if past != first + 1 or arena.accepts[configuration]:
            return None
        state, node = divmod(int(arena.items[first]), 1 << 32)
        if state not in self._by_state:
            self._by_state[state] = surroundings(table.rules, state, self._vocabulary, self._weights)
        known = self._by_state[state]
        if known is None:
            return None
        if known.moves + known.ending * table.pops(node, table.rules.dear) > table.rules.dear:
            return None
        return known, table.alone(known.states, node)


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
