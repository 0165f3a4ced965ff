"""The minimal automaton: what cycles lead to by the coarsest stable partition, all before from the ends on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.alike_labels import alike_labels
from grammar_cache.algorithms.counting_sort import by_key
from grammar_cache.automata.acyclic import NO_END, before_cycles, equal_futures
from grammar_cache.automata.partition import largest, stable_partition
from grammar_cache.loops.array_types import Flags, Ints
from grammar_cache.loops.jit import jit

_CLASSES = 256
"""Labels below are byte classes: see `subset_kernels`."""


@jit
def minimal(tails: Ints, labels: Ints, heads: Ints, final: Flags) -> tuple[Ints, Ints, Ints, Flags]:
    """The minimal automaton: where each state's transitions begin, their labels and heads, and which states are final.

    Transitions come and go by ascending tail, then label. State 0 is the start, and every state is reached from it.
    States that can't end are left out, the others are numbered by first visit. One state without transitions: nothing.
    """
    _, first, of_label, of_head, ends = minimal_unless(tails, labels, heads, final, np.zeros(1, np.uint8))
    return first, of_label, of_head, ends


@jit
def minimal_unless(
    tails: Ints, labels: Ints, heads: Ints, final: Flags, stop: NDArray[np.uint8]
) -> tuple[bool, Ints, Ints, Ints, Flags]:
    """Minimises as `minimal` does; the first item says whether `stop` was set meanwhile: then what follows means
    nothing.
    """
    starts = _begins(tails, len(final))
    before = before_cycles(starts, heads)
    block = np.full(len(final), NO_END, np.int32)
    if len(before) < len(final):
        behind = np.ones(len(final), np.bool_)
        behind[before] = False
        if not _partitioned(starts, labels, heads, final, behind, block, stop):
            return True, tails, labels, heads, final
    equal_futures(starts, labels, heads, final, before, block)
    first, of_label, of_head, ends = _numbered(starts, labels, heads, final, block)
    return False, first, of_label, of_head, ends


@jit
def _partitioned(
    starts: Ints, labels: Ints, heads: Ints, final: Flags, behind: Flags, block: Ints, stop: NDArray[np.uint8]
) -> bool:
    """Gives the states that cycles lead to, and that can end, their blocks; False where it was stopped."""
    tails, labels, heads, final = _without_others(starts, labels, heads, final, behind)
    alive = _able_to_end(tails, heads, final)
    own = np.flatnonzero(behind)[alive]
    if len(own) < len(final):
        tails, labels, heads, final = _without_others(_begins(tails, len(final)), labels, heads, final, alive)
    telling = _telling(tails, labels, heads)
    stopped, found = stable_partition(tails[telling], labels[telling], heads[telling], final, stop)
    block[own] = found
    return not stopped


@jit
def _begins(tails: Ints, states: int) -> Ints:
    """Begin of each state's transitions, and the end of the last ones."""
    first = np.zeros(states + 1, np.int32)
    for tail in tails:
        first[tail + 1] += 1
    for s in range(states):
        first[s + 1] += first[s]
    return first


@jit
def _numbered(starts: Ints, labels: Ints, heads: Ints, final: Flags, block: Ints) -> tuple[Ints, Ints, Ints, Flags]:
    """The automaton of the blocks, by first visit. A state without a block is left out."""
    place, order = np.full(len(final), -1, np.int32), np.zeros(len(final), np.int32)
    found, at, size = 1, 0, 0
    if block[0] != NO_END:
        place[block[0]] = 0
    while at < found:  # `order` holds one state of every block
        for t in range(starts[order[at]], starts[order[at] + 1]):
            target = block[heads[t]]
            if target != NO_END:
                size += 1
                if place[target] < 0:
                    place[target], order[found] = found, heads[t]
                    found += 1
        at += 1
    first, of_label, of_head = np.zeros(found + 1, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    size = 0
    for at in range(found):
        for t in range(starts[order[at]], starts[order[at] + 1]):
            if block[heads[t]] != NO_END:
                of_label[size], of_head[size] = labels[t], place[block[heads[t]]]
                size += 1
        first[at + 1] = size
    return first, of_label, of_head, final[order[:found]]


@jit
def _without_others(
    starts: Ints, labels: Ints, heads: Ints, final: Flags, kept: Flags
) -> tuple[Ints, Ints, Ints, Flags]:
    """The states that are kept, numbered without gaps, and the transitions between them: tails, labels, heads."""
    number, size = np.empty(len(final), np.int32), 0
    for s in range(len(final)):
        number[s] = size
        size += kept[s]
    size = 0
    for s in range(len(final)):
        if kept[s]:
            for t in range(starts[s], starts[s + 1]):
                size += kept[heads[t]]
    own, size = np.empty((3, size), np.int32), 0
    for s in range(len(final)):
        for t in range(starts[s], starts[s + 1] if kept[s] else starts[s]):
            if kept[heads[t]]:
                own[0, size], own[1, size], own[2, size] = number[s], labels[t], number[heads[t]]
                size += 1
    return own[0], own[1], own[2], final[kept]


@jit
def _able_to_end(tails: Ints, heads: Ints, final: NDArray[np.bool_]) -> NDArray[np.bool_]:
    starts, into = by_key(heads, len(final))
    alive = final.copy()
    todo = np.empty(len(final), np.int32)
    waiting = 0
    for s in range(len(final)):
        if final[s]:
            todo[waiting] = s
            waiting += 1
    while waiting:
        waiting -= 1
        s = todo[waiting]
        for i in range(starts[s], starts[s + 1]):
            source = tails[into[i]]
            if not alive[source]:
                alive[source] = True
                todo[waiting] = source
                waiting += 1
    return alive


@jit
def _telling(tails: Ints, labels: Ints, heads: Ints) -> Ints:
    """Transitions but those whose label, a byte class, leads everywhere where a lower one leads: they tell no states
    apart. Ascending.
    """
    least = alike_labels(tails, labels, heads, largest(labels) + 1, _CLASSES)
    kept, size = np.empty(len(labels), np.int32), 0
    for t in range(len(labels)):
        if least[labels[t]] == labels[t]:
            kept[size] = t
            size += 1
    return kept[:size]
