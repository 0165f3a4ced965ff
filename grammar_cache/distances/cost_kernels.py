"""The compiled loops that solve costs: fewest tokens of states, nodes and configurations."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from grammar_cache.algorithms.counting_sort import by_key
from grammar_cache.configurations.arena import (
    CONFIGURATIONS,
    DEAD,
    NODES,
    UNKNOWN,
    Arena,
    ArenaBlock,
    NetworkBlock,
    arena_in,
    rules_in,
)
from grammar_cache.distances.reach import Reach
from grammar_cache.loops.array_types import Ints, Longs
from grammar_cache.loops.blocks import Block, BlockLayout
from grammar_cache.loops.jit import call_at, jit, jit_inline, jit_no_arrays
from grammar_cache.successors.token_kernels import WordsBlock, words_in


@jit
def least_costs(costs: Ints, fresh: Ints, found: Reach, infinite: int, most: int) -> tuple[Ints, Longs]:
    """Knuth's generalisation of Dijkstra's algorithm: lowers the costs of the `fresh` states, given all others.

    cost(state) = 0 at the end of its rule, else 1 + cost(its walk); cost(walk) = least cost(state) of a row, or
    cost(callee) + cost(return state) of a link, or cost(its model). `costs` are 0 for fresh states at the end of a
    rule, else infinite. Costs above `most` count as that, or as infinite where it is no less. Returns the costs of
    walks, and all walks with a finite one in ascending order of it.
    """
    walks = np.full(found.walks, infinite, np.int32)
    row_first, rows = by_key(found.row_state, len(costs))
    back_first, backs = by_key(found.link_back, len(costs))
    callee_first, callees = by_key(found.link_callee, found.walks)
    like_first, likes = by_key(np.where(found.model < 0, found.walks, found.model), found.walks + 1)
    order, size = np.empty(found.walks, np.int64), 0
    settled_state, settled_walk = np.zeros(len(costs), np.bool_), np.zeros(found.walks, np.bool_)
    queue = [(np.int64(costs[s]) << 32) | s for s in range(len(costs)) if costs[s] < infinite]
    heapify(queue)
    while len(queue) > 0:
        best = heappop(queue)
        cost, number = int(best >> 32), int(best & 0xFFFFFFFF)
        if number < len(costs):
            if settled_state[number]:
                continue
            settled_state[number] = True
            for k in range(row_first[number], row_first[number + 1]):
                _lower(found.row_walk[rows[k]], cost, walks, len(costs), queue)
            for k in range(back_first[number], back_first[number + 1]):
                link = backs[k]
                if settled_walk[found.link_callee[link]]:
                    together = min(cost + walks[found.link_callee[link]], most)
                    _lower(found.link_walk[link], together, walks, len(costs), queue)
            continue
        walk = number - len(costs)
        if settled_walk[walk]:
            continue
        settled_walk[walk] = True
        order[size], size = walk, size + 1
        further = cost + 1 if cost < most else most
        if walk < len(fresh) and further < costs[fresh[walk]]:
            costs[fresh[walk]] = further
            heappush(queue, (further << 32) | fresh[walk])
        for k in range(like_first[walk], like_first[walk + 1]):
            _lower(likes[k], cost, walks, len(costs), queue)
        for k in range(callee_first[walk], callee_first[walk + 1]):
            link = callees[k]
            if settled_state[found.link_back[link]]:
                together = min(cost + costs[found.link_back[link]], most)
                _lower(found.link_walk[link], together, walks, len(costs), queue)
    return walks, order[:size]


@jit
def _lower(walk: int, cost: int, walks: Ints, states: int, queue: list[np.int64]) -> None:
    if cost < walks[walk]:
        walks[walk] = cost
        heappush(queue, (np.int64(cost) << 32) | (walk + states))


@jit
def least_strings(costs: Ints, walks: Ints, order: Longs, found: Reach, lengths: Ints) -> Ints:
    """String that starts a cheapest way on, for each walk: the shortest, then the least; -1 without any.

    `order`: walks by cost. A link goes to a walk that costs no more, mostly one that has its string already.
    """
    strings = np.full(found.walks, -1, np.int32)
    for i in range(len(found.row_walk)):
        if costs[found.row_state[i]] == walks[found.row_walk[i]]:
            _prefer(found.row_string[i], found.row_walk[i], strings, lengths)
    for walk in range(found.walks):
        _prefer_models(found.model[walk], walk, walks, strings, lengths)
    first, links = by_key(found.link_walk, found.walks)
    changed = True
    while changed:
        changed = False
        for walk in order:
            changed |= _prefer_models(found.model[walk], walk, walks, strings, lengths)
            for k in range(first[walk], first[walk + 1]):
                callee, back = found.link_callee[links[k]], found.link_back[links[k]]
                best = strings[callee] >= 0 and walks[callee] + costs[back] == walks[walk]
                if best and _prefer(strings[callee], walk, strings, lengths):
                    changed = True
    return strings


@jit
def _prefer_models(model: int, walk: int, walks: Ints, strings: Ints, lengths: Ints) -> bool:
    """Takes the string of a walk's model, if it costs no more and the string is better; whether it was."""
    as_cheap = model >= 0 and strings[model] >= 0 and walks[model] == walks[walk]
    return bool(as_cheap and _prefer(strings[model], walk, strings, lengths))


@jit
def _prefer(string: int, walk: int, strings: Ints, lengths: Ints) -> bool:
    known = strings[walk]
    if known >= 0 and (lengths[known], known) <= (lengths[string], string):
        return False
    strings[walk] = string
    return True


