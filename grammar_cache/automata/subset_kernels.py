"""The compiled loops of automata: the subset construction.

Transitions are three columns: tails (states), labels, heads (states). A label is a byte class below 256, or
256 + a rule that is called: a symbol like any other. This module knows no expression, no stack and no vocabulary.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.sorting import distinct
from grammar_cache.automata.nfa import ordered
from grammar_cache.automata.subset_tables import (
    AT,
    BEGIN,
    CLOCK,
    GROUPS,
    LOOKED,
    PAIRS,
    POOL,
    PREVIOUS,
    SUBSETS,
    TRANSITIONS,
    Subsets,
    empty,
    find,
    grown,
    note,
)
from grammar_cache.loops.array_types import Flags, IntRows, Ints, Longs
from grammar_cache.loops.jit import jit, jit_inline, jit_no_arrays

DONE, TOO_LARGE, STOPPED, FULL = 0, 1, 2, 3
"""Status of a construction that ended, or (FULL) that goes on where there is more room."""

MEMBERS = 64
"""Members of all subsets for each state that is allowed: `a?a?a?…` has few states, each a subset of all the rest."""
STEPS = 256
"""States looked at, while subsets are closed, between two looks at `stop`."""

CALL = 256
"""Labels from here on are calls."""


@jit
def automaton(
    states: int,
    edges: IntRows,
    skips: IntRows,
    calls: IntRows,
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
    edge_first: Ints, edges: IntRows, skip_first: Ints, skips: IntRows, limit: int, stop: NDArray[np.uint8]
) -> tuple[int, Ints, Ints, Ints, Flags]:
    """The deterministic automaton of the subsets that are reached: outcome, tails, labels, heads, final states.

    State s of the input has the edges (s, first label, last label, target) from `edge_first[s]` to `edge_first[s + 1]`,
    and the skips (s, target) likewise. State 0 is the start, 1 accepts.
    """
    made = empty(len(edge_first) - 1)
    status = _followed(edge_first, edges, skip_first, skips, limit, stop, made)
    while status == FULL:
        made = grown(made)
        status = _followed(edge_first, edges, skip_first, skips, limit, stop, made)
    size = made.used[TRANSITIONS]
    return status, made.tails[:size], made.labels[:size], made.heads[:size], made.final[: made.used[SUBSETS]]


@jit_no_arrays
def _followed(
    edge_first: Ints,
    edges: IntRows,
    skip_first: Ints,
    skips: IntRows,
    limit: int,
    stop: NDArray[np.uint8],
    made: Subsets,
) -> int:
    """Follows subsets until none is new: DONE, TOO_LARGE or STOPPED; FULL where room is short, to be called again."""
    used, pairs = made.used, made.pairs
    while used[AT] < used[SUBSETS]:
        if stop[0]:
            return STOPPED
        if used[GROUPS] == 0 and not _targets(edge_first, edges, made):
            return FULL
        while used[BEGIN] < used[GROUPS]:
            begin = past = used[BEGIN]
            while past < used[GROUPS] and pairs[past] >> 32 == pairs[begin] >> 32:
                past += 1
            if used[TRANSITIONS] == len(made.tails):
                return FULL
            only = pairs[begin] & 0xFFFFFFFF
            number = made.alone[only] if past == begin + 1 else -1
            if number < 0 and _alike(pairs, used[PREVIOUS], begin, past):
                number = made.heads[used[TRANSITIONS] - 1]
            if number < 0:
                number = _subset(pairs[begin:past], edge_first, skip_first, skips, made)
                if number < 0:
                    return FULL
                if used[SUBSETS] > limit or used[POOL] > MEMBERS * limit or used[LOOKED] > STEPS * limit:
                    return TOO_LARGE
                if past == begin + 1:
                    made.alone[only] = number
            if used[AT] >= 0:
                size = used[TRANSITIONS]
                made.tails[size], made.labels[size], made.heads[size] = used[AT], pairs[begin] >> 32, number
                used[TRANSITIONS] = size + 1
            used[PREVIOUS], used[BEGIN] = begin, past
        used[AT] += 1
        used[PREVIOUS] = used[BEGIN] = used[GROUPS] = 0
    return DONE


@jit_inline
def _targets(edge_first: Ints, edges: IntRows, made: Subsets) -> bool:
    """Label << 32 | target for each edge of the subset that is next, ascending and distinct; False without room."""
    used, pairs = made.used, made.pairs
    subset = made.pool[made.first[used[AT]] : made.first[used[AT] + 1]]
    size = _size(subset, edge_first, edges)
    used[PAIRS] = max(used[PAIRS], size)
    if size > len(pairs):
        return False
    used[GROUPS] = size if _listed(subset, edge_first, edges, pairs) else distinct(pairs, size)
    return True


@jit_inline
def _subset(targets: Longs, edge_first: Ints, skip_first: Ints, skips: IntRows, made: Subsets) -> int:
    """Number of the subset that some targets lead to; -1 without room."""
    used, first = made.used, made.first
    used[CLOCK] += 1
    clock = used[CLOCK]
    size, looked = _closure(targets, edge_first, skip_first, skips, made.seen, clock, made.stack, made.members)
    found = made.members[: distinct(made.members, size)]
    code = _hash(found)
    number = find(found, code, made.slots, first, made.pool)
    if number < 0:
        number = used[SUBSETS]
        used[POOL] = first[number] + len(found)
        if number + 2 > len(made.hashes) or used[POOL] > len(made.pool):
            return -1
        for i in range(len(found)):
            made.pool[first[number] + i] = found[i]
        first[number + 1] = used[POOL]
        made.hashes[number], made.final[number] = code, made.seen[1] == clock
        note(made.slots, code, number)
        used[SUBSETS] = number + 1
    used[LOOKED] += looked
    return int(number)


@jit_inline
def _size(subset: Ints, edge_first: Ints, edges: IntRows) -> int:
    """Number of labels on the edges of a subset."""
    size = 0
    for s in subset:
        for e in range(edge_first[s], edge_first[s + 1]):
            size += edges[e, 2] - edges[e, 1] + 1
    return size


@jit_inline
def _listed(subset: Ints, edge_first: Ints, edges: IntRows, pairs: Longs) -> bool:
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
    skips: IntRows,
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
