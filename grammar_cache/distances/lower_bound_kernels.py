"""The compiled loops that solve lower bounds: fewest tokens that begin in a rule's text, of states and nodes."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from grammar_cache.array_types import Ints, Longs
from grammar_cache.configurations.arena import CONFIGURATIONS, NODES, Arena
from grammar_cache.distances.cost_kernels import grouped
from grammar_cache.distances.reach import Reach
from grammar_cache.distances.reach_tables import LEFT_OUT, OVER, WHOLE, WHOLE_LEFT_OUT, WHOLE_OVER
from grammar_cache.jit import jit

ALIGNED, INSIDE = 0, 2
"""Ways in which a rule's text begins: with a token, or inside of one. One more where its last token goes on."""
WAYS = 4


@jit
def fewest_begun(fewest: Ints, fresh: Ints, found: Reach, infinite: int) -> None:
    """Lowers what the `fresh` states need, given all others: [way, state].

    Counts only fall, and each is looked at again when it has: a token that goes on behind a rule may save one, so that
    their order alone settles nothing.
    """
    states = fewest.shape[1]
    walks = np.full((WAYS, found.walks), infinite, np.int32)
    row_first, rows = grouped(found.row_state, states)
    back_first, backs = grouped(found.link_back, states)
    callee_first, callees = grouped(found.link_callee, found.walks)
    size = states + found.walks
    for walk in range(len(fresh)):
        if found.overhang[walk] & OVER:
            fewest[INSIDE + 1, fresh[walk]] = 0
        if found.overhang[walk] & WHOLE_OVER:
            fewest[ALIGNED + 1, fresh[walk]] = 1
    queue = [np.int64(fewest[way, s]) << 32 | way * size + s for way in range(WAYS) for s in range(states)]
    heapify(queue)
    while len(queue) > 0:
        best = heappop(queue)
        cost, number = int(best >> 32), int(best & 0xFFFFFFFF)
        way, place = number // size, number % size
        begin, end = way & INSIDE, way & 1
        if cost >= infinite:
            break
        if place < states:
            if cost > fewest[way, place]:
                continue
            for k in range(row_first[place], row_first[place + 1]):
                mark, walk = found.row_mark[rows[k]], found.row_walk[rows[k]]
                if (mark & WHOLE) if begin == ALIGNED else (mark & WHOLE_LEFT_OUT):
                    _lower(ALIGNED + end, walk, cost, walks, states, queue)
                if begin == ALIGNED or (mark & LEFT_OUT):
                    _lower(INSIDE + end, walk, cost, walks, states, queue)
            for k in range(back_first[place], back_first[place + 1]):
                link = backs[k]
                for first in range(ALIGNED, WAYS, INSIDE):
                    callee = walks[first + (begin == INSIDE), found.link_callee[link]]
                    if callee < infinite:
                        _lower(first + end, found.link_walk[link], cost + callee, walks, states, queue)
            continue
        walk = place - states
        if cost > walks[way, walk]:
            continue
        if walk < len(fresh):
            more = cost + 1 if begin == ALIGNED else cost
            if more < fewest[way, fresh[walk]]:
                fewest[way, fresh[walk]] = more
                heappush(queue, (np.int64(more) << 32) | (way * size + fresh[walk]))
        for k in range(callee_first[walk], callee_first[walk + 1]):
            link = callees[k]
            for last in range(2):
                behind = fewest[(INSIDE if end else ALIGNED) + last, found.link_back[link]]
                if behind < infinite:
                    _lower(begin + last, found.link_walk[link], cost + behind, walks, states, queue)


@jit
def _lower(way: int, walk: int, cost: int, walks: Ints, states: int, queue: list[np.int64]) -> None:
    if cost < walks[way, walk]:
        walks[way, walk] = cost
        size = states + walks.shape[1]
        heappush(queue, (np.int64(cost) << 32) | (way * size + states + walk))


@jit
def bounds_from(
    arena: Arena, fewest: Ints, nodes: Ints, node_count: int, bounds: Ints, count: int, infinite: int
) -> None:
    """The bounds of nodes, [how the text begins, node], and of configurations from these numbers on."""
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


@jit
def _least(pairs: Longs, fewest: Ints, nodes: Ints, infinite: int) -> int:
    """The least sum over pairs (state, node), whose tokens end together or not."""
    least = infinite
    for pair in pairs:
        if pair >= 0:
            state, node = pair >> 32, pair & 0xFFFFFFFF
            least = min(least, fewest[0, state] + nodes[0, node], fewest[1, state] + nodes[1, node])
    return int(least)
