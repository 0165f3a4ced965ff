"""Loop exits of a state: what is known of the tokens behind it, because most of them stay in a loop, in that of a
string, mostly.

The state is in the loop, or it goes on as one of its states does, but for a few bytes: a key that may become a declared
one, say. The exits are the nodes at which tokens leave the loop, and those few bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_types import Ints
from grammar_cache.configurations.arena import NetworkArrays
from grammar_cache.successors.self_loops import region, wide_loop_at
from grammar_cache.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class LoopExits:
    """`states`: places, the one asked for among them. At `ends`, places again, tokens end: the `shortest` strings of
    each. Still to be looked at are the nodes from each of `begin` to before `past`, coming from the places `before`;
    `visited` is how many nodes that leaves out.
    """

    states: Ints
    ends: Ints
    shortest: Ints
    begin: Ints
    past: Ints
    before: Ints
    visited: int


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
        begin,
        trie.skip[begin],
        np.append(places[len(ends) : -1], np.full(len(others), places[-1])).astype(np.int32),
        int(found.visited[alike].sum()),
    )


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
