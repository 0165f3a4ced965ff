"""The compiled loops: tokens through the table `next` of the configurations.

Those that walk skip what they meet unexpanded and report it, so that the caller expands in bulk and calls again:
the interpreter is entered once per new configuration, never once per token. Configurations are int32; UNKNOWN and
DEAD as in `configuration`.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]

_UNKNOWN = -2
_DEAD = -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def whole_vocabulary(
    byte: NDArray[np.uint8],
    depth: Ints,
    skip: Ints,
    string: Ints,
    classes: NDArray[np.uint8],
    table: NDArray[np.int32],
    seed_nodes: Ints,
    seed_configurations: Ints,
    longest: int,
    reached: Ints,
    missed_nodes: Ints,
    missed_configurations: Ints,
) -> int:
    """Writes `reached[string]`, the configuration after each string below the seeds that is alive.

    A seed is a trie node and the configuration before its byte (the root: the configuration itself). Returns how
    many subtrees were left out for an unexpanded configuration, themselves seeds for the next call.
    """
    path = np.empty(longest + 1, np.int32)
    missed = 0
    for k in range(len(seed_nodes)):
        i = seed_nodes[k]
        end = skip[i]
        if i == 0:
            path[0] = seed_configurations[k]
            i = 1
        else:
            path[depth[i] - 1] = seed_configurations[k]
        while i < end:
            before = path[depth[i] - 1]
            after = table[before, classes[byte[i]]]
            if after < 0:
                if after == _UNKNOWN:
                    missed_nodes[missed] = i
                    missed_configurations[missed] = before
                    missed += 1
                i = skip[i]
                continue
            path[depth[i]] = after
            if string[i] >= 0:
                reached[string[i]] = after
            i += 1
    return missed


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def distinct_successors(
    byte: NDArray[np.uint8],
    depth: Ints,
    skip: Ints,
    string: Ints,
    classes: NDArray[np.uint8],
    table: NDArray[np.int32],
    seed_nodes: Ints,
    seed_configurations: Ints,
    longest: int,
    lengths: Ints,
    shortest: Ints,
    found: Ints,
    missed_nodes: Ints,
    missed_configurations: Ints,
) -> tuple[int, int, int]:
    """As `whole_vocabulary`, but only the distinct configurations, `found`, and the shortest string that leads to each.

    Of equally short ones it is the least. `shortest[configuration]` is -1 where no earlier call has found one.
    Returns how many are new, how many subtrees were left out, and how many nodes were visited.
    """
    path = np.empty(longest + 1, np.int32)
    distinct = 0
    missed = 0
    visited = 0
    for k in range(len(seed_nodes)):
        i = seed_nodes[k]
        end = skip[i]
        if i == 0:
            path[0] = seed_configurations[k]
            i = 1
        else:
            path[depth[i] - 1] = seed_configurations[k]
        while i < end:
            visited += 1
            before = path[depth[i] - 1]
            after = table[before, classes[byte[i]]]
            if after < 0:
                if after == _UNKNOWN:
                    missed_nodes[missed] = i
                    missed_configurations[missed] = before
                    missed += 1
                i = skip[i]
                continue
            path[depth[i]] = after
            if string[i] >= 0:
                known = shortest[after]
                if known < 0:
                    found[distinct] = after
                    distinct += 1
                    shortest[after] = string[i]
                elif (lengths[string[i]], string[i]) < (lengths[known], known):
                    shortest[after] = string[i]
            i += 1
    return distinct, missed, visited


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def distinct_reach(
    byte: NDArray[np.uint8],
    depth: Ints,
    skip: Ints,
    string: Ints,
    classes: NDArray[np.uint8],
    table: NDArray[np.int32],
    origin: Ints,
    seed_sources: Ints,
    seed_nodes: Ints,
    seed_configurations: Ints,
    longest: int,
    found: NDArray[np.int32],
    missed: NDArray[np.int32],
) -> tuple[int, int]:
    """The distinct configurations that one token reaches from each source: rows (source, configuration, string).

    Nothing is looked at below a string that leads where a string no longer than it led before, or back to its
    source's own configuration `origin[source]`: what follows it is found from there. That may leave out a cheaper
    token, never one that costs rely on. Seeds of one source are adjacent. Returns how many rows of `found` and of
    `missed` (source, node, configuration) are needed; more than there is room for means: call again with more.
    """
    path = np.empty(longest + 1, np.int32)
    stamp = np.full(len(table), -1, np.int32)
    shortest = np.empty(len(table), np.int32)
    row_of = np.empty(len(table), np.int32)
    rows = 0
    misses = 0
    for k in range(len(seed_nodes)):
        source = seed_sources[k]
        i = seed_nodes[k]
        end = skip[i]
        if i == 0:
            path[0] = seed_configurations[k]
            i = 1
        else:
            path[depth[i] - 1] = seed_configurations[k]
        while i < end:
            before = path[depth[i] - 1]
            after = table[before, classes[byte[i]]]
            if after < 0:
                if after == _UNKNOWN:
                    if misses < len(missed):
                        missed[misses, 0] = source
                        missed[misses, 1] = i
                        missed[misses, 2] = before
                    misses += 1
                i = skip[i]
                continue
            path[depth[i]] = after
            if string[i] >= 0:
                if after == origin[source] or (stamp[after] == source and shortest[after] <= depth[i]):
                    i = skip[i]
                    continue
                shortest[after] = depth[i]
                if stamp[after] == source:
                    if row_of[after] < len(found):
                        found[row_of[after], 2] = string[i]
                else:
                    stamp[after] = source
                    row_of[after] = rows
                    if rows < len(found):
                        found[rows, 0] = source
                        found[rows, 1] = after
                        found[rows, 2] = string[i]
                    rows += 1
            i += 1
    return rows, misses


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def consume(
    table: NDArray[np.int32],
    classes: NDArray[np.uint8],
    data: NDArray[np.uint8],
    offsets: Ints,
    configurations: Ints,
    tokens: NDArray[np.int32],
    after: NDArray[np.int32],
    missed: Ints,
) -> int:
    """Fills the entries of `after` [rows, tokens a row] that are UNKNOWN; returns how many wait for `missed`.

    Ids outside the vocabulary and ids without bytes lead nowhere.
    """
    misses = 0
    for i in range(tokens.shape[0]):
        for j in range(tokens.shape[1]):
            if after[i, j] != _UNKNOWN:
                continue
            at = configurations[i]
            token = tokens[i, j]
            if token < 0 or token >= len(offsets) - 1 or offsets[token] == offsets[token + 1]:
                at = _DEAD
            if at >= 0:
                for k in range(offsets[token], offsets[token + 1]):
                    before = at
                    at = table[before, classes[data[k]]]
                    if at < 0:
                        if at == _UNKNOWN:
                            missed[misses] = before
                            misses += 1
                        break
            after[i, j] = at
    return misses


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def least_costs(
    states: Ints,
    reach_offsets: Ints,
    reach: Ints,
    item_offsets: Ints,
    items: NDArray[np.int32],
    edge_offsets: Ints,
    edges: NDArray[np.int32],
    accepts: NDArray[np.bool_],
    infinite: int,
) -> Ints:
    """Knuth's least fixpoint: lowers `states`, the cost of every state in tokens; returns that of every configuration.

    cost(state) = 0 at the end of its rule, else 1 + least cost of a configuration one token away;
    cost(node) = least cost(return state) + cost(parent); cost(configuration) = least cost(state) + cost(node).
    Costs only fall from infinity, so sweeping until nothing changes ends in the least solution. States that are
    solved already have their costs and reach nothing.
    """
    nodes = np.full(len(edge_offsets) - 1, infinite, np.int32)
    configurations = np.where(accepts, 0, infinite).astype(np.int32)
    changed = True
    while changed:
        changed = False
        for n in range(len(nodes)):
            for k in range(edge_offsets[n], edge_offsets[n + 1]):
                value = 0 if edges[k, 0] < 0 else states[edges[k, 0]] + nodes[edges[k, 1]]
                if value < nodes[n]:
                    nodes[n] = value
                    changed = True
        for x in range(len(configurations)):
            for k in range(item_offsets[x], item_offsets[x + 1]):
                value = states[items[k, 0]] + nodes[items[k, 1]]
                if value < configurations[x]:
                    configurations[x] = value
                    changed = True
        for s in range(len(states) - 1, -1, -1):
            for k in range(reach_offsets[s], reach_offsets[s + 1]):
                value = 1 + configurations[reach[k]]
                if value < states[s]:
                    states[s] = value
                    changed = True
    return configurations


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def least_lexed_costs(
    ending: Ints,
    behind: NDArray[np.int32],
    reach_offsets: Ints,
    reach: Ints,
    item_offsets: Ints,
    items: NDArray[np.int32],
    edge_offsets: Ints,
    edges: NDArray[np.int32],
    root: int,
    width: int,
    infinite: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """As `least_costs`, for each of `width` contexts in which a rule can end: of controls and of configurations.

    `ending[control]`: the context it ends in, or -1. `behind[state, context]`: the control that a return state is in
    a context, or -1. A node's costs are by the context that is handed to it and the one in which the root is reached.
    """
    controls = np.full((len(ending), width), infinite, np.int32)
    for x in range(len(ending)):
        if ending[x] >= 0:
            controls[x, ending[x]] = 0
    nodes = np.full((len(edge_offsets) - 1, width, width), infinite, np.int32)
    for k in range(width):
        nodes[root, k, k] = 0
    configurations = np.full((len(item_offsets) - 1, width), infinite, np.int32)
    changed = True
    while changed:
        changed = False
        for n in range(len(nodes)):
            for e in range(edge_offsets[n], edge_offsets[n + 1]):
                if edges[e, 0] < 0:
                    continue
                for k in range(width):
                    x = behind[edges[e, 0], k]
                    if x >= 0 and _lower(nodes[n, k], controls[x], nodes[edges[e, 1]], infinite):
                        changed = True
        for c in range(len(configurations)):
            for i in range(item_offsets[c], item_offsets[c + 1]):
                if items[i, 0] < len(controls) and _lower(
                    configurations[c], controls[items[i, 0]], nodes[items[i, 1]], infinite
                ):
                    changed = True
        for x in range(len(controls) - 1, -1, -1):
            for r in range(reach_offsets[x], reach_offsets[x + 1]):
                for k in range(width):
                    value = 1 + configurations[reach[r], k]
                    if value < controls[x, k]:
                        controls[x, k] = value
                        changed = True
    return controls, configurations


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _lower(into: Ints, first: Ints, then: NDArray[np.int32], infinite: int) -> bool:
    """into[k] = min(into[k], min over h of first[h] + then[h, k]); whether anything became less."""
    lower = False
    for h in range(len(first)):
        if first[h] < infinite:
            for k in range(len(into)):
                value = first[h] + then[h, k]
                if value < into[k]:
                    into[k] = value
                    lower = True
    return lower
