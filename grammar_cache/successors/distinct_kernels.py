"""The compiled loop of searches: the distinct configurations one token away, from many at once.

As in `token_kernels`, a loop that can't go on returns a status, and goes on from there when it is called again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammar_cache.algorithms.sorting import distinct as sorted_distinct
from grammar_cache.configurations.arena import (
    DEAD,
    UNKNOWN,
    WORK,
    Arena,
    ArenaBlock,
    NetworkArrays,
    NetworkBlock,
    arena_in,
    rules_in,
)
from grammar_cache.loops.array_types import Flags, Ints, Longs
from grammar_cache.loops.jit import jit_inline, jit_no_arrays
from grammar_cache.successors.token_kernels import TokenArrays, WordsBlock, read, words_in


class Walks(NamedTuple):
    """Walks from several sources: for source k the nodes from `begin` to before `past`, coming from
    configuration `before`, of the numbers from `first[k]` to `first[k + 1]`. From there to `seed_first[k + 1]` are what
    is known to be reached otherwise: configurations, and the shortest string to each.
    """

    first: Ints
    begin: Ints
    past: Ints
    before: Ints
    seed_first: Ints
    seed: Ints
    seed_string: Ints


SOURCE, NUMBER, NODE, DISTINCT, WRITTEN, FUEL, SERIAL = range(7)
NO_ROOM, NO_FUEL = 1, 2
NODE_COST, ROW_COST, ITEM_COST = 2, 100, 8
"""Fuel for a node that is visited, for what it takes to go on from a configuration on the way, and for each item and
edge of that. A unit takes less than five nanoseconds. A node that is looked up, as it stays in a loop, takes one.
"""
SOURCE_COST, BREADTH_COST, WIDE_COST = 1_000, 100, 4_000
"""Fuel for the successors of one configuration by themselves, for each of its items and edges, and for looking around
it where all of its states are wide, which may be met for the first time.
"""


@jit_inline
def row_cost(arena: Arena, configuration: int) -> int:
    """Fuel that going on from a configuration takes, whose row is made."""
    return int(ROW_COST + ITEM_COST * np.int64(arena.rows[arena.row[configuration] + WORK]))


@jit_no_arrays
def distinct_successors(
    rules_block: NetworkBlock,
    arena_block: ArenaBlock,
    words_block: WordsBlock,
    path: Ints,
    spent: Ints,
    walks: Walks,
    progress: Longs,
    shortest: Ints,
    found: Ints,
    walked: Longs,
    costs: Longs,
    whole: Flags,
    keys: Longs,
    ends: Longs,
) -> int:
    """The distinct configurations one token away from each source, and the shortest, then least string to each.

    They are written to `keys` as string << 32 | configuration, ascending; those of source k end at `ends[k]`. `costs`
    are counted up by the nodes that are visited, and by what it takes to go on from the configurations on the way. A
    source is no longer `whole` where a token was left out for what it costs. `shortest[configuration]` is -1, but for
    those `found` of the source that `progress` stands at. `walked[configuration]` is below the serial number in
    `progress`, which counts sources on. Returns 0; NO_FUEL, where there is too little for the source that `progress`
    stands at; a status below 0, or NO_ROOM in `keys`, after which it goes on.
    """
    rules, arena, words = rules_in(rules_block), arena_in(arena_block), words_in(words_block)
    while progress[SOURCE] < len(costs):
        if costs[progress[SOURCE]] > progress[FUEL]:
            return NO_FUEL
        if progress[DISTINCT] == 0:
            _seeded(walks, progress, shortest, found)
        status = _walked(rules, arena, words, path, spent, walks, progress, shortest, found, walked, costs, whole)
        if status != 0:
            return status
        if progress[WRITTEN] + progress[DISTINCT] > len(keys):
            return NO_ROOM
        source, size = progress[SOURCE], progress[DISTINCT]
        progress[WRITTEN] += _written(keys[progress[WRITTEN] :], shortest, found[:size])
        ends[source] = progress[WRITTEN]
        progress[FUEL] -= costs[source]
        progress[SOURCE], progress[DISTINCT] = source + 1, 0
        progress[SERIAL] += 1
    return 0


@jit_inline
def _seeded(walks: Walks, progress: Longs, shortest: Ints, found: Ints) -> None:
    """Begins a source with what is known to be reached otherwise."""
    source = progress[SOURCE]
    first, past = walks.seed_first[source], walks.seed_first[source + 1]
    for s in range(first, past):
        found[s - first] = walks.seed[s]
        shortest[walks.seed[s]] = walks.seed_string[s]
    progress[DISTINCT] = past - first


@jit_inline
def _walked(
    rules: NetworkArrays,
    arena: Arena,
    words: TokenArrays,
    path: Ints,
    spent: Ints,
    walks: Walks,
    progress: Longs,
    shortest: Ints,
    found: Ints,
    walked: Longs,
    costs: Longs,
    whole: Flags,
) -> int:
    """Visits what is left of a source's nodes: 0; NO_FUEL, or a status below 0, after which it goes on."""
    source, number, node, size = progress[SOURCE], progress[NUMBER], progress[NODE], progress[DISTINCT]
    status = 0
    while number < walks.first[source + 1] and status == 0:
        node = max(node, walks.begin[number])
        if node == walks.begin[number] < walks.past[number]:
            path[words.depth[node] - 1], spent[words.depth[node] - 1] = walks.before[number], 0
        while node < walks.past[number]:
            here = node
            after, node = read(rules, arena, words, path, spent, here)
            if after < UNKNOWN:
                status = after
                break
            costs[source] += NODE_COST
            before = path[words.depth[here] - 1]
            if walked[before] != progress[SERIAL]:
                walked[before] = progress[SERIAL]
                costs[source] += row_cost(arena, before)
                if costs[source] > progress[FUEL]:
                    status = NO_FUEL
                    break
            if after == DEAD and (arena.row[before] == 0 or spent[words.depth[here]] > rules.widest):
                whole[source] = False
            string = words.string[here]
            if after < 0 or string < 0:
                continue
            size = note_string(words, string, after, shortest, found, size)
        if status == 0:
            number, node = number + 1, 0
    progress[NUMBER], progress[NODE], progress[DISTINCT] = number, node, size
    return status


@jit_inline
def note_string(words: TokenArrays, string: int, after: int, shortest: Ints, found: Ints, size: int) -> int:
    """Notes a string that leads to a configuration, if no shorter one, or as short and less, does: how many are
    `found`.
    """
    known = shortest[after]
    if known < 0:
        found[size] = after
        size += 1
    if known < 0 or (words.lengths[string], string) < (words.lengths[known], known):
        shortest[after] = string
    return size


@jit_inline
def _written(keys: Longs, shortest: Ints, found: Ints) -> int:
    """Writes a source's keys, and forgets its strings: how many keys there are."""
    for k in range(len(found)):
        keys[k] = (np.int64(shortest[found[k]]) << 32) | found[k]
        shortest[found[k]] = -1
    return sorted_distinct(keys, len(found))
