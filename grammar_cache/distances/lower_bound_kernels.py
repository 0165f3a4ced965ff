"""The compiled loops that solve lower bounds: fewest tokens that begin in a rule's text, of states and nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammar_cache.algorithms.counting_sort import by_key
from grammar_cache.algorithms.heap import pop, push
from grammar_cache.configurations.arena import CONFIGURATIONS, NODES, ArenaBlock, arena_in
from grammar_cache.distances.reach import Reach
from grammar_cache.distances.reach_tables import LEFT_OUT, OVER, WHOLE, WHOLE_LEFT_OUT, WHOLE_OVER
from grammar_cache.loops.array_types import IntRows, Ints, Longs
from grammar_cache.loops.jit import jit, jit_inline, jit_no_arrays

ALIGNED, INSIDE = 0, 2
"""Ways in which a rule's text begins: with a token, or inside of one. One more where its last token goes on."""
WAYS = 4
_NOW, _LATER = 0, 1


class _Counts(NamedTuple):
    """Counts of states, and of walks behind them, `least[way, place]`. Those that have fallen wait: `used[_NOW]` with
    the count at hand, in `now`, as way * places + place, and `used[_LATER]` in the heap `later`, above their counts.
    """

    least: IntRows
    now: Ints
    later: Longs
    used: Longs


class _Uses(NamedTuple):
    """Rows by their state, links by the state behind them, and links by the walk that they call: see `by_key`."""

    row_first: Ints
    rows: Ints
    back_first: Ints
    backs: Ints
    callee_first: Ints
    callees: Ints


@jit
def fewest_begun(fewest: IntRows, fresh: Ints, found: Reach, infinite: int) -> None:
    """Lowers what the `fresh` states need, given all others: [way, state].

    Counts are settled in their order, since none is less than one that it comes from (Knuth, as in `least_costs`). Most
    are no more either, so those of one count are a stack, and the heap has few.
    """
    states = fewest.shape[1]
    places = states + found.walks
    row_first, rows = by_key(found.row_state, states)
    back_first, backs = by_key(found.link_back, states)
    callee_first, callees = by_key(found.link_callee, found.walks)
    uses = _Uses(row_first, rows, back_first, backs, callee_first, callees)
    room = WAYS * (states + len(fresh)) + 4 * WAYS * len(found.link_walk)  # a link is looked at twice from each end
    least = np.full((WAYS, places), infinite, np.int32)
    least[:, :states] = fewest
    counts = _Counts(least, np.empty(WAYS * places, np.int32), np.empty(room, np.int64), np.zeros(2, np.int64))
    _settle(counts, uses, fresh, found, states, infinite)
    fewest[:] = least[:, :states]


