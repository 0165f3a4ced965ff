"""Configurations of one table made again in another table of the network, by their content: no text is followed.

What that takes grows with the stacks, and hardly with the text that led there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammar_cache.algorithms.sorting import many_distinct
from grammar_cache.configurations.arena import (
    BOTTOM,
    CRAMPED,
    GROUPED,
    Arena,
    NetworkArrays,
    configuration_of,
    node_of,
)
from grammar_cache.configurations.cyclic_nodes import COUNTS, OUTSIDE, SEEN, enter
from grammar_cache.configurations.interner import DEAD, UNLIMITED, Configurations
from grammar_cache.configurations.step_kernels import ENDING
from grammar_cache.loops.array_types import Ints, Longs
from grammar_cache.loops.jit import jit_inline, jit_no_arrays

_NOT_WANTED, _WANTED = -1, -2
"""Instead of the number of a node."""


def moved(configurations: Sequence[int], source: Configurations, table: Configurations) -> list[int]:
    """Numbers in a table of configurations of a source; DEAD stays what it is. Both are of one network and have the
    same limits. There is room for them beyond the limit. Raises Interrupted.
    """
    rules = table.rules._replace(limit=UNLIMITED, widest=UNLIMITED)
    lean = rules._replace(tail=np.zeros_like(rules.tail), lean=True)
    places, into = np.array(configurations, np.int32), np.empty(len(configurations), np.int32)
    numbers = np.full(source.node_count, _NOT_WANTED, np.int32)
    _want(source.arena, places, numbers)
    while (status := _moved(rules, lean, source.arena, table.arena, places, numbers, into)) < 0:
        table.outcome(status)
    found: list[int] = into.tolist()
    return found


@jit_no_arrays
def _want(source: Arena, configurations: Ints, numbers: Ints) -> None:
    """Marks all nodes that configurations stand on. Nodes lean on nodes before them, but for those of a group, which
    stand behind the node that names the group: what they lean on is before that, or among them.
    """
    for configuration in configurations:
        if configuration != DEAD:
            for k in range(source.item_first[configuration], source.item_first[configuration + 1]):
                numbers[source.items[k] & 0xFFFFFFFF] = _WANTED
    for node in range(len(numbers) - 1, -1, -1):
        if numbers[node] == _NOT_WANTED:
            continue
        if source.node_hashes[node] == GROUPED:
            numbers[node - 1] = _WANTED
            continue
        for k in range(source.edge_first[node], source.edge_first[node + 1]):
            if source.edges[k] > BOTTOM:
                numbers[source.edges[k] & 0xFFFFFFFF] = _WANTED


@jit_no_arrays
def _moved(
    rules: NetworkArrays,
    lean: NetworkArrays,
    source: Arena,
    arena: Arena,
    configurations: Ints,
    numbers: Ints,
    into: Ints,
) -> int:
    """Writes the numbers of the nodes that are wanted, and of each configuration: 0; or a status, and nothing is lost:
    called again it goes on.
    """
    for node in range(len(numbers)):
        if numbers[node] != _WANTED:
            continue
        if source.node_hashes[node] == GROUPED:
            numbers[node] = numbers[node - 1] + 1
            continue
        number = _node(rules, lean, source, arena, numbers, node)
        if number < 0:
            return int(number)
        numbers[node] = number
    row = arena.scratch[ENDING]
    for i in range(len(configurations)):
        into[i] = DEAD
        if configurations[i] == DEAD:
            continue
        first, past = source.item_first[configurations[i]], source.item_first[configurations[i] + 1]
        if past - first > len(row):
            return CRAMPED
        for k in range(first, past):
            row[k - first] = _renumbered(source.items[k], numbers)
        _sort(arena, row[: past - first])
        number = configuration_of(arena, row[: past - first], source.accepts[configurations[i]], rules.limit)
        if number < 0:
            return int(number)
        into[i] = number
    return 0


@jit_inline
def _node(rules: NetworkArrays, lean: NetworkArrays, source: Arena, arena: Arena, numbers: Ints, node: int) -> int:
    """The node of the same content, given those that it leans on; or a status. With one that names a group the group
    is made too.
    """
    edges = source.edges[source.edge_first[node] : source.edge_first[node + 1]]
    row, begin = arena.scratch[OUTSIDE], 0
    if len(edges) > len(row):
        return CRAMPED
    for k in range(len(edges)):
        row[k] = _renumbered(edges[k], numbers)
        if row[k] < BOTTOM:
            _sort(arena, row[begin:k])
            begin = k + 1
    _sort(arena, row[begin : len(edges)])
    if edges[0] >= BOTTOM:
        return int(node_of(arena, row[: len(edges)]))
    is_lean = edges[-1] == -2 - len(rules.entry)
    _, first = enter(lean if is_lean else rules, arena, len(edges) - 1 if is_lean else len(edges))
    return int(first if first < 0 else first - 1)


@jit_no_arrays
def _sort(arena: Arena, keys: Longs) -> None:
    many_distinct(keys, len(keys), arena.scratch[SEEN], arena.scratch[COUNTS])


@jit_inline
def _renumbered(key: int, numbers: Ints) -> int:
    """An item, or an edge, over the node of the same content."""
    return int(key if key < 0 else key >> 32 << 32 | np.int64(numbers[key & 0xFFFFFFFF]))
