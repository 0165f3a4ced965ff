"""The compiled loops that solve costs: fewest tokens of states, nodes and configurations."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from grammar_cache.arena import CONFIGURATIONS, NODES, Ints, Store


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def least_costs(
    states: Ints,
    reach_offsets: Ints,
    reach: Ints,
    store: Store,
    infinite: int,
) -> Ints:
    """Knuth's least fixpoint: lowers `states`, the cost of every state in tokens; returns that of every configuration.

    cost(state) = 0 at the end of its rule, else 1 + least cost of a configuration one token away;
    cost(node) = least cost(return state) + cost(parent); cost(configuration) = least cost(state) + cost(node).
    Costs only fall from infinity, so sweeping until nothing changes ends in the least solution. States that are
    solved already have their costs and reach nothing.
    """
    nodes = np.full(store.used[NODES], infinite, np.int32)
    configurations = np.where(store.accepts[: store.used[CONFIGURATIONS]], 0, infinite).astype(np.int32)
    changed = True
    while changed:
        changed = False
        for n in range(len(nodes)):
            value = _of_node(store, states, nodes, n)
            if value < nodes[n]:
                nodes[n] = value
                changed = True
        for x in range(len(configurations)):
            value = _of_items(store, states, nodes, x)
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
def extend(
    store: Store, states: Ints, nodes: Ints, node_count: int, configurations: Ints, count: int, infinite: int
) -> None:
    """The costs of nodes and configurations from these numbers on, given those of all states."""
    nodes[node_count : store.used[NODES]] = infinite
    changed = True
    while changed:  # nodes of one group lean on each other; all others are settled by the first pass
        changed = False
        for n in range(node_count, store.used[NODES]):
            value = _of_node(store, states, nodes, n)
            if value < nodes[n]:
                nodes[n] = value
                changed = True
    for x in range(count, store.used[CONFIGURATIONS]):
        configurations[x] = 0 if store.accepts[x] else min(infinite, _of_items(store, states, nodes, x))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _of_node(store: Store, states: Ints, nodes: Ints, node: int) -> int:
    least = 1 << 30
    for k in range(store.edge_first[node], store.edge_first[node + 1]):
        edge = store.edges[k]
        if edge < 0:
            return 0
        least = min(least, states[edge >> 32] + nodes[edge & 0xFFFFFFFF])
    return least


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _of_items(store: Store, states: Ints, nodes: Ints, configuration: int) -> int:
    least = 1 << 30
    for k in range(store.item_first[configuration], store.item_first[configuration + 1]):
        item = store.items[k]
        least = min(least, states[item >> 32] + nodes[item & 0xFFFFFFFF])
    return least


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
