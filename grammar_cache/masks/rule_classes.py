"""Classes of bytes that the wide states of a rule, and of all that it calls, don't tell apart.

Behind a byte that only few may follow, such as the backslash of a JSON string, many bytes differ, but few tokens have
one. So states that read few bytes are *narrow*, and left out: who walks classes of bytes walks bytes behind them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.alike_labels import alike_labels
from grammar_cache.array_types import Flags, Ints
from grammar_cache.configurations.arena import NetworkArrays
from grammar_cache.jit import jit

_WIDE = 24
"""Bytes that a wide state reads at least: more than hexadecimal digits are."""


@jit
def narrow_states(rules: NetworkArrays) -> Flags:
    """Flags of the states that read few bytes, and call no rule; entries of rules aren't, as others read what those
    read.
    """
    sizes, narrow = np.bincount(rules.classes), np.zeros(len(rules.final), np.bool_)
    for s in range(len(narrow)):
        width = 0
        for m in range(rules.move_first[s], rules.move_first[s + 1]):
            width += sizes[rules.move_class[m]]
        narrow[s] = width < _WIDE and rules.call_first[s] == rules.call_first[s + 1]
    narrow[rules.entry] = False
    return narrow


def rule_classes(rules: NetworkArrays, narrow: Flags, rule: int) -> NDArray[np.uint8]:
    """Class of each byte, numbered by the least bytes of the classes: from no state that isn't narrow, of the rule or
    of those that it calls, two bytes of a class lead to different states.
    """
    of_class = _alike(rules, narrow, rule, int(rules.classes.max()) + 1)
    _, least, inverse = np.unique(of_class[rules.classes], return_index=True, return_inverse=True)
    rank = np.empty(len(least), np.uint8)
    rank[np.argsort(least)] = np.arange(len(least))
    return rank[inverse]


@jit
def _alike(rules: NetworkArrays, narrow: Flags, rule: int, count: int) -> Ints:
    """The first class that leads everywhere where each of the network's classes leads, by class."""
    states = _reached(rules, rule)
    size = 0
    for s in states:
        size += rules.move_first[s + 1] - rules.move_first[s]
    label, tail, head = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    size = 0
    for s in states:
        for m in range(rules.move_first[s], rules.move_first[s] if narrow[s] else rules.move_first[s + 1]):
            label[size], tail[size], head[size] = rules.move_class[m], s, rules.move_to[m]
            size += 1
    return alike_labels(tail[:size], label[:size], head[:size], count, count)


@jit
def _reached(rules: NetworkArrays, rule: int) -> Ints:
    """The states of a rule and of all that it calls, and they call."""
    met, todo = np.zeros(len(rules.entry), np.bool_), np.empty(len(rules.entry), np.int32)
    states, size = np.empty(len(rules.final), np.int32), 0
    met[rule], todo[0], waiting = True, rule, 1
    while waiting > 0:
        waiting -= 1
        own = todo[waiting]
        past = rules.entry[own + 1] if own + 1 < len(rules.entry) else len(rules.final)
        for s in range(rules.entry[own], past):
            states[size] = s
            size += 1
            for k in range(rules.call_first[s], rules.call_first[s + 1]):
                called = rules.call_rule[k]
                if not met[called]:
                    met[called], todo[waiting] = True, called
                    waiting += 1
    return states[:size]
