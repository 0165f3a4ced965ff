"""States of a rule that read short texts alike: those n characters before a bound differ only in what is longer.

Two states are alike at level k if after every text of at most k bytes the same may follow, as far as can be told: both
dead, or both alive with the same ends, and with costs that differ by as much as those of the two states themselves. A
called rule is known by its number, and reads a byte at least.

States that are alike have one number. From level to level only those are looked at again that lead to one whose number
is new: most states of a long string are told apart at no level.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.arena import NetworkArrays, NetworkBlock, rules_in
from grammar_cache.loops.array_types import IntRows, Ints
from grammar_cache.loops.jit import jit, jit_no_arrays

LEVELS: NDArray[np.int32] = np.array([3, 5, 8, 12, 16, 24, 32], np.int32)
"""Levels that are told apart."""


@jit
def alike(rules_block: NetworkBlock, costs: Ints, infinite: int, first: int, past: int, wanted: Ints) -> Ints:
    """Number by wanted level and by state from `first` to before `past`, which are a rule: equal for those alike."""
    rules, count = rules_in(rules_block), past - first
    found = np.empty((len(wanted), count), np.int32)
    begin, before = _leading(rules, first, past)
    numbers, sizes = np.zeros(count, np.int32), np.zeros(count, np.int32)
    sizes[0] = count
    seen, some = np.full(count, -1, np.int32), np.arange(count, dtype=np.int32)
    used, done = 1, 0
    for level in range(wanted[-1] + 1):
        new, used = _numbered(_grouped(rules, costs, infinite, first, some, numbers), some, numbers, sizes, used)
        following, length = np.empty(count, np.int32), 0
        for i in range(len(some)):
            if new[i] != numbers[some[i]]:
                numbers[some[i]] = new[i]
                for k in range(begin[some[i]], begin[some[i] + 1]):
                    if seen[before[k]] < level:
                        seen[before[k]] = level
                        following[length] = before[k]
                        length += 1
        some = following[:length]
        if level == wanted[done]:
            found[done] = numbers
            done += 1
        if length == 0:  # nothing will be told apart any more
            break
    while done < len(wanted):
        found[done] = numbers
        done += 1
    return found


@jit
def _leading(rules: NetworkArrays, first: int, past: int) -> tuple[Ints, Ints]:
    """States that lead to state `first + s`: those from place `begin[s]` to before `begin[s + 1]`, some repeatedly."""
    begin = np.zeros(past - first + 2, np.int32)
    before = np.empty(0, np.int32)
    for placing in range(2):  # counts, then places
        for s in range(first, past):
            last = -1
            for m in range(rules.move_first[s], rules.move_first[s + 1]):
                if rules.move_to[m] != last:
                    last = rules.move_to[m]
                    if placing:
                        before[begin[last - first + 1]] = s - first
                    begin[last - first + 2 - placing] += 1
            for k in range(rules.call_first[s], rules.call_first[s + 1]):
                back = rules.call_back[k]
                if placing:
                    before[begin[back - first + 1]] = s - first
                begin[back - first + 2 - placing] += 1
        if not placing:
            begin = np.cumsum(begin).astype(np.int32)
            before = np.empty(begin[-1], np.int32)
    return begin, before


@jit
def _grouped(rules: NetworkArrays, costs: Ints, infinite: int, first: int, some: Ints, numbers: Ints) -> Ints:
    """Place of the first of `some` states that is like each of them, one byte on."""
    size = 1 << 4
    while size < 2 * len(some):
        size *= 2
    slots, group = np.full(size, -1, np.int32), np.empty(len(some), np.int32)
    for i in range(len(some)):
        s = first + some[i]
        slot = _code(rules, costs, infinite, first, s, numbers) & (size - 1)
        while slots[slot] >= 0 and not _same(rules, costs, infinite, first, s, first + some[slots[slot]], numbers):
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = i
        group[i] = slots[slot]
    return group


@jit
def _numbered(group: Ints, some: Ints, numbers: Ints, sizes: Ints, used: int) -> tuple[Ints, int]:
    """New numbers of `some` states, and how many are used; what keeps a number is unlike all that get a new one.

    A state whose successors kept their numbers keeps its own. Where all states of a number are looked at again, the
    largest group of them keeps it.
    """
    new, looked = np.empty(len(some), np.int32), np.zeros(used, np.int32)
    members, largest = np.zeros(len(some), np.int32), np.full(used, -1, np.int32)
    for i in range(len(some)):
        looked[numbers[some[i]]] += 1
        members[group[i]] += 1
    for i in range(len(some)):
        old = numbers[some[i]]
        if looked[old] == sizes[old] and (largest[old] < 0 or members[i] > members[largest[old]]):
            largest[old] = i
    for i in range(len(some)):
        if group[i] != i:
            new[i] = new[group[i]]
        elif largest[numbers[some[i]]] == i:
            new[i] = numbers[some[i]]
        else:
            new[i] = used
            used += 1
    for i in range(len(some)):
        sizes[numbers[some[i]]] -= 1
        sizes[new[i]] += 1
    return new, used


@jit
def _code(rules: NetworkArrays, costs: Ints, infinite: int, first: int, state: int, before: Ints) -> int:
    code = (1 if costs[state] >= infinite else 0) * 2 + (1 if rules.final[state] else 0)
    number, past = -1, np.int64(-1)  # of the states that the classes up to that one lead to
    for m in range(rules.move_first[state], rules.move_first[state + 1]):
        low, to = np.int64(rules.move_low[m]), before[rules.move_to[m] - first]
        if to != number or low != past:
            code = _mixed(code, int(low << 32 | to))
        number, past = to, np.int64(rules.move_high[m]) + 1
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
    apart = costs[t] - costs[s]
    m, n, of = rules.move_first[s], rules.move_first[t], np.int64(0)
    while m < rules.move_first[s + 1] and n < rules.move_first[t + 1]:
        to, other = rules.move_to[m], rules.move_to[n]
        if max(of, rules.move_low[m]) != max(of, rules.move_low[n]):
            return False
        if before[to - first] != before[other - first] or costs[other] - costs[to] != apart:
            return False
        last = min(rules.move_high[m], rules.move_high[n])
        m, n = m + (rules.move_high[m] == last), n + (rules.move_high[n] == last)
        of = np.int64(last) + 1
    k, j = rules.call_first[s], rules.call_first[t]
    calls = rules.call_first[s + 1] - k
    if m < rules.move_first[s + 1] or n < rules.move_first[t + 1] or rules.call_first[t + 1] - j != calls:
        return False
    for i in range(calls):
        to, other = rules.call_back[k + i], rules.call_back[j + i]
        if rules.call_rule[k + i] != rules.call_rule[j + i] or before[to - first] != before[other - first]:
            return False
        if costs[other] - costs[to] != apart:
            return False
    return True


@jit_no_arrays
def first_alike(kinds: IntRows, part_of: Ints) -> int:
    """The first state of the kind of the last one in `part_of`, if it is before that and in its part, so that both or
    none may be walked by class: at the highest level where that is so, else -1.
    """
    last = len(part_of) - 1
    for level in range(len(kinds) - 1, -1, -1):
        other = 0
        while kinds[level, other] != kinds[level, last]:
            other += 1
        if other < last and part_of[other] == part_of[last]:
            return other
    return -1
