"""The automata of all rules over common byte classes and with common state numbers: the compiled loops."""

from __future__ import annotations

import numpy as np

from grammar_cache.automata.subset_kernels import CALL
from grammar_cache.loops.array_types import Ints, OctetRows, Octets
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
    group_first, group = np.empty(258, np.int32), np.empty(len(begins), np.int32)
    move_first, call_first = np.zeros(entry[-1] + 1, np.int32), np.zeros(entry[-1] + 1, np.int32)
    rule_of = np.empty(entry[-1], np.int32)
    t = moves = calls = 0
    for rule in range(len(classes)):
        _group(classes[rule], begins, group_first, group)
        for state in range(entry[rule], entry[rule + 1]):
            for _ in range(first[state + rule], first[state + rule + 1]):
                if labels[t] < CALL:
                    moves += group_first[labels[t] + 1] - group_first[labels[t]]
                else:
                    calls += 1
                t += 1
            call_first[state + 1], rule_of[state] = calls, rule
    move_low, move_high, move_to = np.empty(moves, np.uint8), np.empty(moves, np.uint8), np.empty(moves, np.int32)
    call_rule, call_back = np.empty(calls, np.int32), np.empty(calls, np.int32)
    after = np.full(len(begins), -1, np.int32)
    t = moves = calls = 0
    for rule in range(len(classes)):
        _group(classes[rule], begins, group_first, group)
        for state in range(entry[rule], entry[rule + 1]):
            reads = False
            for _ in range(first[state + rule], first[state + rule + 1]):
                if labels[t] < CALL:
                    reads = True
                    for k in range(group_first[labels[t]], group_first[labels[t] + 1]):
                        after[group[k]] = heads[t] + entry[rule]
                else:
                    call_rule[calls] = called[called_first[rule] + labels[t] - CALL]
                    call_back[calls] = heads[t] + entry[rule]
                    calls += 1
                t += 1
            last = -1
            for c in range(len(begins) if reads else 0):
                if after[c] >= 0 and after[c] == last:
                    move_high[moves - 1] = c
                elif after[c] >= 0:
                    move_low[moves], move_high[moves], move_to[moves] = c, c, after[c]
                    moves += 1
                last, after[c] = after[c], -1
            move_first[state + 1] = moves
    move_low, move_high, move_to = move_low[:moves].copy(), move_high[:moves].copy(), move_to[:moves].copy()
    columns = move_first, move_low, move_high, move_to, call_first, call_rule, call_back, rule_of
    return len(begins), together, *columns


@jit_inline
def _group(classes: Octets, begins: Ints, group_first: Ints, group: Ints) -> None:
    """Groups the common classes by a rule's own: those of class c are `group[group_first[c] : group_first[c + 1]]`."""
    group_first[:] = 0
    for byte in begins:
        group_first[classes[byte] + 2] += 1
    for of in range(257):
        group_first[of + 1] += group_first[of]
    for c in range(len(begins)):
        of = classes[begins[c]] + 1
        group[group_first[of]] = c
        group_first[of] += 1
