"""Thompson's construction over a program, compiled: from the end to the start.

A node and the state behind it give the state before. What expressions share, and sequences that end alike, is built
once for each state that it leads to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_types import Ints, Longs
from grammar_cache.automata.flat_expression import ALT, BYTES, CALL_OF, CLASS, INLINED, REPEAT, SEQ
from grammar_cache.automata.subset_kernels import DONE, STOPPED, TOO_LARGE
from grammar_cache.jit import jit

CHECKED = 1024
"""Steps between two looks at whether to stop."""


@jit
def construct(
    ops: Ints,
    root: int,
    limit: int,
    stop: NDArray[np.uint8],
    made_at: Ints,
    made_states: Ints,
    made_first: Ints,
    made_edges: Ints,
    ends_first: Ints,
    made_ends: Ints,
) -> tuple[int, int, Ints, Ints, Ints]:
    """Outcome, how many states, edges (source, low byte, high byte, target), skips, calls: see `Nfa`.

    Automata stand in for And and Not: that of the node at `made_at[k]`, ascending, has `made_states[k]` states of
    which the first is the start, edges from `made_first[k]` on and final states from `ends_first[k]` on.
    `limit` bounds the states, and the steps.
    """
    edges, skips, calls = np.empty((256, 4), np.int32), np.empty((64, 2), np.int32), np.empty((16, 3), np.int32)
    edge_count = skip_count = call_count = 0
    keys, values, known = np.full(512, -1, np.int64), np.empty(512, np.int32), 0
    stack = np.empty((64, 4), np.int32)  # node, state behind it, state reached so far (-1), what is still to come
    stack[0] = root, 1, -1, 0
    waiting, size, steps = 1, 2, 0
    while waiting:
        node, target, at, left = stack[waiting - 1]
        steps += 1
        if max(steps, size) > limit:
            return TOO_LARGE, size, edges, skips, calls
        if steps % CHECKED == 0 and stop[0]:
            return STOPPED, size, edges, skips, calls
        if at < 0 and _before(keys, values, node, target) >= 0:
            waiting -= 1
            continue
        op, want, behind = ops[node], -1, -1
        if op == BYTES:
            at = target
            for i in range(ops[node + 1] - 1, -1, -1):
                if edge_count == len(edges):
                    edges = _longer(edges)
                byte = ops[node + 2 + i]
                edges[edge_count, 0], edges[edge_count, 1] = size, byte
                edges[edge_count, 2], edges[edge_count, 3] = byte, at
                at = size
                edge_count += 1
                size += 1
        elif op == CLASS:
            at = size
            size += 1
            place = node + 2
            for _ in range(ops[node + 1]):
                length, source = ops[place], at
                for i in range(length):
                    if edge_count == len(edges):
                        edges = _longer(edges)
                    head = target
                    if i < length - 1:
                        head = size
                        size += 1
                    edges[edge_count, 0], edges[edge_count, 3] = source, head
                    edges[edge_count, 1], edges[edge_count, 2] = ops[place + 1 + 2 * i], ops[place + 2 + 2 * i]
                    source = head
                    edge_count += 1
                place += 1 + 2 * length
        elif op == SEQ:
            if at < 0:
                at, left = target, ops[node + 1]
            while left:
                part = node - ops[node + 1 + left]
                found = _before(keys, values, part, at)
                if found < 0:
                    want, behind = part, at
                    break
                at = found
                left -= 1
        elif op == ALT:
            if at < 0:
                at, left = size, ops[node + 1]
                size += 1
            while left:
                part = node - ops[node + 1 + left]
                found = _before(keys, values, part, target)
                if found < 0:
                    want, behind = part, target
                    break
                if skip_count == len(skips):
                    skips = _longer(skips)
                skips[skip_count, 0], skips[skip_count, 1] = at, found
                skip_count += 1
                left -= 1
        elif op == REPEAT:
            part, least, most = node - ops[node + 1], ops[node + 2], ops[node + 3]
            if 0 <= most < least:
                at, left = size, 0  # and nothing leads on from there
                size += 1
            elif at < 0 and most < 0:  # a hub to go round, and `least` times before it
                at, left = size, least + 1
                size += 1
                if skip_count == len(skips):
                    skips = _longer(skips)
                skips[skip_count, 0], skips[skip_count, 1] = at, target
                skip_count += 1
            elif at < 0:
                at, left = target, most
            while left:
                found = _before(keys, values, part, at)
                if found < 0:
                    want, behind = part, at
                    break
                if size > limit:
                    return TOO_LARGE, size, edges, skips, calls
                if skip_count + 2 > len(skips):
                    skips = _longer(skips)
                if most < 0 and left == least + 1:
                    skips[skip_count, 0], skips[skip_count, 1] = at, found
                    skip_count += 1
                elif most >= 0 and left > least:  # whoever leaves this one out leaves out all behind it
                    skips[skip_count, 0], skips[skip_count, 1] = size, found
                    skips[skip_count + 1, 0], skips[skip_count + 1, 1] = size, target
                    skip_count += 2
                    at = size
                    size += 1
                elif found == at:
                    left = 0
                    break  # the item reads nothing, however often
                else:
                    at = found
                left -= 1
        elif op == CALL_OF:
            at = size
            size += 1
            if call_count == len(calls):
                calls = _longer(calls)
            calls[call_count, 0], calls[call_count, 1], calls[call_count, 2] = at, ops[node + 1], target
            call_count += 1
        elif op == INLINED:
            body = node - ops[node + 1]
            at = _before(keys, values, body, target)
            if at < 0:
                want, behind = body, target
        else:
            k = np.searchsorted(made_at, node)
            at = size
            size += made_states[k]
            for e in range(made_first[k], made_first[k + 1]):
                if edge_count == len(edges):
                    edges = _longer(edges)
                edges[edge_count, 0], edges[edge_count, 1] = at + made_edges[e, 0], made_edges[e, 1]
                edges[edge_count, 2], edges[edge_count, 3] = made_edges[e, 2], at + made_edges[e, 3]
                edge_count += 1
            for e in range(ends_first[k], ends_first[k + 1]):
                if skip_count == len(skips):
                    skips = _longer(skips)
                skips[skip_count, 0], skips[skip_count, 1] = at + made_ends[e], target
                skip_count += 1
        if want >= 0:
            stack[waiting - 1, 2], stack[waiting - 1, 3] = at, left
            if waiting == len(stack):
                stack = _longer(stack)
            stack[waiting] = want, behind, -1, 0
            waiting += 1
            continue
        waiting -= 1
        known += 1
        if 2 * known > len(keys):
            keys, values = _rehashed(keys, values)
        _note(keys, values, (np.int64(node) << 32) | target, at)
    if skip_count == len(skips):
        skips = _longer(skips)
    skips[skip_count, 0], skips[skip_count, 1] = 0, _before(keys, values, root, 1)
    return DONE, size, edges[:edge_count], skips[: skip_count + 1], calls[:call_count]


@jit
def _longer(table: Ints) -> Ints:
    grown = np.empty((2 * len(table), table.shape[1]), np.int32)
    grown[: len(table)] = table
    return grown


@jit
def _slot(key: int, size: int) -> int:
    code = key * -7046029254386353131  # 2^64 / the golden ratio, as a signed number
    return (code >> 32) & (size - 1)


@jit
def _before(keys: Longs, values: Ints, node: int, target: int) -> int:
    """The state before a node and the state behind it, -1 if it isn't built."""
    key = (np.int64(node) << 32) | target
    slot = _slot(int(key), len(keys))
    while keys[slot] >= 0:
        if keys[slot] == key:
            return int(values[slot])
        slot = (slot + 1) & (len(keys) - 1)
    return -1


@jit
def _note(keys: Longs, values: Ints, key: int, value: int) -> None:
    slot = _slot(key, len(keys))
    while keys[slot] >= 0:
        slot = (slot + 1) & (len(keys) - 1)
    keys[slot], values[slot] = key, value


@jit
def _rehashed(keys: Longs, values: Ints) -> tuple[Longs, Ints]:
    larger, kept = np.full(4 * len(keys), -1, np.int64), np.empty(4 * len(keys), np.int32)
    for i in range(len(keys)):
        if keys[i] >= 0:
            _note(larger, kept, keys[i], values[i])
    return larger, kept
