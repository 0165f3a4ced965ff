"""The compiled loops: tokens through configurations, which are made as they are met.

A loop that can't go on returns where it stands, and a status below 0 that is for `Configurations.outcome`; called
again, it goes on from there. A place in the vocabulary is a node of its trie, and what `path` has by depth: the
configurations that its ancestors lead to. Configurations are int32, DEAD where a text leads nowhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_types import Ints
from grammar_cache.configurations.arena import (
    DEAD,
    Arena,
    NetworkArrays,
)
from grammar_cache.configurations.step_kernels import expand
from grammar_cache.jit import jit, jit_no_arrays
from grammar_cache.vocabulary.vocabulary import Vocabulary


class TokenArrays(NamedTuple):
    """The arrays of a vocabulary that the loops read; see `Trie` and `Vocabulary`."""

    byte: NDArray[np.uint8]
    depth: Ints
    skip: Ints
    string: Ints
    lengths: Ints
    offsets: Ints
    ids: Ints
    data: NDArray[np.uint8]
    data_offsets: Ints
    longest: int

    @staticmethod
    def of(vocabulary: Vocabulary) -> TokenArrays:
        trie = vocabulary.trie
        return TokenArrays(
            trie.byte,
            trie.depth,
            trie.skip,
            trie.string,
            vocabulary.lengths,
            vocabulary.token_offsets,
            vocabulary.token_list,
            vocabulary.data,
            vocabulary.data_offsets,
            vocabulary.longest,
        )


@jit_no_arrays
def follow(
    rules: NetworkArrays, arena: Arena, data: NDArray[np.uint8], done: int, configuration: int
) -> tuple[int, int, int]:
    """Goes on from byte number `done`: how far it came, the configuration there or DEAD, and the status."""
    while done < len(data) and configuration >= 0:
        if arena.row[configuration] < 0:
            status = expand(rules, arena, configuration)
            if status < 0:
                return done, configuration, status
        configuration = arena.next[arena.row[configuration], rules.classes[data[done]]]
        done += 1
    return done, configuration, 0


@jit_no_arrays
def consume(
    rules: NetworkArrays, arena: Arena, words: TokenArrays, configurations: Ints, tokens: Ints, after: Ints, done: int
) -> tuple[int, int]:
    """Fills `after` [rows, tokens a row] from entry number `done` on: how many are done, and the status.

    Ids outside the vocabulary and ids without bytes lead nowhere.
    """
    rows, width = tokens.shape
    while done < rows * width:
        i, j = done // width, done % width
        token = tokens[i, j]
        at = configurations[i]
        if token < 0 or token >= len(words.data_offsets) - 1:
            at = DEAD
        else:
            begin, past = words.data_offsets[token], words.data_offsets[token + 1]
            if begin == past:
                at = DEAD
            while begin < past and at >= 0:
                if arena.row[at] < 0:
                    status = expand(rules, arena, at)
                    if status < 0:
                        return done, status
                at = arena.next[arena.row[at], rules.classes[words.data[begin]]]
                begin += 1
        after[i, j] = at
        done += 1
    return done, 0


@jit_no_arrays
def consume_known(
    next_rows: Ints,
    row: Ints,
    classes: NDArray[np.uint8],
    data: NDArray[np.uint8],
    offsets: Ints,
    configurations: Ints,
    tokens: Ints,
    after: Ints,
) -> int:
    """Follows the bytes as `consume` does, from the first entry on, up to one that needs a configuration expanded; how
    many are done.

    It takes only the arrays that it reads: handing over all of a store takes longer than most calls.
    """
    rows, width = tokens.shape
    for i in range(rows):
        for j in range(width):
            token, at = tokens[i, j], configurations[i]
            if token < 0 or token >= len(offsets) - 1 or offsets[token] == offsets[token + 1]:
                at = DEAD
            else:
                for k in range(offsets[token], offsets[token + 1]):
                    if at < 0:
                        break
                    if row[at] < 0:
                        reached: int = i * width + j
                        return reached
                    at = next_rows[row[at], classes[data[k]]]
            after[i, j] = at
    size: int = tokens.size
    return size


@jit_no_arrays
def whole_vocabulary(
    rules: NetworkArrays, arena: Arena, words: TokenArrays, path: Ints, i: int, reached: Ints
) -> tuple[int, int]:
    """Writes `reached[string]`, the configuration after each string that is alive: the place, and the status."""
    while i < len(words.byte):
        before = path[words.depth[i] - 1]
        if arena.row[before] < 0:
            status = expand(rules, arena, before)
            if status < 0:
                return i, status
        after = arena.next[arena.row[before], rules.classes[words.byte[i]]]
        if after < 0:
            i = words.skip[i]
            continue
        path[words.depth[i]] = after
        if words.string[i] >= 0:
            reached[words.string[i]] = after
        i += 1
    return i, 0


@jit
def distinct_reach(
    byte: NDArray[np.uint8],
    depth: Ints,
    skip: Ints,
    string: Ints,
    classes: NDArray[np.uint8],
    arena: Arena,
    origin: Ints,
    seed_sources: Ints,
    seed_nodes: Ints,
    seed_configurations: Ints,
    longest: int,
    found: NDArray[np.int32],
    missed: NDArray[np.int32],
) -> tuple[int, int]:
    """The distinct configurations that one token reaches from each source: rows (source, configuration, string).

    Nothing is looked at below a string that leads where a string no longer than it led before, or back to its
    source's own configuration `origin[source]`: what follows it is found from there. That may leave out a cheaper
    token, never one that costs rely on. Seeds of one source are adjacent. Returns how many rows of `found` and of
    `missed` (source, node, configuration) are needed; more than there is room for means: call again with more.
    """
    path = np.empty(longest + 1, np.int32)
    stamp = np.full(len(arena.accepts), -1, np.int32)
    shortest = np.empty(len(arena.accepts), np.int32)
    row_of = np.empty(len(arena.accepts), np.int32)
    rows = 0
    misses = 0
    for k in range(len(seed_nodes)):
        source = seed_sources[k]
        i = seed_nodes[k]
        end = skip[i]
        if i == 0:
            path[0] = seed_configurations[k]
            i = 1
        else:
            path[depth[i] - 1] = seed_configurations[k]
        while i < end:
            before = path[depth[i] - 1]
            row = arena.row[before]
            after = DEAD if row < 0 else arena.next[row, classes[byte[i]]]
            if after < 0:
                if row < 0:
                    if misses < len(missed):
                        missed[misses, 0] = source
                        missed[misses, 1] = i
                        missed[misses, 2] = before
                    misses += 1
                i = skip[i]
                continue
            path[depth[i]] = after
            if string[i] >= 0:
                if after == origin[source] or (stamp[after] == source and shortest[after] <= depth[i]):
                    i = skip[i]
                    continue
                shortest[after] = depth[i]
                if stamp[after] == source:
                    if row_of[after] < len(found):
                        found[row_of[after], 2] = string[i]
                else:
                    stamp[after] = source
                    row_of[after] = rows
                    if rows < len(found):
                        found[rows, 0] = source
                        found[rows, 1] = after
                        found[rows, 2] = string[i]
                    rows += 1
            i += 1
    return rows, misses
