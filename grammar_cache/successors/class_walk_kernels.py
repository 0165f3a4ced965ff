"""The compiled loop of walks by classes of bytes. As in `token_kernels`, where it can't go on it returns a status below
0, and goes on from there when it is called again.
"""

from __future__ import annotations

from typing import NamedTuple

from grammar_cache.configurations.arena import UNKNOWN, Arena, ArenaBlock, NetworkBlock, arena_in, rules_in
from grammar_cache.loops.array_types import Flags, IntRows, Ints, Longs
from grammar_cache.loops.jit import jit_inline, jit_no_arrays
from grammar_cache.successors.distinct_kernels import NO_FUEL, NODE_COST, note_string, row_cost
from grammar_cache.successors.token_kernels import TokenArrays, visit

NODE, DISTINCT, PARTED, COST = range(4)
DEAR = 1
"""Status: reading a byte counts in what a token costs."""


class WideStates(NamedTuple):
    """States that don't tell the bytes of a class apart: the wide ones of some `parts`, and those of rules that are
    `called`. `part_of` and `rule_of` are by state; see `rule_classes`.
    """

    part_of: Ints
    rule_of: Ints
    parts: Ints
    called: Flags


@jit_no_arrays
def reached_by_class(
    rules_block: NetworkBlock,
    arena_block: ArenaBlock,
    words: TokenArrays,
    wide: WideStates,
    path: Ints,
    shortest: Ints,
    found: Ints,
    walked: Longs,
    serial: int,
    parted: IntRows,
    fuel: int,
    progress: Longs,
) -> int:
    """Walks a trie of classes, whose strings are the least of the vocabulary's, from the path's first configuration:
    0; NO_FUEL, DEAR, or a status below 0, after which it goes on.

    `found` are the configurations that tokens lead to, the `shortest` string to each being noted there. Below nodes
    behind which some state isn't `wide` nothing is walked: these, and where they lead, are `parted`, two rows. Costs
    are counted as for `distinct_successors`.
    """
    rules, arena = rules_in(rules_block), arena_in(arena_block)
    node = max(progress[NODE], 1)
    while node < len(words.byte):
        here = node
        before = path[words.depth[here] - 1]
        after, node = visit(rules, arena, words, path, here)
        if after < UNKNOWN:
            progress[NODE] = here
            return int(after)
        progress[COST] += NODE_COST
        if walked[before] != serial:
            walked[before] = serial
            progress[COST] += row_cost(arena, before)
            if arena.costs[before] > rules.dear:
                return DEAR
        if progress[COST] > fuel:
            return NO_FUEL
        if after < 0:
            continue
        string = words.string[here]
        if string >= 0:
            progress[DISTINCT] = note_string(words, string, after, shortest, found, progress[DISTINCT])
        if words.skip[here] > here + 1 and not is_wide(arena, wide, after):
            parted[0, progress[PARTED]], parted[1, progress[PARTED]] = here, after
            progress[PARTED] += 1
            node = words.skip[here]
    return 0


@jit_inline
def is_wide(arena: Arena, wide: WideStates, configuration: int) -> bool:
    """Whether all items of a configuration are at wide states."""
    found = True
    for i in range(arena.item_first[configuration], arena.item_first[configuration + 1]):
        state = arena.items[i] >> 32
        part = wide.part_of[state]
        among = part >= 0 and wide.called[wide.rule_of[state]]
        for own in wide.parts:
            among |= part == own
        found &= among
    return found


@jit_no_arrays
def wide_sources(arena_block: ArenaBlock, part_of: Ints, configurations: Ints, found: Flags) -> None:
    """Writes whether all states of each configuration are wide."""
    arena = arena_in(arena_block)
    for k in range(len(configurations)):
        first, past = arena.item_first[configurations[k]], arena.item_first[configurations[k] + 1]
        found[k] = first < past
        for i in range(first, past):
            found[k] &= part_of[arena.items[i] >> 32] >= 0
