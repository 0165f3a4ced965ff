"""Nodes of rules that call each other before reading anything: they lean on each other, and are made together.

A *group* of such nodes is identified by the edges that lead out of it, rule by rule. They are kept as a node that
nothing names, in which -2 - rule goes before the edges of that rule; the group's own nodes follow it. A rule that there
isn't goes last where calls are lean (`NetworkArrays`): the nodes of such a group have other edges.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.algorithms.sorting import many_distinct
from grammar_cache.configurations.arena import (
    BOTTOM,
    CRAMPED,
    FULL,
    NODES,
    WIDE,
    Arena,
    NetworkArrays,
    forget,
    grouped_node,
    node_of,
)
from grammar_cache.loops.array_types import Flags, Longs
from grammar_cache.loops.jit import jit

ENTERED, OUTSIDE, SEEN, COUNTS = range(4)
"""Rows of the scratch."""


@jit
def room_for(keys: Longs, size: int) -> Longs:
    """Keys with a place number `size`: the argument, or a longer copy."""
    if size < len(keys):
        return keys
    grown = np.empty(2 * size, np.int64)
    grown[: len(keys)] = keys
    return grown


@jit
def enter(rules: NetworkArrays, arena: Arena, marks: int) -> tuple[int, int]:
    """The rules of a component that are called from outside, directly or not, and the first of their nodes; FULL, WIDE.

    The edges from outside are the first so many keys of OUTSIDE; the rules, of which it returns the number, go into
    ENTERED. CRAMPED if they don't fit. What it costs to make the nodes, in edges, and how many edges come to a node
    repeatedly, times 2 ** 32, is `popped` of the node before them, which nobody pops.
    """
    outside = arena.scratch[OUTSIDE, :marks]
    entered = _entered(rules, outside)
    if len(entered) > arena.scratch.shape[1]:
        return 0, CRAMPED
    arena.scratch[ENTERED, : len(entered)] = entered
    nodes = arena.used[NODES]
    name = outside
    if rules.lean:
        if marks == arena.scratch.shape[1]:
            return 0, CRAMPED
        name = arena.scratch[OUTSIDE, : marks + 1]
        name[marks] = -2 - len(rules.entry)
    key = node_of(arena, name)
    if key < nodes:
        return len(entered), key if key == FULL else key + 1
    members, keys, callers, callees = _inside(rules, outside, entered, key + 1)
    first, own = _by_place(members, keys, len(entered))
    calling, before = _by_place(callees, callers, len(entered))
    handed, work, merged = np.empty(len(keys), np.int64), 0, np.int64(0)
    known, todo = np.zeros(len(entered), np.bool_), np.empty(len(entered), np.int64)
    for i in range(len(entered)):
        handed, size, looked_at = _handed(i, first, own, calling, before, known, todo, handed)
        work += looked_at
        if work > rules.widest:
            forget(arena, key)
            return 0, WIDE
        several = size
        size = many_distinct(handed, size, arena.scratch[SEEN], arena.scratch[COUNTS])
        merged += several - size
        node = grouped_node(arena, handed[:size])
        if node == FULL:
            forget(arena, key)
            return 0, FULL
    arena.popped[key] = merged << 32 | work
    return len(entered), key + 1


@jit
def _entered(rules: NetworkArrays, outside: Longs) -> Longs:
    """Rules that `outside` marks, then the rules that they call."""
    found = np.empty(8, np.int64)
    size = 0
    for key in outside:
        if key < BOTTOM:
            found = room_for(found, size)
            found[size] = -2 - key
            size += 1
    known = np.zeros(len(rules.entry), np.bool_)
    known[found[:size]] = True
    group = rules.component[found[0]]
    i = 0
    while i < size:
        entry = rules.entry[found[i]]
        for k in range(rules.call_first[entry], rules.call_first[entry + 1]):
            rule = np.int64(rules.call_rule[k])
            if rules.component[rule] == group and not known[rule]:
                known[rule] = True
                found = room_for(found, size)
                found[size] = rule
                size += 1
        i += 1
    return found[:size]


@jit
def _inside(rules: NetworkArrays, outside: Longs, entered: Longs, node: int) -> tuple[Longs, Longs, Longs, Longs]:
    """Pairs (place among those entered, edge) and pairs (caller, callee): all edges of the first lead out of both."""
    place = np.full(len(rules.entry), -1, np.int64)
    place[entered] = np.arange(len(entered))
    members, keys, size = np.empty(len(outside), np.int64), np.empty(len(outside), np.int64), 0
    callers, callees, calls = np.empty(8, np.int64), np.empty(8, np.int64), 0
    member = 0
    for key in outside:
        if key < BOTTOM:
            member = place[-2 - key]
        else:
            members[size], keys[size] = member, key
            size += 1
    for i in range(len(entered)):
        entry = rules.entry[entered[i]]
        for k in range(rules.call_first[entry], rules.call_first[entry + 1]):
            rule, back = np.int64(rules.call_rule[k]), rules.call_back[k]
            if place[rule] < 0:
                continue
            if rules.tail[back]:
                callers, callees = room_for(callers, calls), room_for(callees, calls)
                callers[calls], callees[calls] = i, place[rule]
                calls += 1
            else:
                members, keys = room_for(members, size), room_for(keys, size)
                members[size], keys[size] = place[rule], (np.int64(back) << 32) | (node + i)
                size += 1
    return members[:size], keys[:size], callers[:calls], callees[:calls]


@jit
def _by_place(places: Longs, values: Longs, count: int) -> tuple[Longs, Longs]:
    """The values of place i are `sorted[first[i] : first[i + 1]]`."""
    first = np.zeros(count + 1, np.int64)
    for place in places:
        first[place + 1] += 1
    for i in range(count):
        first[i + 1] += first[i]
    at, grouped = first[:count].copy(), np.empty(len(values), np.int64)
    for k in range(len(values)):
        grouped[at[places[k]]] = values[k]
        at[places[k]] += 1
    return first, grouped


@jit
def _handed(
    member: int, first: Longs, own: Longs, calling: Longs, before: Longs, known: Flags, todo: Longs, into: Longs
) -> tuple[Longs, int, int]:
    """Edges of a member: its own, and those of who calls it at the end. They are written to a row, or to a longer one.

    Returns it, how many they are, and how much was looked at. `known`, false throughout, and `todo` are for its work.
    """
    todo[0], met, done, size, looked_at = member, 1, 0, 0, 0
    known[member] = True
    while done < met:
        at = todo[done]
        done += 1
        looked_at += 1 + first[at + 1] - first[at] + calling[at + 1] - calling[at]
        for k in range(first[at], first[at + 1]):
            into = room_for(into, size)
            into[size] = own[k]
            size += 1
        for k in range(calling[at], calling[at + 1]):
            if not known[before[k]]:
                known[before[k]] = True
                todo[met] = before[k]
                met += 1
    for i in range(met):
        known[todo[i]] = False
    return into, size, looked_at
