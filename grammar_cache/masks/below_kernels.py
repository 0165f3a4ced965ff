"""The compiled walk of the tokens that go on below a rule, behind the exits where it may end.

Exits lie below each other: a token may be found more than once, and its bytes are read behind each of them at once. As
in `token_kernels`, a loop that can't go on returns a status below 0, and goes on from there.
"""

from __future__ import annotations

from grammar_cache.configurations.arena import UNKNOWN, WIDE, Arena, ArenaBlock, NetworkBlock, arena_in, rules_in
from grammar_cache.loops.array_types import Ints, Longs
from grammar_cache.loops.jit import jit_inline, jit_no_arrays
from grammar_cache.masks.inside_kernels import REACHED, Marks, cost_once
from grammar_cache.successors.token_kernels import TokenArrays, WordsBlock, visit, words_in, write
from grammar_cache.vocabulary.token_set import Bits

EXIT, NODE, COST, OUTERMOST, PLACE, LEFT = range(6)
"""Places of the progress of `below`."""


@jit_no_arrays
def below(
    rules_block: NetworkBlock,
    arena_block: ArenaBlock,
    words_block: WordsBlock,
    path: Ints,
    exits: Ints,
    after_exit: int,
    progress: Longs,
    bits: Bits,
    marks: Marks,
    sums: Ints,
) -> int:
    """Sets the bits of the tokens below the exits that are alive, and notes where they lead.

    Progress: the number of the exit and the node below it to go on at (0: the exit itself), what reading a byte costs
    at most, the outermost exit with its place in `sums`: see `_weigh`, and the fuel that is left.
    Returns 0, or a status below it, after which it goes on, unless that is WIDE: a byte is dear, or no fuel is left.
    """
    rules, arena, words = rules_in(rules_block), arena_in(arena_block), words_in(words_block)
    while progress[EXIT] < len(exits):
        leaving, node = exits[progress[EXIT]], progress[NODE]
        if leaving >= words.skip[progress[OUTERMOST]]:
            progress[PLACE] += words.skip[progress[OUTERMOST]] - progress[OUTERMOST]
            progress[OUTERMOST] = leaving
        if node == 0:
            node = leaving + 1
            path[words.depth[leaving]] = after_exit
        while node < words.skip[leaving]:
            here = node
            after, node = visit(rules, arena, words, path, here)
            if after < UNKNOWN:
                progress[NODE] = here
                return int(after)
            _weigh(arena, words, path, here, leaving, after_exit, progress, sums)
            progress[LEFT] -= cost_once(arena, path[words.depth[here] - 1], marks)
            if progress[COST] > rules.dear or progress[LEFT] < 0:
                return WIDE
            if after >= 0 and words.string[here] >= 0:
                write(words, words.string[here], bits, True)
                marks[after] |= REACHED
        progress[EXIT] += 1
        progress[NODE] = 0
    return 0


@jit_inline
def _weigh(
    arena: Arena,
    words: TokenArrays,
    path: Ints,
    here: int,
    leaving: int,
    after_exit: int,
    progress: Longs,
    sums: Ints,
) -> None:
    """Counts what reading a byte costs below the node before, which is read behind all exits above it together.

    `sums`, zeros at first, are that cost behind all exits but the node itself, for each node from an outermost exit on;
    the nodes of the outermost exits, which aren't below another one, stand one behind the other.
    """
    before = progress[PLACE] + here - 1 - progress[OUTERMOST]
    if here != leaving + 1:
        if words.depth[here] <= words.depth[here - 1]:  # not the first node below the one before: that one is counted
            return
        sums[before] += arena.costs[path[words.depth[here] - 1]]
    progress[COST] = max(progress[COST], sums[before] + arena.costs[after_exit])


@jit_no_arrays
def room_below(skip: Ints, exits: Ints) -> int:
    """Length of `sums`: nodes of the outermost exits, and all below them, which are before the `skip` of each."""
    room, past = 0, 0
    for leaving in exits:
        if leaving >= past:
            past = skip[leaving]
            room += past - leaving
    return room
