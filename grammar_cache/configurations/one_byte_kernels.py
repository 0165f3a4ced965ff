"""The compiled step behind one byte alone, for texts that are followed once: most of a row is what they don't read."""

from __future__ import annotations

import numpy as np

from grammar_cache.configurations.arena import BOTTOM, CLOCK, CRAMPED, DEAD, SPENT, Arena, NetworkArrays
from grammar_cache.configurations.row_kernels import after_byte, follows
from grammar_cache.configurations.step_kernels import ENDING, READING, closed, expansion
from grammar_cache.loops.jit import jit_inline, jit_no_arrays


@jit_no_arrays
def after_byte_alone(rules: NetworkArrays, arena: Arena, configuration: int, byte: int) -> int:
    """The configuration behind one byte, DEAD or a status, as `after_byte` has it. The rest of its row isn't made,
    where the row can't be dear.
    """
    row, wanted = arena.row[configuration], rules.classes[byte]
    if row >= 0:
        return int(follows(arena, row, wanted))
    size = expansion(rules, arena, configuration)
    if size < 0:
        return int(after_byte(rules, arena, configuration, byte))
    cost, moves = arena.used[SPENT], _moved(rules, arena, size, -1)
    if moves < 0:
        return moves
    if cost + _popped(rules, arena, moves) > rules.dear:
        return int(after_byte(rules, arena, configuration, byte))
    moves = _moved(rules, arena, size, wanted)
    return DEAD if moves == 0 else int(closed(rules, arena, arena.scratch[ENDING, :moves], False))


@jit_inline
def _moved(rules: NetworkArrays, arena: Arena, size: int, wanted: int) -> int:
    """Writes to ENDING what the first items of READING lead to by a class, by all of them where that is -1: how many
    items; or CRAMPED.
    """
    items, into = arena.scratch[READING], arena.scratch[ENDING]
    count = 0
    for i in range(size):
        state, node = items[i] >> 32, items[i] & 0xFFFFFFFF
        for m in range(rules.move_first[state], rules.move_first[state + 1]):
            if wanted < 0 or rules.move_low[m] <= wanted <= rules.move_high[m]:
                if count == len(into):
                    return CRAMPED
                into[count] = (np.int64(rules.move_to[m]) << 32) | node
                count += 1
    return count


@jit_inline
def _popped(rules: NetworkArrays, arena: Arena, size: int) -> int:
    """Counts the items in ENDING with all that rules that end there return to: up to where it is dear,
    or there is no room.
    """
    arena.used[CLOCK] += 1
    clock, found = arena.used[CLOCK], arena.scratch[ENDING]
    most = min(rules.dear, len(found) - 1)
    at = 0
    while at < size <= most:
        state, node = found[at] >> 32, found[at] & 0xFFFFFFFF
        at += 1
        if rules.final[state] and arena.popped[node] != clock:
            arena.popped[node] = clock
            for e in range(arena.edge_first[node], arena.edge_first[node + 1]):
                if arena.edges[e] != BOTTOM and size <= most:
                    found[size] = arena.edges[e]
                    size += 1
    return size if size <= most else int(rules.dear) + 1
