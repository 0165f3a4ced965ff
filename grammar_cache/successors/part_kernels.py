"""Compiled loops of the parts of rules: states that are wide and lead to each other, and the bytes they tell apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.alike_labels import alike_labels
from grammar_cache.configurations.arena import NetworkArrays, NetworkBlock, rules_in
from grammar_cache.loops.array_types import Flags, Ints, Longs
from grammar_cache.loops.jit import jit, jit_inline

WIDE = 24
"""Bytes that a wide state reads at least: more than hexadecimal digits are."""


@jit
def parts(rules_block: NetworkBlock) -> Ints:
    """The part of each state, by its least state: states that moves, or calls and what is behind them, lead between are
    one part; -1 for states that read few bytes, and call no rule. Entries of rules that would be such are parts of
    their own, as who calls a rule reads what its entry reads.
    """
    rules = rules_in(rules_block)
    begins, part = _begins(rules), np.arange(len(rules.final)).astype(np.int32)
    for s in range(len(part)):
        width = 0
        for m in range(rules.move_first[s], rules.move_first[s + 1]):
            width += _bytes(rules, begins, m)
        if width < WIDE and rules.call_first[s] == rules.call_first[s + 1]:
            part[s] = -1
    for s in range(len(part)):
        if part[s] >= 0:
            last = -1
            for m in range(rules.move_first[s], rules.move_first[s + 1]):
                if rules.move_to[m] != last:
                    last = rules.move_to[m]
                    _join(part, s, last)
            for k in range(rules.call_first[s], rules.call_first[s + 1]):
                _join(part, s, rules.call_back[k])
    for s in range(len(part)):
        if part[s] >= 0:
            part[s] = _least(part, s)
    for entry in rules.entry:
        if part[entry] < 0:
            part[entry] = entry
    return part


@jit
def into_loops(rules_block: NetworkBlock, states: Ints) -> bool:
    """Whether from most of some states most bytes that are read lead to a state where most stay, as from those amid a
    key that may be a declared one or any other.
    """
    rules, into = rules_in(rules_block), 0
    begins = _begins(rules)
    for s in states:
        read = looping = 0
        last, stays = -1, False
        for m in range(rules.move_first[s], rules.move_first[s + 1]):
            to = rules.move_to[m]
            if to != last:
                last, stays = to, _stays(rules, begins, to)
            read += _bytes(rules, begins, m)
            looping += _bytes(rules, begins, m) * stays
        into += 2 * looping > read
    return bool(2 * into > len(states))


@jit_inline
def _stays(rules: NetworkArrays, begins: Longs, state: int) -> bool:
    """Whether most bytes that are read lead back to a state."""
    read = looping = 0
    for m in range(rules.move_first[state], rules.move_first[state + 1]):
        read += _bytes(rules, begins, m)
        looping += _bytes(rules, begins, m) * (rules.move_to[m] == state)
    return 2 * looping > read


@jit
def _begins(rules: NetworkArrays) -> Longs:
    """Counts of the bytes of lesser classes, by class, and last that of all bytes."""
    begins = np.zeros(int(rules.classes.max()) + 2, np.int64)
    begins[1:] = np.cumsum(np.bincount(rules.classes))
    return begins


@jit_inline
def _bytes(rules: NetworkArrays, begins: Longs, move: int) -> int:
    """Count of the bytes that a move is by."""
    return int(begins[np.int64(rules.move_high[move]) + 1] - begins[rules.move_low[move]])


@jit_inline
def _least(part: Ints, state: int) -> int:
    """The least state that is known to be in the part of a state; ways there are shortened."""
    while part[state] != state:
        part[state] = part[part[state]]
        state = part[state]
    return state


@jit_inline
def _join(part: Ints, state: int, other: int) -> None:
    if part[other] >= 0:
        one, two = _least(part, state), _least(part, other)
        part[max(one, two)] = min(one, two)


@jit
def bytes_alike(
    rules_block: NetworkBlock, part_of: Ints, states: Ints, most: int
) -> tuple[Flags, NDArray[np.uint8], int]:
    """Flags of the rules that some states call, and they call; classes by byte, those of one lead to the same
    everywhere; and how many these are: 0 where rules of more than `most` states are called.
    """
    rules = rules_in(rules_block)
    called, among = np.zeros(len(rules.entry), np.bool_), np.zeros(len(part_of), np.bool_)
    todo, size = np.empty(len(states) + most, np.int32), len(states)
    todo[:size] = states
    among[states] = True
    done, moves = 0, 0
    while done < size:
        s = todo[done]
        done += 1
        for m in range(rules.move_first[s], rules.move_first[s + 1]):
            moves += np.int64(rules.move_high[m]) + 1 - rules.move_low[m]
        for k in range(rules.call_first[s], rules.call_first[s + 1]):
            rule = rules.call_rule[k]
            if called[rule]:
                continue
            called[rule] = True
            past = rules.entry[rule + 1] if rule + 1 < len(rules.entry) else len(part_of)
            most -= past - rules.entry[rule]
            if most < 0:
                return called, np.empty(0, np.uint8), 0
            for other in range(rules.entry[rule], past):
                if part_of[other] >= 0 and not among[other]:
                    todo[size], among[other] = other, True
                    size += 1
    label, tail, head = np.empty(moves, np.int32), np.empty(moves, np.int32), np.empty(moves, np.int32)
    moves = 0
    for s in np.sort(todo[:size]):
        for m in range(rules.move_first[s], rules.move_first[s + 1]):
            for of in range(rules.move_low[m], np.int64(rules.move_high[m]) + 1):
                label[moves], tail[moves], head[moves] = of, s, rules.move_to[m]
                moves += 1
    count = int(rules.classes.max()) + 1
    return called, *_by_least_byte(rules, alike_labels(tail, label, head, count, count))


@jit
def _by_least_byte(rules: NetworkArrays, of_class: Ints) -> tuple[NDArray[np.uint8], int]:
    """Numbers of some classes of the network's, by byte, in the order of their least bytes, and how many there are."""
    number, classes, count = np.full(len(of_class), -1, np.int32), np.empty(256, np.uint8), 0
    for byte in range(256):
        of = of_class[rules.classes[byte]]
        if number[of] < 0:
            number[of] = count
            count += 1
        classes[byte] = number[of]
    return classes, count
