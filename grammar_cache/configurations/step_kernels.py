"""The compiled steps of configurations: what a configuration may call, where each byte leads, and what ends there.

They make no arrays of their own but work in the store's scratch, row by row, and are compiled without reference
counts: counting those of all arrays at each call took more time than all else. A row that is too short is CRAMPED.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.algorithms.heap import pop, push
from grammar_cache.algorithms.sorting import many_distinct
from grammar_cache.configurations.arena import (
    BOTTOM,
    BOTTOMS,
    CLOCK,
    CRAMPED,
    MERGED,
    NOTED,
    SPENT,
    WIDE,
    Arena,
    ArenaBlock,
    NetworkArrays,
    NetworkBlock,
    arena_in,
    configuration_of,
    node_of,
    rules_in,
)
from grammar_cache.configurations.cyclic_nodes import COUNTS, ENTERED, OUTSIDE, SEEN, enter
from grammar_cache.loops.array_types import Longs
from grammar_cache.loops.jit import jit_inline, jit_no_arrays

ENDING, READING, EDGES, OLDER, RULES, OWN, MOVES, MOVES_OLDER, LAST, CODES, CHOSEN = range(COUNTS + 1, COUNTS + 12)
"""Rows of the scratch, after those of groups."""


@jit_inline
def closed_ending(rules: NetworkArrays, arena: Arena, size: int, accepting: bool) -> int:
    """The configuration of the first items in the row ENDING, what has ended popped; or a status.

    SPENT grows by what that took, BOTTOMS by how many nodes were popped that text may end with, MERGED by what was met
    more than once.
    """
    arena.used[CLOCK] += 1
    clock, found = arena.used[CLOCK], arena.scratch[ENDING]
    at = 0
    while at < size:
        state, node = found[at] >> 32, found[at] & 0xFFFFFFFF
        at += 1
        if rules.final[state] and arena.popped[node] == clock:
            arena.used[MERGED] += 1
        elif rules.final[state]:
            arena.popped[node] = clock
            for e in range(arena.edge_first[node], arena.edge_first[node + 1]):
                if arena.edges[e] == BOTTOM:
                    accepting = True
                    arena.used[BOTTOMS] += 1
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
    several = kept
    kept = many_distinct(found, kept, arena.scratch[SEEN], arena.scratch[COUNTS])
    arena.used[MERGED] += several - kept
    number: int = configuration_of(arena, found[:kept], accepting, rules.limit)
    return number


@jit_no_arrays
def closed(rules: NetworkArrays, arena: Arena, items: Longs, accepting: bool) -> int:
    """The configuration of some items, what has ended popped; or a status."""
    if len(items) > arena.scratch.shape[1]:
        return CRAMPED
    for i in range(len(items)):
        arena.scratch[ENDING, i] = items[i]
    number: int = closed_ending(rules, arena, len(items), accepting)
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
            arena.used[BOTTOMS] += edges[noted] == BOTTOM
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
    distinct = int(many_distinct(into[begin:], past - begin, room, counts))
    arena.used[MERGED] += past - begin - distinct
    return begin + distinct


@jit_inline
def _outside(arena: Arena, group: int, waiting: int) -> tuple[int, int, int]:
    """Takes the rules of a component off the heap, and writes the edges that lead out of it to OUTSIDE, rule by rule.

    Returns how many rules wait still, how many keys were written, or CRAMPED, and how many of them are the edge below
    everything.
    """
    heap, outside = arena.scratch[RULES], arena.scratch[OUTSIDE]
    marks = bottoms = 0
    while waiting > 0 and heap[0] >> 32 == group:
        rule = heap[0] & 0xFFFFFFFF
        waiting = pop(heap, waiting)
        if marks == len(outside):
            return waiting, CRAMPED, 0
        outside[marks] = -2 - rule
        begin = marks + 1
        marks = _own(arena, rule, outside, begin)
        if marks < 0:
            return waiting, CRAMPED, 0
        for k in range(begin, marks):
            bottoms += outside[k] == BOTTOM
    return waiting, marks, bottoms


@jit_no_arrays
def expansion(rules: NetworkArrays, arena: Arena, configuration: int) -> int:
    """Writes the items and the entries of all rules that they may call before the next byte to READING.

    Returns how many there are, or a status; SPENT is what that took, BOTTOMS how often it met the edge below everything
    at most, MERGED how many edges were noted more than once.
    """
    first = arena.item_first[configuration]
    size = arena.item_first[configuration + 1] - first
    found, heap = arena.scratch[READING], arena.scratch[RULES]
    if size > len(found):
        return CRAMPED
    for i in range(size):
        found[i] = arena.items[first + i]
    arena.used[CLOCK] += 1
    arena.used[BOTTOMS] = arena.used[MERGED] = 0
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
        waiting, marks, bottoms = _outside(arena, group, waiting)
        if marks < 0:
            return CRAMPED
        entered, node = enter(rules, arena, marks)
        if node < 0:
            return int(node)
        made += marks + (arena.popped[node - 1] & 0xFFFFFFFF)
        arena.used[MERGED] += arena.popped[node - 1] >> 32
        arena.used[BOTTOMS] += bottoms * (1 + entered)  # each that is entered may have it
        if size + entered > len(found):
            return CRAMPED
        for i in range(entered):
            found[size] = (np.int64(rules.entry[arena.scratch[ENTERED, i]]) << 32) | (node + i)
            size += 1


@jit_inline
def above_root(rules: NetworkArrays, arena: Arena, state: int) -> int:
    """The configuration of one state above the root: what its rule still has to read; or a status."""
    arena.scratch[ENDING, 0] = np.int64(state) << 32
    number: int = closed_ending(rules, arena, 1, False)
    return number


@jit_no_arrays
def pops(rules_block: NetworkBlock, arena_block: ArenaBlock, node: int, most: int) -> int:
    """Counts the edges of a node, and of all nodes whose rules end with it, up to `most` and one; or a status."""
    rules, arena = rules_in(rules_block), arena_in(arena_block)
    arena.used[CLOCK] += 1
    clock, todo = arena.used[CLOCK], arena.scratch[ENDING]
    todo[0], arena.popped[node] = node, clock
    size, count = 1, 0
    while size > 0 and count <= most:
        size -= 1
        first, past = arena.edge_first[todo[size]], arena.edge_first[todo[size] + 1]
        count += past - first
        for e in range(first, past):
            back, parent = arena.edges[e] >> 32, arena.edges[e] & 0xFFFFFFFF
            if arena.edges[e] != BOTTOM and rules.final[back] and arena.popped[parent] != clock:
                if size == len(todo):
                    return CRAMPED
                arena.popped[parent] = clock
                todo[size] = parent
                size += 1
    return int(count)


@jit_no_arrays
def popped(rules_block: NetworkBlock, arena_block: ArenaBlock, node: int) -> int:
    """The configuration behind the end of a rule whose node it is, text that may end there not counted; or a status.

    Items and edges are written alike.
    """
    rules, arena, size = rules_in(rules_block), arena_in(arena_block), 0
    for e in range(arena.edge_first[node], arena.edge_first[node + 1]):
        if size == arena.scratch.shape[1]:
            return CRAMPED
        if arena.edges[e] != BOTTOM:
            arena.scratch[ENDING, size] = arena.edges[e]
            size += 1
    number: int = closed_ending(rules, arena, size, False)
    return number
