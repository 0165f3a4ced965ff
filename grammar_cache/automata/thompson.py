"""Thompson's construction over a program, compiled: from the end to the start.

A node and the state behind it give the state before. What expressions share, and sequences that end alike, is built
once for each state that it leads to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.automata.flat_expression import (
    ALT,
    AUTOMATON,
    AUTOMATON_HEAD,
    BYTES,
    CALL_OF,
    CLASS,
    INLINED,
    REPEAT,
    SEQ,
)
from grammar_cache.automata.growing_tables import (
    CALLS,
    EDGES,
    SKIPS,
    STACK,
    STATES,
    Built,
    add_call,
    add_edge,
    add_skip,
    before,
    empty,
    grown,
    new_state,
    note,
    push,
    short,
)
from grammar_cache.automata.subset_kernels import DONE, FULL, STOPPED, TOO_LARGE
from grammar_cache.loops.array_types import IntRows, Ints, Longs
from grammar_cache.loops.jit import jit, jit_no_arrays

_TOO_MUCH = -2
"""Status in place of a wanted part: the states are too many already."""

CHECKED = 1024
"""Steps between two looks at whether to stop."""


class Embedded(NamedTuple):
    """Automata that stand in for And and Not: that of the node at `at[k]`, ascending, has `states[k]` states.

    The first is the start. Its edges go from `first[k]` on, its final states from `ends_first[k]` on.
    """

    at: Ints
    states: Ints
    first: Ints
    edges: IntRows
    ends_first: Ints
    ends: Ints


class Way(NamedTuple):
    """Progress of a node: the state reached (-1: not begun), and what is `left` of it.

    Where a part of it has to be there first, `want` is that part (else -1) and `behind` the state behind the part.
    """

    at: int
    left: int
    want: int
    behind: int


@jit
def construct(
    ops: Ints, root: int, limit: int, stop: NDArray[np.uint8], embedded: Embedded
) -> tuple[int, int, Ints, Ints, Ints]:
    """Outcome, how many states, edges (source, low byte, high byte, target), skips, calls: see `Nfa`.

    `limit` bounds the states, and the steps.
    """
    code = ops.astype(np.int64)  # tuples of numbers want them all of one size
    built = empty(256, 64, 16, 256, 64)
    status = _construct(built, code, root, limit, stop, embedded)
    while status == FULL:
        built = grown(built)
        status = _construct(built, code, root, limit, stop, embedded)
    edges, skips, calls = built.counts[EDGES], built.counts[SKIPS], built.counts[CALLS]
    return status, built.counts[STATES], built.edges[:edges], built.skips[:skips], built.calls[:calls]


@jit_no_arrays
def _construct(built: Built, code: Longs, root: int, limit: int, stop: NDArray[np.uint8], embedded: Embedded) -> int:
    """Builds all in empty tables: DONE, TOO_LARGE or STOPPED; FULL where room is short."""
    counts, stack, steps = built.counts, built.stack, 0
    push(built, root, 1)
    while counts[STACK]:
        top = counts[STACK] - 1
        node, target, at, left = stack[top]
        steps += 1
        if max(steps, counts[STATES]) > limit:
            return TOO_LARGE
        if steps % CHECKED == 0 and stop[0]:
            return STOPPED
        if at < 0 and before(built, node, target) >= 0:
            counts[STACK] = top
            continue
        way = _continued(built, code, node, target, Way(at, left, -1, -1), limit, embedded)
        if way.want == _TOO_MUCH:
            return TOO_LARGE
        if way.want < 0:
            counts[STACK] = top
            note(built, node, target, way.at)
        else:
            stack[top, 2], stack[top, 3] = way.at, way.left
            push(built, way.want, way.behind)
        if short(built):
            return FULL
    add_skip(built, 0, before(built, root, 1))
    return FULL if short(built) else DONE


@jit_no_arrays
def _continued(built: Built, code: Longs, node: int, target: int, way: Way, limit: int, embedded: Embedded) -> Way:
    """A node built as far as it can be, towards the state behind it."""
    op = code[node]
    if op == BYTES:
        return _bytes(built, code, node, target)
    if op == CLASS:
        return _class(built, code, node, target)
    if op == SEQ:
        return _sequence(built, code, node, target, way)
    if op == ALT:
        return _alternatives(built, code, node, target, way)
    if op == REPEAT:
        return _repetition(built, code, node, target, way, limit)
    if op == CALL_OF:
        return _call(built, code[node + 1], target)
    if op == AUTOMATON:
        return _automaton(built, code, node, target, way)
    if op == INLINED:
        body = node - code[node + 1]
        found = before(built, body, target)
        return Way(found, 0, -1, -1) if found >= 0 else Way(-1, 0, body, target)
    return _embedded(built, embedded, node, target)


@jit_no_arrays
def _bytes(built: Built, code: Longs, node: int, target: int) -> Way:
    at = target
    for i in range(code[node + 1] - 1, -1, -1):
        byte, source = code[node + 2 + i], new_state(built)
        add_edge(built, source, byte, byte, at)
        at = source
    return Way(at, 0, -1, -1)


@jit_no_arrays
def _class(built: Built, code: Longs, node: int, target: int) -> Way:
    """Alternatives of byte ranges in a row, which encode characters, from one state on."""
    at, place = new_state(built), node + 2
    for _ in range(code[node + 1]):
        length, source = code[place], at
        for i in range(length):
            head = new_state(built) if i < length - 1 else target
            add_edge(built, source, code[place + 1 + 2 * i], code[place + 2 + 2 * i], head)
            source = head
        place += 1 + 2 * length
    return Way(at, 0, -1, -1)


@jit_no_arrays
def _sequence(built: Built, code: Longs, node: int, target: int, way: Way) -> Way:
    at, left = (target, code[node + 1]) if way.at < 0 else (way.at, way.left)
    while left:
        part = node - code[node + 1 + left]
        found = before(built, part, at)
        if found < 0:
            return Way(at, left, part, at)
        at = found
        left -= 1
    return Way(at, 0, -1, -1)


@jit_no_arrays
def _alternatives(built: Built, code: Longs, node: int, target: int, way: Way) -> Way:
    at, left = (new_state(built), code[node + 1]) if way.at < 0 else (way.at, way.left)
    while left:
        part = node - code[node + 1 + left]
        found = before(built, part, target)
        if found < 0:
            return Way(at, left, part, target)
        add_skip(built, at, found)
        left -= 1
    return Way(at, 0, -1, -1)


@jit_no_arrays
def _repetition(built: Built, code: Longs, node: int, target: int, way: Way, limit: int) -> Way:
    part, least, most = node - code[node + 1], code[node + 2], code[node + 3]
    at, left = way.at, way.left
    if 0 <= most < least:
        return Way(new_state(built), 0, -1, -1)  # and nothing leads on from there
    if at < 0 and most < 0:  # a hub to go round, and `least` times before it
        at, left = new_state(built), least + 1
        add_skip(built, at, target)
    elif at < 0:
        at, left = target, most
    while left:
        found = before(built, part, at)
        if found < 0:
            return Way(at, left, part, at)
        if built.counts[STATES] > limit:
            return Way(at, left, _TOO_MUCH, -1)
        if most < 0 and left == least + 1:
            add_skip(built, at, found)
        elif most >= 0 and left > least:  # whoever leaves this one out leaves out all behind it
            at = new_state(built)
            add_skip(built, at, found)
            add_skip(built, at, target)
        elif found == at:
            break  # the item reads nothing, however often
        else:
            at = found
        left -= 1
    return Way(at, 0, -1, -1)


@jit_no_arrays
def _call(built: Built, rule: int, target: int) -> Way:
    at = new_state(built)
    add_call(built, at, rule, target)
    return Way(at, 0, -1, -1)


@jit_no_arrays
def _automaton(built: Built, code: Longs, node: int, target: int, way: Way) -> Way:
    edges = node + AUTOMATON_HEAD + code[node + 2]
    ends = edges + 4 * code[node + 3]
    steps = ends + code[node + 4]
    at, left = way.at, way.left
    if at < 0:
        at, left = int(built.counts[STATES]), code[node + 5]
        built.counts[STATES] += code[node + 1]
        for e in range(edges, ends, 4):
            add_edge(built, at + code[e], code[e + 1], code[e + 2], at + code[e + 3])
        for e in range(ends, steps):
            add_skip(built, at + code[e], target)
    while left:
        step = steps + 3 * (left - 1)
        part, after = node - code[node + AUTOMATON_HEAD + code[step + 1]], at + code[step + 2]
        if code[part] == CALL_OF:
            add_call(built, at + code[step], code[part + 1], after)
        else:
            found = before(built, part, after)
            if found < 0:
                return Way(at, left, part, after)
            add_skip(built, at + code[step], found)
        left -= 1
    return Way(at, 0, -1, -1)


@jit_no_arrays
def _embedded(built: Built, embedded: Embedded, node: int, target: int) -> Way:
    k = np.searchsorted(embedded.at, node)
    at, edges = int(built.counts[STATES]), embedded.edges
    built.counts[STATES] += embedded.states[k]
    for e in range(embedded.first[k], embedded.first[k + 1]):
        add_edge(built, at + edges[e, 0], edges[e, 1], edges[e, 2], at + edges[e, 3])
    for e in range(embedded.ends_first[k], embedded.ends_first[k + 1]):
        add_skip(built, at + embedded.ends[e], target)
    return Way(at, 0, -1, -1)
