"""The compiled walk of the tokens that go on below a rule, behind the exits where it may end.

Exits lie below each other: a token may be found more than once, and its bytes are read behind each of them at once. As
in `token_kernels`, a loop that can't go on returns a status below 0, and goes on from there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammar_cache.configurations.arena import (
    CALLING,
    UNKNOWN,
    WIDE,
    Arena,
    ArenaBlock,
    NetworkBlock,
    arena_in,
    rules_in,
)
from grammar_cache.loops.array_types import Flags, IntRows, Ints, Longs
from grammar_cache.loops.jit import jit_inline, jit_no_arrays
from grammar_cache.masks.byte_costs import CALLED, COST
from grammar_cache.masks.inside_kernels import REACHED, Marks, cost_once, weigh
from grammar_cache.successors.token_kernels import WordsBlock, visit, words_in, write
from grammar_cache.vocabulary.token_set import Bits

PLACE, NODE, LEFT, SUMMED = range(4)
"""Places of the progress of `below`."""


class BelowWalk(NamedTuple):
    """The `exits`, ascending, behind each of which the configuration `after_exit` is; `path` is by depth.

    Nodes right `behind` exits stand by their byte: those of b from `behind_first[b]` on. An exit begins with each byte
    that `begins` says. See `BehindExits`.
    """

    path: Ints
    exits: Ints
    behind: Ints
    behind_first: Ints
    begins: Flags
    after_exit: int


class BelowFound(NamedTuple):
    """The `bits` of tokens that are alive, `marks` of the configurations on their way, and what reading a byte `costs`
    by the first one: see `byte_costs`.

    `sums`: by node, what reading a byte costs behind all exits above it, where that is counted: at the `summed` nodes.
    """

    bits: Bits
    marks: Marks
    costs: IntRows
    sums: Ints
    summed: Ints


@jit_no_arrays
def below(
    rules_block: NetworkBlock,
    arena_block: ArenaBlock,
    words_block: WordsBlock,
    walk: BelowWalk,
    found: BelowFound,
    progress: Longs,
) -> int:
    """Sets the bits of the tokens below the exits that are alive, and notes where they lead.

    Progress: the place of a node behind exits and the node below it to go on at (0: that one itself), the fuel that is
    left, and how many nodes are summed. Returns 0, or a status below it, after which it goes on, unless that is WIDE: a
    byte is dear, or no fuel is left.
    """
    path = walk.path
    rules, arena, words = rules_in(rules_block), arena_in(arena_block), words_in(words_block)
    while progress[PLACE] < len(walk.behind):
        begin, node, alive = walk.behind[progress[PLACE]], progress[NODE], True
        if node == 0:
            node = begin
            path[words.depth[begin] - 1] = walk.after_exit
        while node < words.skip[begin]:
            here = node
            after, node = visit(rules, arena, words, path, here)
            if after < UNKNOWN:
                progress[NODE] = here
                return int(after)
            before = path[words.depth[here] - 1]
            if here == begin:
                alive = after >= 0
                progress[LEFT] -= cost_once(arena, before, found.marks)
            elif words.depth[here] > words.depth[here - 1]:  # the first one behind the node before
                progress[LEFT] -= cost_once(arena, before, found.marks)
                cost = _summed(arena, before, here - 1, walk, found, progress)
                first, calls = words.first[here], arena.rows[arena.row[before] + CALLING]
                found.costs[COST, first] = max(found.costs[COST, first], cost)
                found.costs[CALLED, first] = max(found.costs[CALLED, first], calls)
                if cost > rules.dear:
                    return WIDE
            if progress[LEFT] < 0:
                return WIDE
            if after >= 0 and words.string[here] >= 0:
                write(words, words.string[here], found.bits, True)
                found.marks[after] |= REACHED
        progress[PLACE] = progress[PLACE] + 1 if alive else np.int64(walk.behind_first[np.int64(words.byte[begin]) + 1])
        progress[NODE] = 0
    for first in range(256):
        if walk.begins[first]:
            weigh(arena, walk.after_exit, first, True, found.costs)
    return 0


@jit_inline
def _summed(arena: Arena, before: int, node: int, walk: BelowWalk, found: BelowFound, progress: Longs) -> int:
    """Counts what reading a byte costs behind one more exit above a node, from the configuration `before` that byte:
    what it costs behind all of them that are counted, the node itself among them if it is one.
    """
    if found.sums[node] == 0 and arena.costs[before] > 0:
        found.summed[progress[SUMMED]] = node
        progress[SUMMED] += 1
    found.sums[node] += arena.costs[before]
    at = np.searchsorted(walk.exits, node)
    is_exit = at < len(walk.exits) and walk.exits[at] == node
    return int(found.sums[node] + (arena.costs[walk.after_exit] if is_exit else 0))
