"""The automata of all rules over common byte classes and with common state numbers: the compiled loops."""

from __future__ import annotations

import numpy as np

from grammar_cache.array_types import Ints, Octets
from grammar_cache.automata.subset_kernels import CALL
from grammar_cache.jit import jit


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
def common(classes: Octets) -> Octets:
    """One partition of the bytes for all rules, uint8[rules, 256] to uint8[256]: classes are numbered by first byte."""
    found = np.zeros(256, np.uint8)
    seen = np.full((256, 256), -1, np.int32)
    number = np.empty((256, 256), np.uint8)
    for rule in range(len(classes)):
        count = 0
        for byte in range(256):
            a, b = found[byte], classes[rule, byte]
            if seen[a, b] != rule:
                seen[a, b] = rule
                number[a, b] = count
                count += 1
            found[byte] = number[a, b]
    return found


@jit
def spread(
    first: Ints, labels: Ints, heads: Ints, own: Octets, offset: int, width: int
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """A rule's moves and calls over common classes, states numbered from `offset` on.

    `own` is the rule's class of each common one. Returns for moves: how many each state has, classes, states after
    them; for calls: how many each state has, rules, states to return to.
    """
    states = len(first) - 1
    move_count, call_count = np.zeros(states, np.int32), np.zeros(states, np.int32)
    group_first = np.zeros(257, np.int64)
    for c in range(width):
        group_first[own[c] + 1] += 1
    group_first = np.cumsum(group_first)
    place, group = group_first.copy(), np.empty(width, np.int64)
    for c in range(width):
        group[place[own[c]]] = c
        place[own[c]] += 1
    moves = calls = 0
    for label in labels:
        if label < CALL:
            moves += group_first[label + 1] - group_first[label]
        else:
            calls += 1
    move_class, move_to = np.empty(moves, np.int32), np.empty(moves, np.int32)
    call_rule, call_back = np.empty(calls, np.int32), np.empty(calls, np.int32)
    row = np.full(width, -1, np.int32)
    moves = calls = 0
    for s in range(states):
        for t in range(first[s], first[s + 1]):
            if labels[t] < CALL:
                for k in range(group_first[labels[t]], group_first[labels[t] + 1]):
                    row[group[k]] = heads[t]
                    move_count[s] += 1
            else:
                call_rule[calls], call_back[calls] = labels[t] - CALL, heads[t] + offset
                call_count[s] += 1
                calls += 1
        if move_count[s]:
            for c in range(width):
                if row[c] >= 0:
                    move_class[moves], move_to[moves] = c, row[c] + offset
                    row[c] = -1
                    moves += 1
    return move_count, move_class, move_to, call_count, call_rule, call_back