class Costs(NamedTuple):
    """Fewest tokens, by state to the end of its rule, by node and by configuration to the end of the text. `solved`
    counts the nodes and the configurations for which they are known.
    """

    states: Ints
    nodes: Ints
    configurations: Ints
    solved: Longs


COSTS = BlockLayout(Costs)
costs_in = COSTS.reader()
CostsBlock: TypeAlias = Annotated[Block, COSTS.block_type]


@jit_no_arrays
def extend(arena_block: ArenaBlock, costs_block: CostsBlock, infinite: int) -> bool:
    """Solves the costs of all nodes and configurations, unless there isn't room for as many as the arena has room for:
    whether there is.
    """
    arena, costs = arena_in(arena_block), costs_in(costs_block)
    if len(costs.nodes) < len(arena.node_hashes) or len(costs.configurations) < len(arena.hashes):
        return False
    _solve(arena, costs, infinite)
    return True


@jit_inline
def _solve(arena: Arena, costs: Costs, infinite: int) -> None:
    """Solves costs of nodes and configurations that aren't known, given those of all states."""
    states, nodes, (node_count, count) = costs.states, costs.nodes, costs.solved
    nodes[node_count : arena.used[NODES]] = infinite
    changed = True
    while changed:  # nodes of one group lean on each other; all others are settled by the first pass
        changed = False
        for n in range(node_count, arena.used[NODES]):
            value = _of_node(arena, states, nodes, n)
            if value < nodes[n]:
                nodes[n] = value
                changed = True
    for x in range(count, arena.used[CONFIGURATIONS]):
        costs.configurations[x] = 0 if arena.accepts[x] else min(infinite, _of_items(arena, states, nodes, x))
    costs.solved[0], costs.solved[1] = arena.used[NODES], arena.used[CONFIGURATIONS]


@jit_inline
def _of_node(arena: Arena, states: Ints, nodes: Ints, node: int) -> int:
    least = 1 << 30
    for k in range(arena.edge_first[node], arena.edge_first[node + 1]):
        edge = arena.edges[k]
        if edge < 0:
            return 0
        least = min(least, states[edge >> 32] + nodes[edge & 0xFFFFFFFF])
    return least


@jit_inline
def _of_items(arena: Arena, states: Ints, nodes: Ints, configuration: int) -> int:
    least = 1 << 30
    for k in range(arena.item_first[configuration], arena.item_first[configuration + 1]):
        item = arena.items[k]
        least = min(least, states[item >> 32] + nodes[item & 0xFFFFFFFF])
    return least


@jit_no_arrays
def within(costs: Ints, places: Ints, most: int, unknown: int, found: Ints) -> bool:
    """Looks up what each place costs, `unknown` where there is none (below 0). Whether none that is costs more."""
    near = True
    for i in range(len(places)):
        found[i] = costs[places[i]] if places[i] >= 0 else unknown
        near &= places[i] < 0 or found[i] <= most
    return bool(near)


@jit_no_arrays
def least_string(items: Longs, states: Ints, nodes: Ints, strings: Ints, distance: int) -> int:
    """The least of the strings of the items that have a distance; the largest int32 where none has a string."""
    least = np.iinfo(np.int32).max
    for item in items:
        state = item >> 32
        if strings[state] >= 0 and states[state] + nodes[item & 0xFFFFFFFF] == distance:
            least = min(least, strings[state])
    return int(least)


class KnownWays(NamedTuple):
    """Configurations, ascending, from which a search has found a way: the tokens of it, and the first string."""

    places: Ints
    distances: Ints
    strings: Ints


@jit_inline
def _on_way(ways: KnownWays, place: int, left: int) -> int:
    """The first string of the way that is known from a configuration; -1 where there is none of `left` tokens."""
    at = np.searchsorted(ways.places, place)
    if at == len(ways.places) or ways.places[at] != place or ways.distances[at] > left:
        return -1
    return int(ways.strings[at])


@jit
def follow_least(
    rules_block: NetworkBlock,
    arena_block: ArenaBlock,
    words_block: WordsBlock,
    costs_block: CostsBlock,
    strings: Ints,
    infinite: int,
    place: int,
    left: int,
    ways: KnownWays,
    into: Ints,
) -> tuple[int, int, int]:
    """Writes the tokens of the least strings from the configuration `place` on, or, where these are too many for what
    is `left`, of the ways that are known: as many as there is room for and as fit. Returns how many, where they lead,
    and a status: that of the byte that couldn't be read, DEAD where it leads nowhere.

    Costs are known of all there is, and those of what is met on the way are added.
    """
    rules, arena, words = rules_in(rules_block), arena_in(arena_block), words_in(words_block)
    solved, done = costs_in(costs_block), 0
    states, nodes, costs = solved.states, solved.nodes, solved.configurations
    while done < len(into) and costs[place] > 0:
        if costs[place] <= left - done:
            items = arena.items[arena.item_first[place] : arena.item_first[place + 1]]
            string = least_string(items, states, nodes, strings, costs[place])
        else:
            string = _on_way(ways, place, left - done)
        if string < 0:
            break
        at, token = place, words.ids[words.offsets[string]]
        for k in range(words.data_offsets[token], words.data_offsets[token + 1]):
            at = call_at(rules.after_byte_alone, (rules, arena, at, words.data[k]))
            if at == DEAD or at < UNKNOWN:
                return done, place, at
        _solve(arena, solved, infinite)
        into[done], done, place = token, done + 1, at
    return done, place, 0
