"""The compiled loops of automata: the subset construction.

Transitions are three columns: tails (states), labels, heads (states). A label is a byte class below 256, or
256 + a rule that is called: a symbol like any other. This module knows no expression, no stack and no vocabulary.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.sorting import distinct
from grammar_cache.array_types import Flags, Ints, Longs
from grammar_cache.automata.nfa import ordered
from grammar_cache.jit import jit, jit_inline

S = TypeVar("S", bound=np.generic)

DONE, TOO_LARGE, STOPPED = 0, 1, 2
"""Status of a construction that ended."""

MEMBERS = 16
"""Members of all subsets for each state that is allowed: `a?a?a?…` has few states, each a subset of all the rest."""
STEPS = 256
"""States looked at, while subsets are closed, between two looks at `stop`."""

CALL = 256
"""Labels from here on are calls."""


@jit
def automaton(
    states: int,
    edges: Ints,
    skips: Ints,
    calls: Ints,
    classes: NDArray[np.uint8],
    nullable: Flags,
    dead: Flags,
    limit: int,
    stop: NDArray[np.uint8],
) -> tuple[int, Ints, Ints, Ints, Flags]:
    """Builds the automaton from the columns of an `Nfa`: calls of nullable rules may be skipped, dead ones are
    dropped.
    """
    links = np.empty((len(edges) + len(calls), 4), np.int32)
    ways = np.empty((len(skips) + len(calls), 2), np.int32)
    size, others = len(edges), len(skips)
    for i in range(size):
        links[i, 0], links[i, 3] = edges[i, 0], edges[i, 3]
        links[i, 1], links[i, 2] = classes[edges[i, 1]], classes[edges[i, 2]]
    for i in range(others):
        ways[i, 0], ways[i, 1] = skips[i, 0], skips[i, 1]
    for i in range(len(calls)):
        rule = calls[i, 1]
        if not dead[rule]:
            links[size, 0], links[size, 3] = calls[i, 0], calls[i, 2]
            links[size, 1] = links[size, 2] = CALL + rule
            size += 1
        if nullable[rule]:
            ways[others, 0], ways[others, 1] = calls[i, 0], calls[i, 2]
            others += 1
    _, links = ordered(links[:size], 1, CALL + len(dead))  # by label, so that one state's labels mostly ascend
    edge_first, links = ordered(links, 0, states)
    skip_first, ways = ordered(ways[:others], 0, states)
    found: tuple[int, Ints, Ints, Ints, Flags] = subsets(edge_first, links, skip_first, ways, limit, stop)
    return found


@jit
def subsets(
    edge_first: Ints, edges: Ints, skip_first: Ints, skips: Ints, limit: int, stop: NDArray[np.uint8]
) -> tuple[int, Ints, Ints, Ints, Flags]:
    """The deterministic automaton of the subsets that are reached: outcome, tails, labels, heads, final states.

    State s of the input has the edges (s, first label, last label, target) from `edge_first[s]` to `edge_first[s + 1]`,
    and the skips (s, target) likewise. State 0 is the start, 1 accepts.
    """
    states = len(edge_first) - 1
    seen = np.zeros(states, np.int64)  # by the number of the closure that has met a state
    stack, members = np.empty(states, np.int32), np.empty(states, np.int32)
    alone = np.full(states, -1, np.int32)  # the subset that one target leads to by itself
    first, pool, pairs = np.zeros(64, np.int64), np.empty(256, np.int32), np.zeros(256, np.int64)
    slots, hashes, final = np.full(256, -1, np.int32), np.empty(64, np.int64), np.empty(64, np.bool_)
    tails, labels, heads = np.empty(256, np.int32), np.empty(256, np.int32), np.empty(256, np.int32)
    groups = 1  # before the first subset, its closure: the one target is state 0
    count = transitions = clock = steps = 0
    at = -1
    while at < count:
        if stop[0]:
            return STOPPED, tails, labels, heads, final
        if at >= 0:
            pairs, groups = _targets(pool[first[at] : first[at + 1]], edge_first, edges, pairs)
        begin, previous = 0, 0
        while begin < groups:
            past = begin + 1
            while past < groups and pairs[past] >> 32 == pairs[begin] >> 32:
                past += 1
            only = pairs[begin] & 0xFFFFFFFF
            number = alone[only] if past == begin + 1 else -1
            if number < 0 and _alike(pairs, previous, begin, past):
                number = heads[transitions - 1]
            if number < 0:
                clock += 1
                size, looked = _closure(pairs[begin:past], edge_first, skip_first, skips, seen, clock, stack, members)
                steps += looked
                found = members[: distinct(members, size)]
                code = _hash(found)
                number = _find(found, code, slots, first, pool)
                if number < 0:
                    number = count
                    count += 1
                    if count + 1 > len(hashes):
                        first, hashes, final = _doubled(first), _doubled(hashes), _doubled(final)
                    pool = _with_members(pool, first, number, found)
                    hashes[number], final[number] = code, seen[1] == clock
                    slots = _noted(slots, hashes, count)
                if count > limit or first[count] > MEMBERS * limit or steps > STEPS * limit:
                    return TOO_LARGE, tails, labels, heads, final
                if past == begin + 1:
                    alone[only] = number
            if at >= 0:
                if transitions == len(tails):
                    tails, labels, heads = _doubled(tails), _doubled(labels), _doubled(heads)
                tails[transitions], labels[transitions], heads[transitions] = at, pairs[begin] >> 32, number
                transitions += 1
            previous, begin = begin, past
        at += 1
    return DONE, tails[:transitions], labels[:transitions], heads[:transitions], final[:count]


@jit
def _targets(subset: Ints, edge_first: Ints, edges: Ints, pairs: Longs) -> tuple[Longs, int]:
    """Label << 32 | target for each edge of a subset, ascending and distinct: the array, and how many."""
    size = _size(subset, edge_first, edges)
    while size > len(pairs):
        pairs = _doubled(pairs)
    if not _listed(subset, edge_first, edges, pairs):
        size = distinct(pairs, size)
    return pairs, size


@jit
def _with_members(pool: Ints, first: Longs, number: int, members: Ints) -> Ints:
    """The members of all subsets, those of a new one at their end."""
    past = first[number] + len(members)
    while past > len(pool):
        pool = _doubled(pool)
    first[number + 1] = past
    pool[first[number] : past] = members
    return pool


@jit
def _doubled(array: NDArray[S]) -> NDArray[S]:
    grown = np.zeros(2 * len(array), array.dtype)
    grown[: len(array)] = array
    return grown


@jit_inline
def _size(subset: Ints, edge_first: Ints, edges: Ints) -> int:
    """Number of labels on the edges of a subset."""
    size = 0
    for s in subset:
        for e in range(edge_first[s], edge_first[s + 1]):
            size += edges[e, 2] - edges[e, 1] + 1
    return size


@jit_inline
def _listed(subset: Ints, edge_first: Ints, edges: Ints, pairs: Longs) -> bool:
    """Edges of a subset, each (label, target) as 32 bits and 32; whether they ascend."""
    count, last, ascending = 0, np.int64(-1), True
    for s in subset:
        for e in range(edge_first[s], edge_first[s + 1]):
            target = edges[e, 3]
            for label in range(edges[e, 1], edges[e, 2] + 1):
                pair = (np.int64(label) << 32) | target
                ascending = ascending and last < pair
                pairs[count] = last = pair
                count += 1
    return ascending


@jit_inline
def _alike(pairs: Longs, previous: int, begin: int, past: int) -> bool:
    """Whether the targets of one label are those of the label before, as they mostly are in a class of characters."""
    if begin - previous != past - begin:
        return False
    differing = 0
    for i in range(past - begin):
        differing |= (pairs[previous + i] ^ pairs[begin + i]) & 0xFFFFFFFF
    return differing == 0


@jit_inline
def _closure(
    targets: Longs,
    edge_first: Ints,
    skip_first: Ints,
    skips: Ints,
    seen: Longs,
    clock: int,
    stack: Ints,
    members: Ints,
) -> tuple[int, int]:
    """Number of `members` reached without reading that matter: with edges, or accepting; and the steps."""
    size = waiting = steps = 0
    for target in targets:
        stack[waiting] = target & 0xFFFFFFFF
        seen[stack[waiting]] = clock
        waiting += 1
    while waiting:
        waiting -= 1
        s = stack[waiting]
        if s == 1 or edge_first[s] < edge_first[s + 1]:
            members[size] = s
            size += 1
        steps += 1 + skip_first[s + 1] - skip_first[s]
        for k in range(skip_first[s], skip_first[s + 1]):
            if seen[skips[k, 1]] != clock:
                seen[skips[k, 1]] = clock
                stack[waiting] = skips[k, 1]
                waiting += 1
    return size, steps


@jit_inline
def _hash(members: Ints) -> int:
    code = len(members)
    for member in members:
        code = (code ^ member) * -7046029254386353131  # 2^64 / the golden ratio, as a signed number
        code ^= (code >> 29) & 0x7FFFFFFFF
    return code & 0x7FFFFFFFFFFFFFFF


@jit_inline
def _find(members: Ints, code: int, slots: Ints, first: Longs, pool: Ints) -> int:
    """The number of a subset, -1 if it is new."""
    slot = code & (len(slots) - 1)
    while slots[slot] >= 0:
        known: int = slots[slot]
        if first[known + 1] - first[known] == len(members):
            same = True
            for i in range(len(members)):
                if pool[first[known] + i] != members[i]:
                    same = False
                    break
            if same:
                return known
        slot = (slot + 1) & (len(slots) - 1)
    return -1


@jit
def _noted(slots: Ints, hashes: Longs, count: int) -> Ints:
    """The hash table with the last of `count` subsets in it: at most half of it is ever used."""
    begin = count - 1
    if 2 * count > len(slots):
        slots = np.full(4 * len(slots), -1, np.int32)
        begin = 0
    for number in range(begin, count):
        slot = hashes[number] & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number
    return slots
