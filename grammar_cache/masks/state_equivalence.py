"""States of a rule that read short texts alike: those n characters before a bound differ only in what is longer.

Two states are alike at level k if after every text of at most k bytes the same may follow, as far as can be told: both
dead, or both alive with the same ends, and with costs that differ by as much as those of the two states themselves. A
called rule is known by its number, and reads a byte at least.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_types import Ints
from grammar_cache.configurations.arena import NetworkArrays
from grammar_cache.jit import jit

LEVELS: NDArray[np.int32] = np.array([3, 5, 8, 12, 16, 24, 32], np.int32)
"""Levels that are told apart."""


@jit
def alike(rules: NetworkArrays, costs: Ints, infinite: int, first: int, past: int, wanted: Ints) -> Ints:
    """Representative by wanted level and by state from `first` to before `past`, which are a rule: the first state like
    it.
    """
    count = past - first
    found = np.empty((len(wanted), count), np.int32)
    before, after = np.zeros(count, np.int32), np.empty(count, np.int32)
    size = 1 << 4
    while size < 2 * count:
        size *= 2
    classes, done = 1, 0
    for level in range(wanted[-1] + 1):
        slots = np.full(size, -1, np.int32)
        kinds = 0
        for s in range(first, past):
            slot = _code(rules, costs, infinite, first, s, before) & (size - 1)
            while slots[slot] >= 0 and not _same(rules, costs, infinite, first, s, slots[slot], before):
                slot = (slot + 1) & (size - 1)
            if slots[slot] < 0:
                slots[slot] = s
                kinds += 1
            after[s - first] = slots[slot]
        before, after = after, before
        if kinds == classes and level > 0:  # nothing will be told apart any more
            break
        classes = kinds
        if level == wanted[done]:
            found[done] = before
            done += 1
    while done < len(wanted):
        found[done] = before
        done += 1
    return found


@jit
def _code(rules: NetworkArrays, costs: Ints, infinite: int, first: int, state: int, before: Ints) -> int:
    code = (1 if costs[state] >= infinite else 0) * 2 + (1 if rules.final[state] else 0)
    for m in range(rules.move_first[state], rules.move_first[state + 1]):
        code = _mixed(code, int((np.int64(rules.move_class[m]) << 32) | before[rules.move_to[m] - first]))
    for k in range(rules.call_first[state], rules.call_first[state + 1]):
        code = _mixed(code, int((np.int64(rules.call_rule[k]) << 32) | before[rules.call_back[k] - first]))
    return int(code)


@jit
def _mixed(code: int, key: int) -> int:
    code = (code ^ key) * -7046029254386353131
    return code ^ ((code >> 29) & 0x7FFFFFFFF)


@jit
def _same(rules: NetworkArrays, costs: Ints, infinite: int, first: int, s: int, t: int, before: Ints) -> bool:
    if (costs[s] >= infinite) != (costs[t] >= infinite) or rules.final[s] != rules.final[t]:
        return False
    m, n = rules.move_first[s], rules.move_first[t]
    moves = rules.move_first[s + 1] - m
    k, j = rules.call_first[s], rules.call_first[t]
    calls = rules.call_first[s + 1] - k
    if rules.move_first[t + 1] - n != moves or rules.call_first[t + 1] - j != calls:
        return False
    for i in range(moves):
        if rules.move_class[m + i] != rules.move_class[n + i]:
            return False
        to, other = rules.move_to[m + i], rules.move_to[n + i]
        if before[to - first] != before[other - first] or costs[to] - costs[s] != costs[other] - costs[t]:
            return False
    for i in range(calls):
        if rules.call_rule[k + i] != rules.call_rule[j + i]:
            return False
        to, other = rules.call_back[k + i], rules.call_back[j + i]
        if before[to - first] != before[other - first] or costs[to] - costs[s] != costs[other] - costs[t]:
            return False
    return True
