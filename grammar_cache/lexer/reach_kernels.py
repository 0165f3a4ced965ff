"""The compiled walk of one token from many states of a network with a lexer, whose configurations Python makes."""

from __future__ import annotations

import numpy as np

from grammar_cache.array_types import Ints, Octets
from grammar_cache.configurations.arena import DEAD, Arena
from grammar_cache.jit import jit, jit_inline
from grammar_cache.successors.token_kernels import TokenArrays


@jit
def distinct_reach(
    words: TokenArrays,
    classes: Octets,
    arena: Arena,
    origin: Ints,
    seed_sources: Ints,
    seed_nodes: Ints,
    seed_configurations: Ints,
    found: Ints,
    missed: Ints,
) -> tuple[int, int]:
    """The distinct configurations that one token reaches from each source: rows (source, configuration, string).

    Nothing is looked at below a string that leads where a string no longer than it led before, or back to its
    source's own configuration `origin[source]`: what follows it is found from there. That may leave out a cheaper
    token, never one that costs rely on. Seeds of one source are adjacent. Returns how many rows of `found` and of
    `missed` (source, node, configuration) are needed; more than there is room for means: call again with more.
    """
    path = np.empty(words.longest + 1, np.int32)
    stamp, row_of = np.full(len(arena.accepts), -1, np.int32), np.empty(len(arena.accepts), np.int32)
    shortest = np.empty(len(arena.accepts), np.int32)
    rows = misses = 0
    for k in range(len(seed_nodes)):
        source, node = seed_sources[k], seed_nodes[k]
        end = words.skip[node]
        path[max(words.depth[node] - 1, 0)] = seed_configurations[k]
        node = max(node, 1)
        while node < end:
            depth = words.depth[node]
            before = path[depth - 1]
            row = arena.row[before]
            after = DEAD if row < 0 else arena.next[row, classes[words.byte[node]]]
            if row < 0:
                _write_row(missed, misses, source, node, before)
                misses += 1
            ends = after >= 0 and words.string[node] >= 0
            if ends and (after == origin[source] or (stamp[after] == source and shortest[after] <= depth)):
                after = DEAD
            if after < 0:
                node = words.skip[node]
                continue
            path[depth] = after
            if ends:
                if stamp[after] != source:
                    stamp[after], row_of[after] = source, rows
                    rows += 1
                shortest[after] = depth
                _write_row(found, row_of[after], source, after, words.string[node])
            node += 1
    return rows, misses


@jit_inline
def _write_row(table: Ints, row: int, first: int, second: int, third: int) -> None:
    """Writes three numbers, if there is such a row."""
    if row < len(table):
        table[row, 0], table[row, 1], table[row, 2] = first, second, third
