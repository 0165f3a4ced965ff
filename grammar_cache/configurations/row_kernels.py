"""Rows: where each byte leads from a configuration, made all at once, and followed.

Like steps, they make no arrays of their own but work in the store's scratch.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.configurations.arena import (
    AT_BOTTOM,
    BOTTOMS,
    CALLING,
    CALLS,
    CRAMPED,
    DEAD,
    FULL,
    MERGED,
    MERGES,
    PATTERN,
    PATTERNS,
    ROW_HEAD,
    ROWS,
    SPENT,
    STOPPED,
    WIDE,
    WIDEST,
    WORK,
    Arena,
    ArenaBlock,
    NetworkArrays,
    NetworkBlock,
    arena_in,
    rules_in,
)
from grammar_cache.configurations.step_kernels import (
    CHOSEN,
    CODES,
    ENDING,
    LAST,
    MOVES,
    MOVES_OLDER,
    READING,
    closed_ending,
    expansion,
)
from grammar_cache.loops.array_types import Longs
from grammar_cache.loops.jit import call_at, jit_inline, jit_no_arrays


@jit_inline
def follows(arena: Arena, row: int, of: int) -> int:
    """The configuration that follows by a byte class in a row that is made; DEAD."""
    return int(arena.rows[row + ROW_HEAD + arena.patterns[arena.rows[row + PATTERN], of]])


@jit_inline
def pattern_of(arena: Arena) -> int:
    """The number of the pattern that stands behind all others, which is one of them if it is new."""
    fresh, classes = arena.used[PATTERNS], arena.patterns.shape[1]
    code, before = np.int64(classes), -1
    for c in range(classes):
        if arena.patterns[fresh, c] != before:
            before = arena.patterns[fresh, c]
            code = (code ^ (c << 8 | before)) * -7046029254386353131
            code ^= (code >> 29) & 0x7FFFFFFFF
    slot = code & (len(arena.pattern_slots) - 1)
    while arena.pattern_slots[slot] >= 0:
        known = arena.pattern_slots[slot]
        if arena.pattern_hashes[known] == code:
            differing = 0
            for c in range(classes):
                differing |= arena.patterns[known, c] ^ arena.patterns[fresh, c]
            if differing == 0:
                return int(known)
        slot = (slot + 1) & (len(arena.pattern_slots) - 1)
    arena.pattern_slots[slot], arena.pattern_hashes[fresh] = fresh, code
    arena.used[PATTERNS] = fresh + 1
    return int(fresh)


@jit_no_arrays
def expand(rules: NetworkArrays, arena: Arena, configuration: int) -> int:
    """Makes the row: 0; a status below it where it could not, and nothing is lost.

    Reading a byte costs the items that may read it, the edges noted for them, of which four take as long as an item,
    and what the byte leads to. That is the same whichever bytes are one class: grammars share what is known of their
    rules' costs.
    """
    if rules.stop[0]:
        return STOPPED
    classes, begin = arena.patterns.shape[1], arena.used[ROWS]
    if begin + ROW_HEAD + classes > len(arena.rows) or arena.used[PATTERNS] == len(arena.patterns):
        return FULL
    if classes > arena.scratch.shape[1]:
        return CRAMPED
    size = expansion(rules, arena, configuration)
    if size == WIDE:
        return _leave_out(rules, arena, configuration)
    cost, bottoms = arena.used[SPENT], arena.used[BOTTOMS]
    count = size if size < 0 else _sorted_moves(rules, arena, size, classes)
    if count < 0:
        return int(count)
    last, codes, chosen = arena.scratch[LAST], arena.scratch[CODES], arena.scratch[CHOSEN]
    moves, older, ending = arena.scratch[MOVES], arena.scratch[MOVES_OLDER], arena.scratch[ENDING]
    pattern, work, most, kinds = arena.patterns[arena.used[PATTERNS]], cost + count, np.int64(0), 0
    most_bottoms = np.int64(0)
    row = arena.rows[begin + ROW_HEAD :]
    for c in range(classes):
        k = kinds - 1
        while k >= 0 and not (codes[chosen[k]] == codes[c] and _equal(moves, older, last[chosen[k]], last[c])):
            k -= 1
        if k >= 0:  # mostly the one before it
            pattern[c] = k
            continue
        pattern[c], chosen[kinds], row[kinds] = kinds, c, DEAD
        kinds += 1
        if last[c] < 0:
            continue
        arena.used[SPENT] = arena.used[BOTTOMS] = 0
        number = closed_ending(rules, arena, _listed(moves, older, last[c], ending), False)
        work, most = work + arena.used[SPENT], max(most, arena.used[SPENT])
        most_bottoms = max(most_bottoms, arena.used[BOTTOMS])
        if number == WIDE or (number >= 0 and cost + most > rules.widest):
            return _leave_out(rules, arena, configuration)
        if number < 0:
            return int(number)
        row[kinds - 1] = number
    arena.rows[begin + PATTERN], arena.rows[begin + WORK] = pattern_of(arena), work
    arena.rows[begin + AT_BOTTOM] = bottoms + most_bottoms
    calls = size > arena.item_first[configuration + 1] - arena.item_first[configuration]
    arena.rows[begin + CALLING] = MERGES if arena.used[MERGED] else CALLS if calls else 0
    arena.row[configuration] = begin
    arena.costs[configuration] = cost + most
    arena.used[WIDEST] = max(arena.used[WIDEST], cost + most)
    arena.used[ROWS] = begin + ROW_HEAD + kinds
    return 0


@jit_inline
def _sorted_moves(rules: NetworkArrays, arena: Arena, size: int, classes: int) -> int:
    """Writes where the first items of READING move to MOVES: how many there are; or CRAMPED.

    Those of a class are a list from LAST[class] on, through MOVES_OLDER, and CODES has a code of each list.
    """
    items, last, codes = arena.scratch[READING], arena.scratch[LAST], arena.scratch[CODES]
    moves, older = arena.scratch[MOVES], arena.scratch[MOVES_OLDER]
    for c in range(classes):
        last[c], codes[c] = -1, 0
    count = 0
    for i in range(size):
        state, node = items[i] >> 32, items[i] & 0xFFFFFFFF
        for m in range(rules.move_first[state], rules.move_first[state + 1]):
            low, past, to = rules.move_low[m], np.int64(rules.move_high[m]) + 1, np.int64(rules.move_to[m]) << 32 | node
            if count + past - low > len(moves):
                return CRAMPED
            for c in range(low, past):
                moves[count], older[count] = to, last[c]
                last[c] = count
                codes[c] = (codes[c] ^ to) * -7046029254386353131
                count += 1
    return count


@jit_inline
def _equal(moves: Longs, older: Longs, a: int, b: int) -> bool:
    """Whether two lists of moves are equal. Those of a class are in the order of the items."""
    while a >= 0 and b >= 0 and moves[a] == moves[b]:
        a, b = older[a], older[b]
    return a < 0 and b < 0


@jit_inline
def _listed(moves: Longs, older: Longs, last: int, into: Longs) -> int:
    """Writes a list of moves as they were met, since much of that is in order: how many there are."""
    several, k = 0, last
    while k >= 0:
        several, k = several + 1, older[k]
    k = last
    for i in range(several - 1, -1, -1):
        into[i], k = moves[k], older[k]
    return several


@jit_inline
def _leave_out(rules: NetworkArrays, arena: Arena, configuration: int) -> int:
    """Gives a configuration the row that leads nowhere, as its own would cost too much."""
    arena.row[configuration] = 0
    arena.costs[configuration] = rules.widest
    arena.rows[WORK] = rules.widest
    arena.used[WIDEST] = rules.widest + 1
    return 0


@jit_inline
def expanded(rules: NetworkArrays, arena: Arena, configuration: int) -> int:
    """Does what `expand` does, for other loops."""
    return int(call_at(rules.expand, (rules, arena, configuration)))


@jit_no_arrays
def make_row(rules_block: NetworkBlock, arena_block: ArenaBlock, configuration: int) -> int:
    """Does what `expand` does, for Python."""
    return int(expanded(rules_in(rules_block), arena_in(arena_block), configuration))


@jit_inline
def after_byte(rules: NetworkArrays, arena: Arena, configuration: int, byte: int) -> int:
    """The configuration behind one byte, or DEAD; a status, which is below UNKNOWN, where it could not be made."""
    if arena.row[configuration] < 0:
        status = expanded(rules, arena, configuration)
        if status < 0:
            return status
    return int(follows(arena, arena.row[configuration], rules.classes[byte]))
