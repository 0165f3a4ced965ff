"""Compiled loops that weigh byte classes by what they lead to: where a walk of a rule's tokens goes best beside."""

from __future__ import annotations

from grammar_cache.configurations.arena import DEAD, Arena, ArenaBlock, NetworkBlock, arena_in, rules_in
from grammar_cache.configurations.interner import ROOT
from grammar_cache.configurations.row_kernels import expanded, follows
from grammar_cache.configurations.step_kernels import above_root
from grammar_cache.loops.array_types import Ints, Longs
from grammar_cache.loops.jit import jit_inline, jit_no_arrays


@jit_no_arrays
def outlook(rules_block: NetworkBlock, arena_block: ArenaBlock, state: int, weights: Longs) -> tuple[int, int]:
    """The configuration of a state above the root, expanded, and the weight of the byte classes that lead on from it.

    A status in place of the first, and nothing is lost, where that can't be.
    """
    rules, arena = rules_in(rules_block), arena_in(arena_block)
    number = above_root(rules, arena, state)
    if number >= 0 and arena.row[number] < 0:
        status = expanded(rules, arena, number)
        if status < 0:
            return status, 0
    if number < 0:
        return number, 0
    return number, weight_alive(arena, number, weights)


@jit_inline
def weight_alive(arena: Arena, configuration: int, weights: Longs) -> int:
    """Weight of the byte classes that lead on from a configuration that is expanded."""
    total = 0
    for c in range(len(weights)):
        if follows(arena, arena.row[configuration], c) >= 0:
            total += weights[c]
    return total


@jit_no_arrays
def mostly_behind(arena_block: ArenaBlock, origin: int, weights: Longs, into: Ints) -> int:
    """Writes the states that byte classes of the most weight lead to from a configuration that is expanded, of the most
    first: how many there are. -1 stands for a configuration that isn't one state above the root.
    """
    arena = arena_in(arena_block)
    for place in range(len(into)):
        into[place] = _heaviest(arena, arena.row[origin], weights, into[:place])
        if into[place] == DEAD:
            return _states_alone(arena, into[:place])
    return _states_alone(arena, into)


@jit_inline
def _heaviest(arena: Arena, row: int, weights: Longs, without: Ints) -> int:
    """The configuration, `without` some, that byte classes of the most weight lead to: DEAD if none does."""
    most, chosen = 0, DEAD
    for c in range(len(weights)):
        after, total = follows(arena, row, c), 0
        known = after < 0 or (c > 0 and after == follows(arena, row, c - 1))
        for one in without:
            known |= after == one
        if known:
            continue
        for same in range(len(weights)):
            if follows(arena, row, same) == after:
                total += weights[same]
        if total > most:
            most, chosen = total, after
    return chosen


@jit_inline
def _states_alone(arena: Arena, places: Ints) -> int:
    """Writes the state of each configuration in place of it, -1 where that isn't all: how many there are."""
    for k in range(len(places)):
        first, past = arena.item_first[places[k]], arena.item_first[places[k] + 1]
        alone = past == first + 1 and arena.items[first] & 0xFFFFFFFF == ROOT
        places[k] = arena.items[first] >> 32 if alone else -1
    return len(places)


@jit_no_arrays
def weight_alike(arena_block: ArenaBlock, one: int, other: int, weights: Longs) -> int:
    """Weight of the byte classes that lead to the same from two configurations, which are expanded."""
    arena = arena_in(arena_block)
    mine, theirs, total = arena.row[one], arena.row[other], 0
    for c in range(len(weights)):
        if follows(arena, mine, c) == follows(arena, theirs, c):
            total += weights[c]
    return total
