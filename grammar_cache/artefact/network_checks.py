"""Checks of a network's arrays before anything follows them, each in one pass, and the automata of its rules.

The compiled loops of `network_arrays`. They check each index before they follow it. Faults are numbers:
0 for nothing, else the place of its words in `MOVES` or `CALLS`.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.automata.subset_kernels import CALL
from grammar_cache.loops.array_types import Ints, Octets
from grammar_cache.loops.jit import jit

MOVES = (
    "",
    "states don't divide the moves",
    "a move leads nowhere",
    "the moves of a state are not in order",
    "a move leaves its rule",
    "two moves are one",
)
CALLS = (
    "",
    "states don't divide the calls",
    "a rule that is called isn't there",
    "a call returns nowhere",
    "a call leaves its rule",
    "the calls of a state are not in order",
)


@jit
def class_count(classes: Octets) -> int:
    """Number of classes of the 256 bytes, if they are numbered by first byte; else 0."""
    count = 0
    for of in classes:
        if of > count:
            return 0
        count = max(count, of + 1)
    return count


@jit
def rules_of(entry: Ints, count: int) -> Ints:
    """Rule of each state; the rules begin at `entry`, which ascends from 0."""
    rule = np.zeros(count, np.int32)
    for number in range(1, len(entry)):
        rule[entry[number] :] = number
    return rule


@jit
def _divides(first: Ints, parts: int, total: int) -> bool:
    if len(first) != parts + 1 or first[0] != 0 or first[-1] != total:
        return False
    return bool((first[1:] >= first[:-1]).all())


@jit
def wrong_moves(first: Ints, low: Octets, high: Octets, to: Ints, rule: Ints, classes: int) -> int:
    """Moves are deterministic, in canonical order, as few as may be, and stay within their rule, or what is wrong of
    `MOVES`.
    """
    count = len(rule)
    if len(low) != len(to) or len(high) != len(to) or not _divides(first, count, len(to)):
        return 1
    for state in range(count):
        last = np.int64(-1)
        for m in range(first[state], first[state + 1]):
            if high[m] >= classes or not 0 <= to[m] < count:
                return 2
            if low[m] <= last or low[m] > high[m]:
                return 3
            if rule[to[m]] != rule[state]:
                return 4
            if m > first[state] and low[m] == last + 1 and to[m] == to[m - 1]:
                return 5
            last = np.int64(high[m])
    return 0


@jit
def wrong_calls(first: Ints, callee: Ints, back: Ints, rule: Ints, rules: int) -> int:
    """Calls are in canonical order and return to their own rule, or what is wrong of `CALLS`."""
    count = len(rule)
    if len(callee) != len(back) or not _divides(first, count, len(back)):
        return 1
    for state in range(count):
        last = -1
        for c in range(first[state], first[state + 1]):
            if not 0 <= callee[c] < rules:
                return 2
            if not 0 <= back[c] < count:
                return 3
            if rule[back[c]] != rule[state]:
                return 4
            if callee[c] <= last:
                return 5
            last = callee[c]
    return 0


@jit
def automaton_of(
    begin: int,
    past: int,
    move_first: Ints,
    move_low: Octets,
    move_high: Octets,
    move_to: Ints,
    call_first: Ints,
    call_rule: Ints,
    call_back: Ints,
) -> tuple[Ints, Ints, Ints]:
    """Columns of the automaton of the rule that has the states from `begin` to before `past`, as `Dfa` has them: where
    labels of each state begin, labels, and the states after them. Rules are called by their own numbers.
    """
    size = call_first[past] - call_first[begin]
    for m in range(move_first[begin], move_first[past]):
        size += np.int64(move_high[m]) + 1 - move_low[m]
    first, labels, heads = np.empty(past - begin + 1, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    at = 0
    for state in range(begin, past):
        first[state - begin] = at
        for m in range(move_first[state], move_first[state + 1]):
            for of in range(move_low[m], np.int64(move_high[m]) + 1):
                labels[at], heads[at] = of, move_to[m] - begin
                at += 1
        for c in range(call_first[state], call_first[state + 1]):
            labels[at], heads[at] = CALL + call_rule[c], call_back[c] - begin
            at += 1
    first[past - begin] = at
    return first, labels, heads
