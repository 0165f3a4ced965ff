"""The automata of all rules over common byte classes and with common state numbers: the compiled loops."""

from __future__ import annotations

import numpy as np

from grammar_cache.automata.subset_kernels import CALL
from grammar_cache.loops.array_types import Ints, Longs, OctetRows, Octets
from grammar_cache.loops.jit import jit, jit_inline


@jit
def merged(first: Ints, labels: Ints, heads: Ints, classes: Octets) -> Octets:
    """Representative of each byte: the first byte that no state tells apart from it."""
    count = np.int64(classes.max()) + 1
    sizes = np.zeros(count + 1, np.int64)
    for label in labels:
        if label < CALL:
            sizes[label + 1] += 1
    begins = np.cumsum(sizes)
    place = begins.copy()
    column = np.empty((begins[-1], 2), np.int32)
    hashed = np.zeros(count, np.int64)
    for s in range(len(first) - 1):
        for t in range(first[s], first[s + 1]):
            if labels[t] < CALL:
                hashed[labels[t]] = (hashed[labels[t]] ^ (np.int64(s) << 32 | heads[t])) * 0x5851F42D4C957F2D
                column[place[labels[t]], 0], column[place[labels[t]], 1] = s, heads[t]
                place[labels[t]] += 1
    same_as = np.empty(count, np.uint8)
    for c in range(count):
        same_as[c] = c
        for other in range(c):
            if same_as[other] == other and hashed[other] == hashed[c] and sizes[other + 1] == sizes[c + 1]:
                alike = True
                for i in range(sizes[c + 1]):
                    a, b = begins[c] + i, begins[other] + i
                    if column[a, 0] != column[b, 0] or column[a, 1] != column[b, 1]:
                        alike = False
                        break
                if alike:
                    same_as[c] = other
                    break
    return same_as[classes]


@jit
def common(classes: OctetRows) -> tuple[Octets, Ints]:
    """One partition of the bytes for all rules, uint8[rules, 256] to uint8[256], and the first byte of each class:
    classes are numbered by first byte.
    """
    found = np.zeros(256, np.uint8)
    width = np.int64(classes.max()) + 1
    seen, number = np.full((256, width), -1, np.int32), np.empty((256, width), np.uint8)
    for rule in range(len(classes)):
        count = 0
        for byte in range(256):
            a, b = found[byte], classes[rule, byte]
            if seen[a, b] != rule:
                seen[a, b] = rule
                number[a, b] = count
                count += 1
            found[byte] = number[a, b]
    begins, count = np.empty(256, np.int32), 0
    for byte in range(256):
        if found[byte] == count:
            begins[count] = byte
            count += 1
    return found, begins[:count].copy()


@jit
def joined(
    entry: Ints, first: Ints, labels: Ints, heads: Ints, classes: OctetRows, called_first: Ints, called: Ints
) -> tuple[int, Octets, Ints, Octets, Octets, Ints, Ints, Ints, Ints, Ints]:
    """The automata of all rules, whose columns stand one behind the other, as one.

    Rule r has the states from `entry[r]` on, the byte classes `classes[r]`, uint8[rules, 256], and calls the rules
    from `called[called_first[r]]` on. Returns the number of common classes, and these; for moves, where each state's
    begin, their first and last classes, the states after them; for calls, where each state's begin, their rules, the
    states to return to; the rule of each state.
    """
    together, begins = common(classes)
    own, own_low, own_high = np.empty(len(begins), np.int64), np.empty(256, np.int64), np.empty(256, np.int64)
    move_first, call_first = np.zeros(entry[-1] + 1, np.int32), np.zeros(entry[-1] + 1, np.int32)
    rule_of = np.empty(entry[-1], np.int32)
    room = len(labels) + len(begins)  # mostly far too much: labels next to each other are one move
    move_low, move_high, move_to = np.empty(room, np.uint8), np.empty(room, np.uint8), np.empty(room, np.int32)
    calls = (labels >= CALL).sum()
    call_rule, call_back = np.empty(calls, np.int32), np.empty(calls, np.int32)
    after = np.full(256, -1, np.int32)  # by class of the rule's own
    end = moves = calls = 0
    for rule in range(len(classes)):
        _compare(classes[rule], begins, own, own_low, own_high)
        for state in range(entry[rule], entry[rule + 1]):
            low, high = len(begins), -1
            begin, end = end, end + first[state + rule + 1] - first[state + rule]
            for t in range(begin, end):
                if labels[t] < CALL:
                    after[labels[t]] = heads[t] + entry[rule]
                    low, high = min(low, own_low[labels[t]]), max(high, own_high[labels[t]])
                else:
                    call_rule[calls] = called[called_first[rule] + labels[t] - CALL]
                    call_back[calls] = heads[t] + entry[rule]
                    calls += 1
            if moves + len(begins) > room:
                move_low = np.concatenate((move_low, np.empty(room, np.uint8)))
                move_high = np.concatenate((move_high, np.empty(room, np.uint8)))
                move_to = np.concatenate((move_to, np.empty(room, np.int32)))
                room = len(move_low)
            last = np.int32(-1)
            for c in range(low, high + 1):
                if after[own[c]] != last:
                    last = after[own[c]]
                    move_low[moves], move_to[moves] = c, last
                    moves += last >= 0
                if last >= 0:
                    move_high[moves - 1] = c
            for t in range(begin, end):
                if labels[t] < CALL:
                    after[labels[t]] = -1
            move_first[state + 1], call_first[state + 1], rule_of[state] = moves, calls, rule
    move_low, move_high, move_to = move_low[:moves].copy(), move_high[:moves].copy(), move_to[:moves].copy()
    columns = move_first, move_low, move_high, move_to, call_first, call_rule, call_back, rule_of
    return len(begins), together, *columns


@jit_inline
def _compare(classes: Octets, begins: Ints, own: Longs, own_low: Longs, own_high: Longs) -> None:
    """Notes a rule's own class for each common one, and for each of its own the first and the last common one."""
    own_low[:] = len(begins)
    own_high[:] = -1
    for c in range(len(begins)):
        own[c] = classes[begins[c]]
        own_low[own[c]] = min(own_low[own[c]], c)
        own_high[own[c]] = c
