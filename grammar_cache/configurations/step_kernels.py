"""The compiled steps of configurations: what a configuration may call, where each byte leads, and what ends there.

They make no arrays of their own but work in the store's scratch, row by row, and are compiled without reference
counts: counting those of all arrays at each call took more time than all else. A row that is too short is CRAMPED.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.algorithms.heap import pop, push
from grammar_cache.algorithms.sorting import many_distinct
from grammar_cache.array_types import Longs
from grammar_cache.configurations.arena import (
    BOTTOM,
    CLOCK,
    CRAMPED,
    DEAD,
    FULL,
    NOTED,
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
    NetworkArrays,
    configuration_of,
    follows,
    node_of,
    pattern_of,
)
from grammar_cache.configurations.cyclic_nodes import COUNTS, ENTERED, OUTSIDE, SEEN, enter
from grammar_cache.jit import call_at, jit_inline, jit_no_arrays

ENDING, READING, EDGES, OLDER, RULES, OWN, MOVES, MOVES_OLDER, LAST, CODES, CHOSEN = range(COUNTS + 1, COUNTS + 12)
"""Rows of the scratch, after those of groups."""


@jit_inline
def _closed(rules: NetworkArrays, arena: Arena, size: int, accepting: bool) -> int:
    """The configuration of the first items in the row ENDING, what has ended popped; or a status."""
    arena.used[CLOCK] += 1
    clock, found = arena.used[CLOCK], arena.scratch[ENDING]
    at = 0
    while at < size:
        state, node = found[at] >> 32, found[at] & 0xFFFFFFFF
        at += 1
        if rules.final[state] and arena.popped[node] != clock:
            arena.popped[node] = clock
            for e in range(arena.edge_first[node], arena.edge_first[node + 1]):
                if arena.edges[e] == BOTTOM:
                    accepting = True
                elif size > rules.widest:
                    return WIDE
                elif size == len(found):
                    return CRAMPED
                else:
                    found[size] = arena.edges[e]
                    size += 1
    arena.used[SPENT] += size
    kept = 0
    for i in range(size):
        if rules.live[found[i] >> 32]:
            found[kept] = found[i]
            kept += 1
    kept = many_distinct(found, kept, arena.scratch[SEEN], arena.scratch[COUNTS])
    number: int = configuration_of(arena, found[:kept], accepting, rules.limit)
    return number


@jit_no_arrays
def closed(rules: NetworkArrays, arena: Arena, items: Longs, accepting: bool) -> int:
    """The configuration of some items, what has ended popped; or a status."""
    if len(items) > arena.scratch.shape[1]:
        return CRAMPED
    for i in range(len(items)):
        arena.scratch[ENDING, i] = items[i]
    number: int = _closed(rules, arena, len(items), accepting)
    return number


@jit_inline
def _called(rules: NetworkArrays, arena: Arena, item: int, group: int, waiting: int, noted: int) -> tuple[int, int]:
    """Notes the calls of an item: the edges of each rule are a list in EDGES from `rule_last[rule]` on, through OLDER.

    A rule that is met for the first time is put on the heap RULES, callers before callees. Calls within the component
    `group` are left out: its nodes know them. Returns how many rules wait and edges are noted; CRAMPED twice.
    """
    state, node = item >> 32, item & 0xFFFFFFFF
    edges, older, heap = arena.scratch[EDGES], arena.scratch[OLDER], arena.scratch[RULES]
    for k in range(rules.call_first[state], rules.call_first[state + 1]):
        rule, back = rules.call_rule[k], rules.call_back[k]
        if rules.component[rule] == group:
            continue
        if arena.rule_stamp[rule] != arena.used[CLOCK]:
            if waiting == len(heap):
                return CRAMPED, CRAMPED
            arena.rule_stamp[rule] = arena.used[CLOCK]
            arena.rule_last[rule] = -1
            waiting = push(heap, waiting, (np.int64(rules.component[rule]) << 32) | rule)
        begin, past = node, node + 1
        if rules.tail[back]:  # what a call at the end of a rule returns to is what the rule itself returns to
            begin, past = arena.edge_first[node], arena.edge_first[node + 1]
        if noted + past - begin > len(edges):
            return CRAMPED, CRAMPED
        for e in range(begin, past):
            edges[noted] = arena.edges[e] if rules.tail[back] else (np.int64(back) << 32) | node
            older[noted] = arena.rule_last[rule]
            arena.rule_last[rule] = noted
            noted += 1
    return waiting, noted


@jit_inline
def _own(arena: Arena, rule: int, into: Longs, begin: int) -> int:
    """Writes the distinct edges that are noted of a rule to a row: where they end; or CRAMPED."""
    past, k = begin, arena.rule_last[rule]
    while k >= 0:
        if past == len(into):
            return CRAMPED
        into[past] = arena.scratch[EDGES, k]
        past, k = past + 1, arena.scratch[OLDER, k]
    room, counts = arena.scratch[SEEN], arena.scratch[COUNTS]
    return begin + int(many_distinct(into[begin:], past - begin, room, counts))


@jit_no_arrays
def expansion(rules: NetworkArrays, arena: Arena, configuration: int) -> int:
    """Writes the items and the entries of all rules that they may call before the next byte to READING.

    Returns how many there are, or a status; SPENT is what that took.
    """
    first = arena.item_first[configuration]
    size = arena.item_first[configuration + 1] - first
    found, heap = arena.scratch[READING], arena.scratch[RULES]
    if size > len(found):
        return CRAMPED
    for i in range(size):
        found[i] = arena.items[first + i]
    arena.used[CLOCK] += 1
    waiting, noted, done, made = 0, 0, 0, 0
    group = -1
    while True:
        while done < size:
            if size + (noted + NOTED - 1) // NOTED + made > rules.widest:
                return WIDE
            waiting, noted = _called(rules, arena, found[done], group, waiting, noted)
            if noted < 0:
                return CRAMPED
            done += 1
        if waiting == 0:
            arena.used[SPENT] = size + (noted + NOTED - 1) // NOTED + made
            return int(size)
        top = heap[0]
        group = top >> 32 if rules.cyclic[top >> 32] else -1
        if group < 0:
            waiting = pop(heap, waiting)
            rule = top & 0xFFFFFFFF
            own = _own(arena, rule, arena.scratch[OWN], 0)
            node = own if own < 0 else node_of(arena, arena.scratch[OWN][:own])
            if node < 0:
                return int(node)
            if size == len(found):
                return CRAMPED
            found[size] = (np.int64(rules.entry[rule]) << 32) | node
            size += 1
            continue
        marks, outside = 0, arena.scratch[OUTSIDE]
        while waiting > 0 and heap[0] >> 32 == group:
            rule = heap[0] & 0xFFFFFFFF
            waiting = pop(heap, waiting)
            if marks == len(outside):
                return CRAMPED
            outside[marks] = -2 - rule
            marks = _own(arena, rule, outside, marks + 1)
            if marks < 0:
                return CRAMPED
        entered, node = enter(rules, arena, marks)
        if node < 0:
            return int(node)
        made += marks + arena.popped[node - 1]
        if size + entered > len(found):
            return CRAMPED
        for i in range(entered):
            found[size] = (np.int64(rules.entry[arena.scratch[ENTERED, i]]) << 32) | (node + i)
            size += 1


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
    cost = arena.used[SPENT]
    count = size if size < 0 else _sorted_moves(rules, arena, size, classes)
    if count < 0:
        return int(count)
    last, codes, chosen = arena.scratch[LAST], arena.scratch[CODES], arena.scratch[CHOSEN]
    moves, older, ending = arena.scratch[MOVES], arena.scratch[MOVES_OLDER], arena.scratch[ENDING]
    pattern, work, most, kinds = arena.patterns[arena.used[PATTERNS]], cost + count, np.int64(0), 0
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
        arena.used[SPENT] = 0
        number = _closed(rules, arena, _listed(moves, older, last[c], ending), False)
        work, most = work + arena.used[SPENT], max(most, arena.used[SPENT])
        if number == WIDE or (number >= 0 and cost + most > rules.widest):
            return _leave_out(rules, arena, configuration)
        if number < 0:
            return int(number)
        row[kinds - 1] = number
    arena.rows[begin + PATTERN], arena.rows[begin + WORK] = pattern_of(arena), work
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
        if count + rules.move_first[state + 1] - rules.move_first[state] > len(moves):
            return CRAMPED
        for m in range(rules.move_first[state], rules.move_first[state + 1]):
            c = rules.move_class[m]
            moves[count] = (np.int64(rules.move_to[m]) << 32) | node
            older[count] = last[c]
            last[c] = count
            codes[c] = (codes[c] ^ moves[count]) * -7046029254386353131
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


@jit_inline
def after_byte(rules: NetworkArrays, arena: Arena, configuration: int, byte: int) -> int:
    """The configuration behind one byte, or DEAD; a status, which is below UNKNOWN, where it could not be made."""
    if arena.row[configuration] < 0:
        status = expanded(rules, arena, configuration)
        if status < 0:
            return status
    return int(follows(arena, arena.row[configuration], rules.classes[byte]))


@jit_no_arrays
def at(rules: NetworkArrays, arena: Arena, state: int) -> int:
    """The configuration of one state above the root: what its rule still has to read; or a status."""
    arena.scratch[ENDING, 0] = np.int64(state) << 32
    number: int = _closed(rules, arena, 1, False)
    return number


@jit_no_arrays
def popped(rules: NetworkArrays, arena: Arena, node: int) -> int:
    """The configuration behind the end of a rule whose node it is, text that may end there not counted; or a status.

    Items and edges are written alike.
    """
    size = 0
    for e in range(arena.edge_first[node], arena.edge_first[node + 1]):
        if size == arena.scratch.shape[1]:
            return CRAMPED
        if arena.edges[e] != BOTTOM:
            arena.scratch[ENDING, size] = arena.edges[e]
            size += 1
    number: int = _closed(rules, arena, size, False)
    return number