@jit_no_arrays
def _settle(counts: _Counts, uses: _Uses, fresh: Ints, found: Reach, states: int, infinite: int) -> None:
    """Settles all counts, the least ones first."""
    least, now, later, used = counts
    places = least.shape[1]
    for walk in range(len(fresh)):
        if found.overhang[walk] & OVER:
            least[INSIDE + 1, fresh[walk]] = 0
        if found.overhang[walk] & WHOLE_OVER:
            least[ALIGNED + 1, fresh[walk]] = 1
    for way in range(WAYS):
        for state in range(states):
            if least[way, state] < infinite:
                used[_LATER] = push(later, used[_LATER], np.int64(least[way, state]) << 32 | (way * places + state))
    while used[_LATER] > 0:
        count = later[0] >> 32
        while used[_LATER] > 0 and later[0] >> 32 == count:
            number = later[0] & 0xFFFFFFFF
            used[_LATER] = pop(later, used[_LATER])
            if least[number // places, number % places] == count:
                now[used[_NOW]] = number
                used[_NOW] += 1
        while used[_NOW] > 0:
            used[_NOW] -= 1
            number = now[used[_NOW]]
            way, place = number // places, number % places
            if place < states:
                _state_settled(counts, uses, found, states, way, place)
            else:
                _walk_settled(counts, uses, fresh, found, states, way, place - states)


@jit_inline
def _state_settled(counts: _Counts, uses: _Uses, found: Reach, states: int, way: int, state: int) -> None:
    """Lowers walks in which tokens end in a state, or which go on there behind a call."""
    count, begin, end = counts.least[way, state], way & INSIDE, way & 1
    for k in range(uses.row_first[state], uses.row_first[state + 1]):
        mark, walk = found.row_mark[uses.rows[k]], found.row_walk[uses.rows[k]]
        if (mark & WHOLE) if begin == ALIGNED else (mark & WHOLE_LEFT_OUT):
            _lower(counts, ALIGNED + end, states + walk, count, count)
        if begin == ALIGNED or (mark & LEFT_OUT):
            _lower(counts, INSIDE + end, states + walk, count, count)
    for k in range(uses.back_first[state], uses.back_first[state + 1]):
        link = uses.backs[k]
        for first in range(ALIGNED, WAYS, INSIDE):
            before = counts.least[first + (begin == INSIDE), states + found.link_callee[link]]
            _lower(counts, first + end, states + found.link_walk[link], before + count, count)


@jit_inline
def _walk_settled(counts: _Counts, uses: _Uses, fresh: Ints, found: Reach, states: int, way: int, walk: int) -> None:
    """Lowers the state that a walk begins in, and walks that it is called from."""
    count, begin, end = counts.least[way, states + walk], way & INSIDE, way & 1
    if walk < len(fresh):
        _lower(counts, way, fresh[walk], count + 1 if begin == ALIGNED else count, count)
    for k in range(uses.callee_first[walk], uses.callee_first[walk + 1]):
        link = uses.callees[k]
        for last in range(2):
            behind = counts.least[(INSIDE if end else ALIGNED) + last, found.link_back[link]]
            _lower(counts, begin + last, states + found.link_walk[link], count + behind, count)


@jit_inline
def _lower(counts: _Counts, way: int, place: int, count: int, at_hand: int) -> None:
    """Lowers one count, if this is less; none is less than that at hand."""
    least, now, later, used = counts
    if count >= least[way, place]:
        return
    least[way, place] = count
    number = way * least.shape[1] + place
    if count == at_hand:
        now[used[_NOW]] = number
        used[_NOW] += 1
    else:
        used[_LATER] = push(later, used[_LATER], np.int64(count) << 32 | number)


@jit_no_arrays
def bounds_from(
    arena_block: ArenaBlock, fewest: IntRows, nodes: IntRows, node_count: int, bounds: Ints, count: int, infinite: int
) -> None:
    """The bounds of nodes, [how the text begins, node], and of configurations from these numbers on."""
    arena = arena_in(arena_block)
    nodes[:, node_count : arena.used[NODES]] = infinite
    changed = True
    while changed:  # nodes of one group lean on each other; all others are settled by the first pass
        changed = False
        for n in range(node_count, arena.used[NODES]):
            edges = arena.edges[arena.edge_first[n] : arena.edge_first[n + 1]]
            for inside in range(2):
                least = _least(edges, fewest[2 * inside : 2 * inside + 2], nodes, infinite)
                if inside == 0 and len(edges) > 0 and edges[0] < 0:
                    least = 0
                if least < nodes[inside, n]:
                    nodes[inside, n] = least
                    changed = True
    for x in range(count, arena.used[CONFIGURATIONS]):
        items = arena.items[arena.item_first[x] : arena.item_first[x + 1]]
        bounds[x] = 0 if arena.accepts[x] else _least(items, fewest[:INSIDE], nodes, infinite)


@jit_inline
def _least(pairs: Longs, fewest: IntRows, nodes: IntRows, infinite: int) -> int:
    """The least sum over pairs (state, node), whose tokens end together or not."""
    least = infinite
    for pair in pairs:
        if pair >= 0:
            state, node = pair >> 32, pair & 0xFFFFFFFF
            least = min(least, fewest[0, state] + nodes[0, node], fewest[1, state] + nodes[1, node])
    return int(least)
