"""Dependencies of a node of a program: its intersections and complements, and all of it as a program of its own."""

from __future__ import annotations

import numpy as np

from grammar_cache.automata.flat_expression import (
    ALT,
    AND,
    AUTOMATON,
    AUTOMATON_HEAD,
    BYTES,
    CLASS,
    INLINED,
    NOT,
    REPEAT,
    SEQ,
)
from grammar_cache.loops.array_types import Ints
from grammar_cache.loops.jit import jit, jit_inline


@jit_inline
def _operands(ops: Ints, node: int) -> tuple[int, int]:
    """Bounds of the distances to a node's operands."""
    op = ops[node]
    if op in (SEQ, ALT, AND):
        return node + 2, node + 2 + ops[node + 1]
    if op in (REPEAT, INLINED, NOT):
        return node + 1, node + 2
    if op == AUTOMATON:
        return node + AUTOMATON_HEAD, node + AUTOMATON_HEAD + ops[node + 2]
    return node, node


@jit_inline
def _length(ops: Ints, node: int) -> int:
    """Numbers that a node takes."""
    op = ops[node]
    if op in (SEQ, ALT, AND, BYTES):
        return 2 + int(ops[node + 1])
    if op == REPEAT:
        return 4
    if op == AUTOMATON:
        return int(AUTOMATON_HEAD + ops[node + 2] + 4 * ops[node + 3] + ops[node + 4] + 3 * ops[node + 5])
    length = 2
    if op == CLASS:
        for _ in range(ops[node + 1]):
            length += 1 + 2 * ops[node + length]
    return length


@jit
def booleans(ops: Ints, root: int) -> Ints:
    """The And and Not nodes that a node needs, ascending, none that stands inside another."""
    seen = np.zeros(len(ops), np.bool_)
    todo, waiting = np.empty(len(ops) + 1, np.int32), 1
    todo[0] = root
    seen[root] = True
    found = np.zeros(len(ops), np.bool_)
    while waiting:
        waiting -= 1
        node = todo[waiting]
        if ops[node] in (AND, NOT):
            found[node] = True
            continue
        begin, end = _operands(ops, node)
        for i in range(begin, end):
            part = node - ops[i]
            if not seen[part]:
                seen[part] = True
                todo[waiting] = part
                waiting += 1
    return np.flatnonzero(found).astype(np.int32)


@jit
def excerpt(ops: Ints, root: int) -> Ints:
    """All that a node needs, as a program of its own that ends with it: equal excerpts mean equal languages.

    Raises ValueError where a rule leads back to itself, which whoever made the program has refused.
    """
    place = np.full(len(ops), -1, np.int32)
    out, size = np.empty(len(ops) + 1, np.int32), 0
    todo, left, waiting = np.empty(len(ops) + 1, np.int32), np.zeros(len(ops) + 1, np.int32), 1
    todo[0] = root
    while waiting:
        node, k = todo[waiting - 1], left[waiting - 1]
        begin, end = _operands(ops, node)
        if begin + k < end:
            left[waiting - 1] += 1
            part = node - ops[begin + k]
            if place[part] < 0:
                if waiting == len(todo):
                    raise ValueError("a rule that leads back to itself stands in an intersection or a complement")
                todo[waiting], left[waiting] = part, 0
                waiting += 1
            continue
        waiting -= 1
        length = _length(ops, node)
        place[node] = size
        for i in range(length):
            out[size + i] = ops[node + i]
        for i in range(begin, end):
            out[size + i - node] = size - place[node - ops[i]]
        size += length
    return out[:size]
