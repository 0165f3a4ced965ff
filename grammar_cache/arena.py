"""Configurations in flat arrays, so that compiled loops can make new ones: `configuration` without the interpreter.

What nodes, items and configurations are is said there. Here an item is the number state << 32 | node, an edge
return state << 32 | parent, and the edge below everything BOTTOM. Two things are left to `configuration`: lexer
contexts, and rules that call themselves before reading anything. This module knows no tokens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from grammar_cache.errors import LimitExceeded
from grammar_cache.interrupt import Interrupt
from grammar_cache.network import Network

UNKNOWN, DEAD = -2, -1
BOTTOM = -1
FULL, CROWDED, STOPPED = -3, -4, -5
"""Instead of a configuration: the arena has to grow, the limit is hit, the work was told to stop."""

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]

CONFIGURATIONS, NODES, ITEMS, EDGES, ROWS, CLOCK = range(6)


class Rules(NamedTuple):
    """A network: the moves and calls of state s are those from `…_first[s]` to `…_first[s + 1]`."""

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

    @staticmethod
    def of(network: Network) -> Rules:
        s = network.states
        return Rules(
            s.move_first,
            s.move_class,
            s.move_to,
            s.call_first,
            s.call_rule,
            s.call_back,
            s.final,
            s.live,
            np.array(network.tail, np.bool_),
            np.array(network.entry, np.int32),
            np.array(network.component, np.int32),
        )


class Store(NamedTuple):
    """The arrays that grow. `used` counts configurations, nodes, items, edges, rows, and passes that stamp something.

    The items of configuration x are `items[item_first[x] : item_first[x + 1]]`; the edges of nodes likewise. What
    follows x is `next[row[x]]`, by byte class; a row below 0 is not made yet. Few configurations need one.
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


class Arena:
    """The configurations of a network without lexer contexts and without left recursion, as far as they are made."""

    def __init__(self, network: Network, limit: int, interrupt: Interrupt) -> None:
        self.rules = Rules.of(network)
        self.limit = limit
        self.stop = interrupt.flag
        self._interrupt = interrupt
        size = 1 << max(10, (2 * network.states.count).bit_length())  # hash tables are of powers of two
        self.store = _empty(network.class_count, len(network.entry), size, size // 2)
        node_of(self.store, np.full(1, BOTTOM, np.int64))

    def accepts(self) -> Flags:
        return self.store.accepts[: self.store.used[CONFIGURATIONS]]

    def items(self) -> tuple[Ints, Ints]:
        """Of all configurations: where each one's begin, and the pairs (state, node)."""
        return self.store.item_first[: self.store.used[CONFIGURATIONS] + 1].astype(np.int32), _pairs(
            self.store.items[: self.store.used[ITEMS]]
        )

    def edges(self) -> tuple[Ints, Ints]:
        """Of all nodes: where each one's begin, and the pairs (return state, parent), -1 below everything."""
        return self.store.edge_first[: self.store.used[NODES] + 1].astype(np.int32), _pairs(
            self.store.edges[: self.store.used[EDGES]]
        )

    def outcome(self, status: int) -> None:
        """What to do about a status that is no configuration: grows, or raises LimitExceeded or Interrupted."""
        if status == FULL:
            self.store = _grown(self.store)
        elif status == CROWDED:
            raise LimitExceeded(f"more than {self.limit} configurations", limit="configurations")
        else:
            self._interrupt.check()


def _pairs(keys: Longs) -> Ints:
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1).astype(np.int32)


def _empty(classes: int, rules: int, size: int, rows: int) -> Store:
    return Store(
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
        np.zeros(6, np.int64),
    )


def _grown(store: Store) -> Store:
    """The same with twice the room, for rows only if they are what is short."""
    rows, classes = store.next.shape
    short = store.used[ROWS] == rows
    grown = _empty(classes, len(store.rule_stamp), (1 if short else 2) * len(store.accepts), (2 if short else 1) * rows)
    for name in (
        "next",
        "row",
        "accepts",
        "item_first",
        "items",
        "edge_first",
        "edges",
        "hashes",
        "node_hashes",
        "popped",
    ):
        old = getattr(store, name)
        getattr(grown, name)[: len(old)] = old
    grown.rule_stamp[:] = store.rule_stamp
    grown.used[:] = store.used
    _fill_slots(grown)
    return grown


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _fill_slots(store: Store) -> None:
    for number in range(store.used[CONFIGURATIONS]):
        _note(store.slots, store.hashes, number)
    for number in range(store.used[NODES]):
        _note(store.node_slots, store.node_hashes, number)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _note(slots: Ints, hashes: Longs, number: int) -> None:
    slot = hashes[number] & (len(slots) - 1)
    while slots[slot] >= 0:
        slot = (slot + 1) & (len(slots) - 1)
    slots[slot] = number


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _hash(keys: Longs, seed: int) -> int:
    """For the same keys different seeds give different codes: every step can be undone."""
    code: int = len(keys) * 2 + seed
    for key in keys:
        code = (code ^ key) * -7046029254386353131
        code ^= (code >> 29) & 0x7FFFFFFFF
    return code


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
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


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def node_of(store: Store, edges: Longs) -> int:
    """The node of sorted, distinct edges; FULL."""
    code = _hash(edges, 0)
    slot = _find(edges, code, store.node_slots, store.node_hashes, store.edge_first, store.edges)
    number: int = store.node_slots[slot]
    if number >= 0:
        return number
    number, begin = store.used[NODES], store.used[EDGES]
    past = begin + len(edges)
    if number == len(store.node_hashes) or past > len(store.edges):
        return FULL
    store.edges[begin:past] = edges
    store.edge_first[number + 1] = past
    store.node_hashes[number] = code
    store.node_slots[slot] = number
    store.used[NODES], store.used[EDGES] = number + 1, past
    return number


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def configuration_of(store: Store, items: Longs, accepting: bool, limit: int) -> int:
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
    store.items[begin:past] = items
    store.item_first[number + 1] = past
    store.hashes[number] = code
    store.accepts[number] = accepting
    store.row[number] = UNKNOWN
    store.slots[slot] = number
    store.used[CONFIGURATIONS], store.used[ITEMS] = number + 1, past
    return number
