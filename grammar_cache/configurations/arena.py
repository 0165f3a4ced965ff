"""Nodes and configurations in flat arrays, so that compiled loops can make new ones.

What they are is said in `configuration`. Here an item is the number state << 32 | node, an edge return state << 32 |
parent, and the edge below everything BOTTOM. This module knows no tokens and no lexer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from grammar_cache.network.network import Network

UNKNOWN, DEAD = -2, -1
BOTTOM = -1
FULL, CROWDED, STOPPED, WAITING, CRAMPED = -3, -4, -5, -6, -7
"""Instead of a configuration: the store has to grow, the limit is hit, the work was told to stop, Python has to expand,
the rows of the scratch have to grow."""

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]

CONFIGURATIONS, NODES, ITEMS, EDGES, ROWS, CLOCK, WANTED = range(7)
SCRATCH_ROWS = 13
_GROUPED = np.int64(-(1 << 63))
"""The hash of nodes that are found through their group."""


class NetworkArrays(NamedTuple):
    """A network: the moves and calls of state s are those from `…_first[s]` to `…_first[s + 1]`.

    `lexed`: the compiled steps are not for it. `limit`: how many configurations there may be. `stop[0]`: give up.
    """

    classes: NDArray[np.uint8]
    move_first: Ints
    move_class: Ints
    move_to: Ints
    call_first: Ints
    call_rule: Ints
    call_back: Ints
    final: Flags
    live: Flags
    tail: Flags
    entry: Ints
    component: Ints
    cyclic: Flags
    lexed: bool
    limit: int
    stop: NDArray[np.uint8]

    @staticmethod
    def of(network: Network, limit: int, stop: NDArray[np.uint8]) -> NetworkArrays:
        s, live = network.states, network.states.live
        return NetworkArrays(
            network.classes,
            s.move_first,
            s.move_class,
            s.move_to,
            s.call_first,
            s.call_rule,
            s.call_back,
            s.final,
            live,
            s.final & ~live,
            np.array(network.entry, np.int32),
            np.array(network.component, np.int32),
            np.array(network.cyclic, np.bool_),
            network.lexed,
            limit,
            stop,
        )


class Arena(NamedTuple):
    """The arrays that grow. `used` counts configurations, nodes, items, edges, rows, and passes that stamp something;
    then comes the configuration that Python has to expand.

    The items of configuration x are `items[item_first[x] : item_first[x + 1]]`; the edges of nodes likewise. What
    follows x is `next[row[x]]`, by byte class; a row below 0 is not made yet. Few configurations need one. `scratch`
    is for whoever is at work.
    """

    next: Ints
    row: Ints
    accepts: Flags
    item_first: Longs
    items: Longs
    edge_first: Longs
    edges: Longs
    hashes: Longs
    slots: Ints
    node_hashes: Longs
    node_slots: Ints
    popped: Longs
    rule_stamp: Longs
    rule_last: Ints
    used: Longs
    scratch: NDArray[np.int64]


_SCRATCH = 512
"""Columns of the scratch at first."""
_CONTENT = ("next", "row", "accepts", "item_first", "items", "edge_first", "edges", "hashes", "node_hashes", "popped")


def empty(classes: int, rules: int, size: int, rows: int) -> Arena:
    """Room for so many configurations, a power of two, and rows."""
    return Arena(
        np.empty((rows, classes), np.int32),
        np.empty(size, np.int32),
        np.zeros(size, np.bool_),
        np.zeros(size + 1, np.int64),
        np.empty(4 * size, np.int64),
        np.zeros(size + 1, np.int64),
        np.empty(4 * size, np.int64),
        np.empty(size, np.int64),
        np.full(2 * size, -1, np.int32),
        np.empty(size, np.int64),
        np.full(2 * size, -1, np.int32),
        np.zeros(size, np.int64),
        np.zeros(rules, np.int64),
        np.empty(rules, np.int32),
        np.zeros(WANTED + 1, np.int64),
        np.empty((SCRATCH_ROWS, _SCRATCH), np.int64),
    )


def grown(store: Arena) -> Arena:
    """The same with twice the room, for rows only if they are what is short."""
    rows, classes = store.next.shape
    short = store.used[ROWS] == rows
    larger = empty(classes, len(store.rule_stamp), (1 if short else 2) * len(store.accepts), (2 if short else 1) * rows)
    for name in _CONTENT:
        old = getattr(store, name)
        getattr(larger, name)[: len(old)] = old
    larger.rule_stamp[:] = store.rule_stamp
    larger.used[:] = store.used
    _fill_slots(larger)
    return larger._replace(scratch=store.scratch)


def widened(store: Arena) -> Arena:
    """The same with rows of the scratch twice as long; what was in them is lost."""
    rows, width = store.scratch.shape
    return store._replace(scratch=np.empty((rows, 2 * width), np.int64))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _fill_slots(store: Arena) -> None:
    for number in range(store.used[CONFIGURATIONS]):
        _note(store.slots, store.hashes, number)
    for number in range(store.used[NODES]):
        if store.node_hashes[number] != _GROUPED:
            _note(store.node_slots, store.node_hashes, number)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _note(slots: Ints, hashes: Longs, number: int) -> None:
    slot = hashes[number] & (len(slots) - 1)
    while slots[slot] >= 0:
        slot = (slot + 1) & (len(slots) - 1)
    slots[slot] = number


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator]
def _hash(keys: Longs, seed: int) -> int:
    """For the same keys different seeds give different codes: every step can be undone."""
    code: int = len(keys) * 2 + seed
    for key in keys:
        code = (code ^ key) * -7046029254386353131
        code ^= (code >> 29) & 0x7FFFFFFFF
    return code


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator]
def _find(keys: Longs, code: int, slots: Ints, hashes: Longs, first: Longs, pool: Longs) -> int:
    """The first slot that is free, or that holds whoever has this code and these keys."""
    slot = code & (len(slots) - 1)
    while slots[slot] >= 0:
        known = slots[slot]
        if hashes[known] == code and first[known + 1] - first[known] == len(keys):
            same = True
            for i in range(len(keys)):
                if pool[first[known] + i] != keys[i]:
                    same = False
                    break
            if same:
                break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator]
def node_of(store: Arena, edges: Longs) -> int:
    """The node of sorted, distinct edges; FULL."""
    code = _hash(edges, 0)
    slot = _find(edges, code, store.node_slots, store.node_hashes, store.edge_first, store.edges)
    number: int = store.node_slots[slot]
    if number >= 0:
        return number
    number = _added(store, edges, code)
    if number >= 0:
        store.node_slots[slot] = number
    return number


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator]
def grouped_node(store: Arena, edges: Longs) -> int:
    """A new node that only its group finds again; FULL."""
    number: int = _added(store, edges, _GROUPED)
    return number


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator]
def _added(store: Arena, edges: Longs, code: int) -> int:
    number, begin = store.used[NODES], store.used[EDGES]
    past = begin + len(edges)
    if number == len(store.node_hashes) or past > len(store.edges):
        return FULL
    for i in range(len(edges)):
        store.edges[begin + i] = edges[i]
    store.edge_first[number + 1] = past
    store.node_hashes[number] = code
    store.used[NODES], store.used[EDGES] = number + 1, past
    return int(number)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)  # type: ignore[untyped-decorator]
def configuration_of(store: Arena, items: Longs, accepting: bool, limit: int) -> int:
    """The configuration of sorted, distinct items; FULL or CROWDED."""
    code = _hash(items, 1 if accepting else 0)
    slot = _find(items, code, store.slots, store.hashes, store.item_first, store.items)
    number: int = store.slots[slot]
    if number >= 0:
        return number
    number, begin = store.used[CONFIGURATIONS], store.used[ITEMS]
    past = begin + len(items)
    if number >= limit:
        return CROWDED
    if number == len(store.hashes) or past > len(store.items):
        return FULL
    for i in range(len(items)):
        store.items[begin + i] = items[i]
    store.item_first[number + 1] = past
    store.hashes[number] = code
    store.accepts[number] = accepting
    store.row[number] = UNKNOWN
    store.slots[slot] = number
    store.used[CONFIGURATIONS], store.used[ITEMS] = number + 1, past
    return number
