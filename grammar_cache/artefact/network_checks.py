"""Checks of a network's arrays before anything follows them, each in one pass, and the sums its rules hold.

The compiled loops of `network_arrays`. They check each index before they follow it. Faults are numbers:
0 for nothing, else the place of its words in `MOVES` or `CALLS`.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.array_types import Flags, Ints, Longs, Octets
from grammar_cache.automata.automaton_cache import reduced
from grammar_cache.automata.subset_kernels import CALL
from grammar_cache.jit import jit

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
def reduced_rules(
    bounds: Ints,
    classes: Octets,
    move_first: Ints,
    move_low: Octets,
    move_high: Octets,
    move_to: Ints,
    call_first: Ints,
    call_rule: Ints,
    call_back: Ints,
    final: Flags,
) -> tuple[Octets, Longs, Ints, Ints, Ints]:
    """The automata of all rules as `Reduced` has them: the bytes that its digests are of, one rule's behind another's.

    Offsets [rules + 1] say where each rule begins in these bytes, in labels, and in the rules that are called; those
    rules stand before the last offsets.
    """
    rules = len(bounds) - 1
    by_class = np.zeros(len(move_first), np.int64)  # labels that the moves of states are, and all those before
    for state in range(bounds[-1]):
        by_class[state + 1] = by_class[state]
        for m in range(move_first[state], move_first[state + 1]):
            by_class[state + 1] += np.int64(move_high[m]) + 1 - move_low[m]
    data = np.empty(256 * rules + 5 * bounds[-1] + 4 * rules + 8 * (by_class[-1] + len(call_back)), np.uint8)
    called = np.empty(len(call_rule), np.int32)
    first = np.zeros(rules + 1, np.int64)
    label_first, called_first = np.zeros(rules + 1, np.int32), np.zeros(rules + 1, np.int32)
    for rule in range(rules):
        begin, past = bounds[rule], bounds[rule + 1]
        room = by_class[past] - by_class[begin] + call_first[past] - call_first[begin]
        of, to, starts = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(past - begin + 1, np.int32)
        at = 0
        for state in range(begin, past):
            starts[state - begin] = at
            for m in range(move_first[state], move_first[state + 1]):
                for c in range(move_low[m], np.int64(move_high[m]) + 1):
                    of[at], to[at] = c, move_to[m] - begin
                    at += 1
            for c in range(call_first[state], call_first[state + 1]):
                of[at], to[at] = CALL + call_rule[c], call_back[c] - begin
                at += 1
        starts[past - begin] = at
        own, new_first, labels, heads, own_called = reduced(starts, of, to, classes)
        place = _put(data, first[rule], own)
        for column in (new_first, labels, heads):
            place = _put(data, place, column.view(np.uint8))
        first[rule + 1] = _put(data, place, final[begin:past].view(np.uint8))
        called_past = called_first[rule] + len(own_called)
        called[called_first[rule] : called_past] = own_called
        label_first[rule + 1], called_first[rule + 1] = label_first[rule] + len(labels), called_past
    return data[: first[-1]], first, label_first, called, called_first


@jit
def _put(data: Octets, place: int, more: Octets) -> int:
    data[place : place + len(more)] = more
    return place + len(more)
