"""The compiled walk of the tokens that stay inside of a rule.

As in `token_kernels`, a loop that can't go on returns where it stands and a status below 0, and goes on from there.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.arena import (
    AT_BOTTOM,
    BOTTOM,
    CALLING,
    DEAD,
    UNKNOWN,
    WIDE,
    Arena,
    ArenaBlock,
    NetworkArrays,
    NetworkBlock,
    arena_in,
    rules_in,
)
from grammar_cache.configurations.interner import ROOT
from grammar_cache.configurations.row_kernels import after_byte, expanded
from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.cost_kernels import CostsBlock, costs_in
from grammar_cache.loops.array_types import IntRows, Ints, Longs
from grammar_cache.loops.jit import jit_inline, jit_no_arrays
from grammar_cache.masks.byte_costs import BOTTOMS, CALLED, COST
from grammar_cache.successors.distinct_kernels import row_cost
from grammar_cache.successors.token_kernels import TokenArrays, WordsBlock, visit, words_in, write
from grammar_cache.vocabulary.token_set import Bits

Marks: TypeAlias = NDArray[np.uint8]
"""Marks by configuration, of one walk."""


class Likeness(NamedTuple):
    """Tables that tell which states of a rule go on alike: see `state_equivalence`.

    `deepest`: by node of the trie, the bytes of the longest string below it. `kinds[level, state - first]` are equal
    for states that read texts of up to `levels[level]` bytes alike. `costs`: by state.
    """

    deepest: Ints
    kinds: IntRows
    first: int
    levels: Ints
    costs: Ints


class InsideWalk(NamedTuple):
    """Nodes from `begin[k]` to before `past[k]`, coming from configuration `before[k]`: `path`, by depth.

    Another path goes `beside`, DEAD where there is none.
    """

    begin: Ints
    past: Ints
    before: Ints
    path: Ints
    beside: Ints


class InsideFound(NamedTuple):
    """The `bits` of tokens that are alive, `marks` of the configurations on their way, the `exits`, and what reading a
    byte `costs` by the first one: see `byte_costs`.
    """

    bits: Bits
    marks: Marks
    exits: Ints
    costs: IntRows


NUMBER, NODE, EXITS, PASSED, DEARER, WIDEST, LEFT, CHANGED = range(8)
"""Places of the progress of `inside`."""
PART_FUEL = 1 << 20
"""Fuel for going on from the configurations of one walk, in units of `row_cost`."""
WALKED, REACHED = 1, 2
"""Marks of a configuration that a walk has gone on from, and of one that a token has reached."""


@jit_no_arrays
def inside(
    rules_block: NetworkBlock,
    arena_block: ArenaBlock,
    words_block: WordsBlock,
    likeness: Likeness,
    walk: InsideWalk,
    known: Ints,
    found: InsideFound,
    progress: Longs,
) -> int:
    """Makes `found.bits` those of the tokens that are alive, and notes the exits and where tokens lead.

    `found.bits` are those of the path beside so far, whose exits are `known`: where both go on alike for as long as
    tokens do, everything stays as it is, though it may be dearer. Progress: the number k and the node to go on at (0:
    at its begin), how many exits there are now, how many known ones were passed, by how much what stayed is dearer,
    what reading a byte costs at most, the fuel that is left, and whether the bits are others than they were. Returns 0,
    or a status below it, after which it goes on, unless that is WIDE: a byte is dear, or there is no fuel left.
    """
    rules, arena, words = rules_in(rules_block), arena_in(arena_block), words_in(words_block)
    number, node = progress[NUMBER], progress[NODE]
    weighed, behind = DEAD, -1  # the last configuration that was weighed, and the byte that it is behind
    while number < len(walk.begin):
        if max(node, walk.begin[number]) >= walk.past[number]:
            number, node = number + 1, 0
            continue
        if node == 0:
            node = walk.begin[number]
            walk.path[words.depth[node] - 1] = walk.before[number]
        here, other = node, walk.beside[words.depth[node] - 1]
        after, node = visit(rules, arena, words, walk.path, here)
        if other >= 0 and after >= DEAD:
            other = after_byte(rules, arena, other, words.byte[here])
        if min(after, other) < UNKNOWN:
            progress[NUMBER], progress[NODE] = number, here
            return int(min(after, other))
        before = walk.path[words.depth[here] - 1]
        if before != weighed or words.first[here] != behind:
            weighed, behind = before if words.depth[here] > 1 else DEAD, words.first[here]
            weigh(arena, before, behind, words.depth[here] > 1, found.costs)
            if is_dear(rules, arena, before, found.marks, progress):
                return WIDE
        if walk.beside[words.depth[here] - 1] >= 0:
            progress[LEFT] -= cost_once(arena, walk.beside[words.depth[here] - 1], found.marks)
        if _stays(arena, words, likeness, here, after, other, progress):
            node = words.skip[here]
            _pass_exits(known, here, node, after >= 0, found.exits, progress)
        elif after < 0:
            _pass_exits(known, here, node, False, found.exits, progress)
            for dead in range(here, node):
                progress[CHANGED] |= write(words, words.string[dead], found.bits, False)
        else:
            walk.beside[words.depth[here]] = other
            note(arena, words, here, after, found, progress)
    progress[NUMBER], progress[NODE] = number, node
    return 0


@jit_inline
def is_dear(rules: NetworkArrays, arena: Arena, before: int, marks: Marks, progress: Longs) -> bool:
    """Whether reading a byte is dear, counted on by the configuration `before` it, or as good as dear: no fuel is left
    for going on from there.
    """
    progress[LEFT] -= cost_once(arena, before, marks)
    beyond = rules.dear + 1 if progress[LEFT] < 0 else 0
    progress[WIDEST] = max(progress[WIDEST], arena.costs[before], beyond)
    return bool(progress[WIDEST] > rules.dear)


@jit_inline
def weigh(arena: Arena, before: int, first: int, behind: bool, costs: IntRows) -> None:
    """Notes what reading a byte costs from a configuration, if that is `behind` the first byte of a token, and what is
    called there.
    """
    row = arena.row[before]
    if behind:
        costs[COST, first] = max(costs[COST, first], arena.costs[before])
        costs[BOTTOMS, first] = max(costs[BOTTOMS, first], arena.rows[row + AT_BOTTOM])
    costs[CALLED, first] = max(costs[CALLED, first], arena.rows[row + CALLING])


@jit_inline
def cost_once(arena: Arena, configuration: int, marks: Marks) -> int:
    """Fuel for going on from a configuration, whoever has made its row: nothing where this walk has done so before."""
    if marks[configuration] & WALKED:
        return 0
    marks[configuration] |= WALKED
    return row_cost(arena, configuration)


@jit_inline
def _stays(
    arena: Arena, words: TokenArrays, likeness: Likeness, node: int, after: int, other: int, progress: Longs
) -> bool:
    """Whether all tokens below a node go on as beside, where it may be less dear."""
    if after == other:
        return True
    if min(after, other) < 0:
        return False
    levels, level = likeness.levels, 0
    while level < len(levels) and levels[level] < likeness.deepest[node] - words.depth[node]:
        level += 1
    if level == len(levels):
        return False
    alike, dearer = _alike(arena, likeness, level, after, other)
    if alike:
        progress[DEARER] = max(progress[DEARER], dearer)
    return alike


@jit_inline
def _pass_exits(known: Ints, node: int, past: int, alive: bool, exits: Ints, progress: Longs) -> None:
    """Passes known exits before `past`; those from `node` on are exits here too, if it is alive."""
    at, count = progress[PASSED], progress[EXITS]
    while at < len(known) and known[at] < past:
        if alive and known[at] >= node:
            exits[count] = known[at]
            count += 1
        at += 1
    progress[PASSED], progress[EXITS] = at, count


@jit_inline
def note(arena: Arena, words: TokenArrays, node: int, after: int, found: InsideFound, progress: Longs) -> None:
    """Notes a node that is alive: its string, and whether the rule may end there with longer tokens below."""
    if words.string[node] >= 0:
        progress[CHANGED] |= write(words, words.string[node], found.bits, True)
        found.marks[after] |= REACHED
    if arena.accepts[after] and words.skip[node] > node + 1:
        found.exits[progress[EXITS]] = node
        progress[EXITS] += 1


@jit_inline
def _alike(arena: Arena, likeness: Likeness, level: int, one: int, other: int) -> tuple[bool, int]:
    """Whether two configurations are alike at a level, and by how much the first may be dearer: each of their items is
    at a state of the rule, by itself or below the same state of a called rule.

    A rule called at the end of this one returns to the root too: its states are another rule's.
    """
    if arena.accepts[one] != arena.accepts[other]:
        return False, 0
    i, j = arena.item_first[one], arena.item_first[other]
    count = arena.item_first[one + 1] - i
    if count == 0 or arena.item_first[other + 1] - j != count:
        return False, 0
    kinds, costs, dearer = likeness.kinds, likeness.costs, -INFINITE
    for k in range(count):
        called, mine = _places(arena, arena.items[i + k])
        also_called, theirs = _places(arena, arena.items[j + k])
        place, place_beside = mine - likeness.first, theirs - likeness.first
        if called != also_called or min(place, place_beside) < 0 or max(place, place_beside) >= kinds.shape[1]:
            return False, 0
        if kinds[level, place] != kinds[level, place_beside]:
            return False, 0
        dearer = max(dearer, costs[mine] - costs[theirs])
    return True, dearer


@jit_inline
def _places(arena: Arena, item: int) -> tuple[int, int]:
    """The state of a called rule, -1 if there is none, and that of the rule itself, -1 if it isn't known."""
    node = item & 0xFFFFFFFF
    if node == ROOT:
        return -1, int(item >> 32)
    edge = arena.edges[arena.edge_first[node]]
    if arena.edge_first[node + 1] != arena.edge_first[node] + 1 or edge == BOTTOM or edge & 0xFFFFFFFF != ROOT:
        return -1, -1
    return int(item >> 32), int(edge >> 32)


@jit_no_arrays
def dearest(rules_block: NetworkBlock, arena_block: ArenaBlock, configurations: Ints, costs: IntRows) -> int:
    """Writes the most that reading a byte costs from one of some configurations to `costs`, int32[3, 1], as in
    `byte_costs`: 0; or a status, and nothing is lost.
    """
    rules, arena = rules_in(rules_block), arena_in(arena_block)
    for configuration in configurations:
        if arena.row[configuration] < 0:
            status = expanded(rules, arena, configuration)
            if status < 0:
                return status
        weigh(arena, configuration, 0, True, costs)
    return 0


@jit_no_arrays
def largest(costs_block: CostsBlock, marks: Marks, least: int) -> int:
    """The largest cost of a configuration that a token has reached, `least` at least."""
    costs = costs_in(costs_block).configurations
    for configuration in range(len(marks)):
        if marks[configuration] & REACHED:
            least = max(least, costs[configuration])
    return least
