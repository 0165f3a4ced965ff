"""The compiled loops that solve lower bounds: fewest tokens that begin in a rule's text."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from grammar_cache.array_types import Ints
from grammar_cache.configurations.arena import CONFIGURATIONS, NODES, Arena
from grammar_cache.distances.cost_kernels import grouped
from grammar_cache.distances.reach import Reach
from grammar_cache.jit import jit

ALIGNED, ACROSS = 0, 1


@jit
def fewest_begun(fewest: Ints, fresh: Ints, found: Reach, infinite: int) -> None:
    """Lowers what the `fresh` states need, given all others: `fewest[ALIGNED, state]` and `fewest[ACROSS, state]`.

    Bounds only fall, and each is looked at again when it has: behind a token that ends in the middle of a rule's text
    one token less may do, so that the order of costs alone settles nothing.
    """
    states = fewest.shape[1]
    walks = np.full((2, found.walks), infinite, np.int32)
    row_first, rows = grouped(found.row_state, states)
    back_first, backs = grouped(found.link_back, states)
    callee_first, callees = grouped(found.link_callee, found.walks)
    for walk in range(len(fresh)):
        if found.overhangs[walk]:
            fewest[ACROSS, fresh[walk]] = 1
    size = states + found.walks
    queue = [np.int64(0)]
    queue.clear()
    for how in range(2):
        for state in range(states):
            if fewest[how, state] < infinite:
                queue.append((np.int64(fewest[how, state]) << 32) | (how * size + state))
    heapify(queue)
    while len(queue) > 0:
        best = heappop(queue)
        cost, number = int(best >> 32), int(best & 0xFFFFFFFF)
        how, place = number // size, number % size
        if place < states:
            if cost > fewest[how, place]:
                continue
            less = max(0, cost - 1)
            for k in range(row_first[place], row_first[place + 1]):
                row = rows[k]
                _lower(how, found.row_walk[row], less if found.row_shared[row] else cost, walks, states, queue)
            for k in range(back_first[place], back_first[place + 1]):
                link = backs[k]
                callee, walk = found.link_callee[link], found.link_walk[link]
                _lower(how, walk, walks[ALIGNED, callee] + cost, walks, states, queue)
                _lower(how, walk, walks[ACROSS, callee] + less, walks, states, queue)
                if how == ALIGNED and cost == 0:
                    _lower(ACROSS, walk, walks[ACROSS, callee], walks, states, queue)
            continue
        walk = place - states
        if cost > walks[how, walk]:
            continue
        if walk < len(fresh) and cost + 1 < fewest[how, fresh[walk]]:
            fewest[how, fresh[walk]] = cost + 1
            heappush(queue, (np.int64(cost + 1) << 32) | (how * size + fresh[walk]))
        for k in range(callee_first[walk], callee_first[walk + 1]):
            link = callees[k]
            back, caller = found.link_back[link], found.link_walk[link]
            for after in range(2):
                more = fewest[after, back]
                if more < infinite:
                    more = max(0, more - 1) if how == ACROSS else more
                    _lower(after, caller, cost + more, walks, states, queue)
            if how == ACROSS and fewest[ALIGNED, back] == 0:
                _lower(ACROSS, caller, cost, walks, states, queue)


@jit
def _lower(how: int, walk: int, cost: int, walks: Ints, states: int, queue: list[np.int64]) -> None:
    if cost < walks[how, walk]:
        walks[how, walk] = cost
        size = states + walks.shape[1]
        heappush(queue, (np.int64(cost) << 32) | (how * size + states + walk))


@jit
def bounds_from(
    arena: Arena, fewest: Ints, nodes: Ints, node_count: int, configurations: Ints, count: int, infinite: int
) -> None:
    """Bounds of nodes and configurations from these numbers on, given those of all states."""
    nodes[:, node_count : arena.used[NODES]] = infinite
    changed = True
    while changed:
        changed = False
        for n in range(node_count, arena.used[NODES]):
            aligned, across = infinite, infinite
            for k in range(arena.edge_first[n], arena.edge_first[n + 1]):
                edge = arena.edges[k]
                if edge < 0:
                    aligned = 0
                    continue
                state, parent = edge >> 32, edge & 0xFFFFFFFF
                to_end, beyond = fewest[ALIGNED, state], fewest[ACROSS, state]
                aligned = min(aligned, to_end + nodes[ALIGNED, parent], beyond + nodes[ACROSS, parent])
                across = min(across, max(0, to_end - 1) + nodes[ALIGNED, parent], beyond - 1 + nodes[ACROSS, parent])
                if to_end == 0:
                    across = min(across, nodes[ACROSS, parent])
            if aligned < nodes[ALIGNED, n] or across < nodes[ACROSS, n]:
                nodes[ALIGNED, n] = min(aligned, nodes[ALIGNED, n])
                nodes[ACROSS, n] = min(across, nodes[ACROSS, n])
                changed = True
    for x in range(count, arena.used[CONFIGURATIONS]):
        least = infinite
        for k in range(arena.item_first[x], arena.item_first[x + 1]):
            state, node = arena.items[k] >> 32, arena.items[k] & 0xFFFFFFFF
            least = min(least, fewest[ALIGNED, state] + nodes[ALIGNED, node], fewest[ACROSS, state] + nodes[ACROSS, node])
        configurations[x] = 0 if arena.accepts[x] else least
