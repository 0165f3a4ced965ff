"""The compiled walk of the tokens that stay inside of a rule, by classes of bytes.

As in `token_kernels`, a loop that can't go on returns a status below 0, and goes on from there.
"""

from __future__ import annotations

from grammar_cache.configurations.arena import UNKNOWN, WIDE, ArenaBlock, NetworkBlock, arena_in, rules_in
from grammar_cache.loops.array_types import IntRows, Ints, Longs
from grammar_cache.loops.jit import jit_no_arrays
from grammar_cache.masks.inside_kernels import NODE, NUMBER, InsideFound, is_dear, note, weigh
from grammar_cache.successors.class_walk_kernels import WideStates, is_wide
from grammar_cache.successors.token_kernels import TokenArrays, visit


@jit_no_arrays
def inside_by_class(
    rules_block: NetworkBlock,
    arena_block: ArenaBlock,
    words: TokenArrays,
    wide: WideStates,
    path: Ints,
    found: InsideFound,
    parted: IntRows,
    progress: Longs,
) -> int:
    """Notes what `inside` does of the tokens of a trie of classes, the path's first configuration being that of the
    root. Below nodes behind which some state isn't `wide` nothing is walked: these, and where they lead, are
    `parted`, two rows. Costs are noted as if all tokens began with byte 0. Progress: how many nodes are parted, and the
    others as for `inside`, whose statuses it has.
    """
    rules, arena = rules_in(rules_block), arena_in(arena_block)
    node = max(progress[NODE], 1)
    while node < len(words.byte):
        here = node
        after, node = visit(rules, arena, words, path, here)
        if after < UNKNOWN:
            progress[NODE] = here
            return int(after)
        if is_dear(rules, arena, path[words.depth[here] - 1], found.marks, progress):
            return WIDE
        weigh(arena, path[words.depth[here] - 1], 0, words.depth[here] > 1, found.costs)
        if after < 0:
            continue
        note(arena, words, here, after, found, progress)
        if words.skip[here] > here + 1 and not is_wide(arena, wide, after):
            parted[0, progress[NUMBER]], parted[1, progress[NUMBER]] = here, after
            progress[NUMBER] += 1
            node = words.skip[here]
    return 0
