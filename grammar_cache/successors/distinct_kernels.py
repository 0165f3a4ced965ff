"""The compiled loop of searches: the distinct configurations one token away, from many at once.

As in `walk`, a loop that can't go on returns a status, and goes on from where it stands when it is called again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammar_cache.algorithms.sorting import distinct as sorted_distinct
from grammar_cache.array_types import Ints, Longs
from grammar_cache.configurations.arena import (
    Arena,
    NetworkArrays,
)
from grammar_cache.configurations.step_kernels import expand
from grammar_cache.jit import jit_no_arrays
from grammar_cache.successors.token_kernels import TokenArrays


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


SOURCE, NUMBER, NODE, DISTINCT, WRITTEN, FUEL = range(6)
NO_ROOM = 1


@jit_no_arrays
def distinct_successors(
    rules: NetworkArrays,
    arena: Arena,
    words: TokenArrays,
    path: Ints,
    walks: Walks,
    progress: Longs,
    shortest: Ints,
    found: Ints,
    costs: Longs,
    keys: Longs,
    ends: Longs,
) -> int:
    """The distinct configurations one token away from each source, and the shortest, then least string to each.

    They are written to `keys` as string << 32 | configuration, ascending; those of source k end at `ends[k]`. `costs`
    are counted up by the nodes that are visited; a source that has taken the last of the fuel is the last one.
    `shortest[configuration]` is -1, but for those `found` of the source that `progress` stands at. Returns 0; a status
    below 0, or NO_ROOM in `keys`, after which it goes on.
    """
    source, number, i = progress[SOURCE], progress[NUMBER], progress[NODE]
    size, written, fuel = progress[DISTINCT], progress[WRITTEN], progress[FUEL]
    status = 0
    while source < len(costs) and fuel >= 0 and status == 0:
        if size == 0:
            for s in range(walks.seed_first[source], walks.seed_first[source + 1]):
                found[size] = walks.seed[s]
                shortest[found[size]] = walks.seed_string[s]
                size += 1
        while number < walks.first[source + 1] and status == 0:
            i = max(i, walks.begin[number])
            if i == walks.begin[number] < walks.past[number]:
                path[words.depth[i] - 1] = walks.before[number]
            while i < walks.past[number]:
                before = path[words.depth[i] - 1]
                if arena.row[before] < 0:
                    status = expand(rules, arena, before)
                    if status < 0:
                        break
                costs[source] += 1
                after = arena.next[arena.row[before], rules.classes[words.byte[i]]]
                if after < 0:
                    i = words.skip[i]
                    continue
                path[words.depth[i]] = after
                string = words.string[i]
                if string >= 0:
                    known = shortest[after]
                    if known < 0:
                        found[size] = after
                        size += 1
                        shortest[after] = string
                    elif (words.lengths[string], string) < (words.lengths[known], known):
                        shortest[after] = string
                i += 1
            if status == 0:
                number, i = number + 1, 0
        if status == 0 and written + size > len(keys):
            status = NO_ROOM
        if status == 0:
            for k in range(size):
                keys[written + k] = (np.int64(shortest[found[k]]) << 32) | found[k]
                shortest[found[k]] = -1
            written += sorted_distinct(keys[written:], size)
            ends[source] = written
            fuel -= costs[source]
            source, size = source + 1, 0
    progress[SOURCE], progress[NUMBER], progress[NODE] = source, number, i
    progress[DISTINCT], progress[WRITTEN], progress[FUEL] = size, written, fuel
    return int(status)
