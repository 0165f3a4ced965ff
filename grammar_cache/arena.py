"""Configurations in flat arrays, so that compiled loops can make new ones: `configuration` without the interpreter.

What nodes, items and configurations are is said there. Here an item is the number state << 32 | node, an edge
return state << 32 | parent, and the edge below everything BOTTOM. Two things are left to `configuration`: lexer
contexts, and rules that call themselves before reading anything. This module knows no tokens.
"""

from __future__ import annotations

from heapq import heappop, heappush
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

_CONFIGURATIONS, _NODES, _ITEMS, _EDGES, _ROWS, _CLOCK = range(6)


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
        self.store = _empty(network.class_count, len(network.entry), 1024, 512)
        _node(self.store, np.full(1, BOTTOM, np.int64))

    def accepts(self) -> Flags:
        return self.store.accepts[: self.store.used[_CONFIGURATIONS]]

    def items(self) -> tuple[Ints, Ints]:
        """Of all configurations: where each one's begin, and the pairs (state, node)."""
        return self.store.item_first[: self.store.used[_CONFIGURATIONS] + 1].astype(np.int32), _pairs(
            self.store.items[: self.store.used[_ITEMS]]
        )

    def edges(self) -> tuple[Ints, Ints]:
        """Of all nodes: where each one's begin, and the pairs (return state, parent), -1 below everything."""
        return self.store.edge_first[: self.store.used[_NODES] + 1].astype(np.int32), _pairs(
            self.store.edges[: self.store.used[_EDGES]]
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
    short = store.used[_ROWS] == rows
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
    for number in range(store.used[_CONFIGURATIONS]):
        _note(store.slots, store.hashes, number)
    for number in range(store.used[_NODES]):
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
def _node(store: Store, edges: Longs) -> int:
    """The node of sorted, distinct edges; FULL."""
    code = _hash(edges, 0)
    slot = _find(edges, code, store.node_slots, store.node_hashes, store.edge_first, store.edges)
    number: int = store.node_slots[slot]
    if number >= 0:
        return number
    number, begin = store.used[_NODES], store.used[_EDGES]
    past = begin + len(edges)
    if number == len(store.node_hashes) or past > len(store.edges):
        return FULL
    store.edges[begin:past] = edges
    store.edge_first[number + 1] = past
    store.node_hashes[number] = code
    store.node_slots[slot] = number
    store.used[_NODES], store.used[_EDGES] = number + 1, past
    return number


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _distinct(keys: Longs) -> Longs:
    """Sorted, without repetitions, in place."""
    if len(keys) < 2:
        return keys
    keys.sort()
    size = 1
    for i in range(1, len(keys)):
        if keys[i] != keys[i - 1]:
            keys[size] = keys[i]
            size += 1
    return keys[:size]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _same(a: Longs, b: Longs, size: int) -> bool:
    differing = 0
    for i in range(size):
        differing |= a[i] ^ b[i]
    return differing == 0


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _room(keys: Longs, size: int) -> Longs:
    if size < len(keys):
        return keys
    grown = np.empty(2 * len(keys), np.int64)
    grown[: len(keys)] = keys
    return grown


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def closed(rules: Rules, store: Store, items: Longs, limit: int) -> int:
    """The configuration of some items, what has ended popped; FULL or CROWDED."""
    accepting = False
    store.used[_CLOCK] += 1
    clock = store.used[_CLOCK]
    found, size = np.empty(len(items) + 8, np.int64), len(items)
    found[:size] = items
    at = 0
    while at < size:
        state, node = found[at] >> 32, found[at] & 0xFFFFFFFF
        at += 1
        if rules.final[state] and store.popped[node] != clock:
            store.popped[node] = clock
            for e in range(store.edge_first[node], store.edge_first[node + 1]):
                if store.edges[e] == BOTTOM:
                    accepting = True
                else:
                    found = _room(found, size)
                    found[size] = store.edges[e]
                    size += 1
    kept = 0
    for i in range(size):
        if rules.live[found[i] >> 32]:
            found[kept] = found[i]
            kept += 1
    number: int = _configuration(store, _distinct(found[:kept]), accepting, limit)
    return number


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _configuration(store: Store, items: Longs, accepting: bool, limit: int) -> int:
    code = _hash(items, 1 if accepting else 0)
    slot = _find(items, code, store.slots, store.hashes, store.item_first, store.items)
    number: int = store.slots[slot]
    if number >= 0:
        return number
    number, begin = store.used[_CONFIGURATIONS], store.used[_ITEMS]
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
    store.used[_CONFIGURATIONS], store.used[_ITEMS] = number + 1, past
    return number


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _called(
    rules: Rules, store: Store, item: int, waiting: list[int], edges: Longs, older: Ints, size: int
) -> tuple[Longs, Ints, int]:
    """Notes the calls of an item: `edges` of each rule are a list from `rule_last[rule]` through `older`.

    A rule that is met for the first time is put on the heap `waiting`, callers before callees.
    """
    state, node = item >> 32, item & 0xFFFFFFFF
    for k in range(rules.call_first[state], rules.call_first[state + 1]):
        rule, back = rules.call_rule[k], rules.call_back[k]
        if store.rule_stamp[rule] != store.used[_CLOCK]:
            store.rule_stamp[rule] = store.used[_CLOCK]
            store.rule_last[rule] = -1
            heappush(waiting, (np.int64(rules.component[rule]) << 32) | rule)
        begin, past = node, node + 1
        if rules.tail[back]:  # what a call at the end of a rule returns to is what the rule itself returns to
            begin, past = store.edge_first[node], store.edge_first[node + 1]
        for e in range(begin, past):
            if size == len(edges):
                edges, older = _room(edges, size), np.concatenate((older, np.empty_like(older)))
            edges[size] = store.edges[e] if rules.tail[back] else (np.int64(back) << 32) | node
            older[size] = store.rule_last[rule]
            store.rule_last[rule] = size
            size += 1
    return edges, older, size


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def expansion(rules: Rules, store: Store, configuration: int) -> tuple[int, Longs]:
    """The items with the entries of all rules that they may call before the next byte; 0, or FULL."""
    begin, past = store.item_first[configuration], store.item_first[configuration + 1]
    found, size = np.empty(past - begin + 8, np.int64), past - begin
    found[:size] = store.items[begin:past]
    store.used[_CLOCK] += 1
    waiting = [np.int64(0) for _ in range(0)]
    edges, older, noted = np.empty(8, np.int64), np.empty(8, np.int32), 0
    for i in range(size):
        edges, older, noted = _called(rules, store, found[i], waiting, edges, older, noted)
    while len(waiting) > 0:
        rule = heappop(waiting) & 0xFFFFFFFF
        count, k = 0, store.rule_last[rule]
        while k >= 0:
            count, k = count + 1, older[k]
        own, k = np.empty(count, np.int64), store.rule_last[rule]
        for i in range(count):
            own[i], k = edges[k], older[k]
        node = _node(store, _distinct(own))
        if node == FULL:
            return FULL, found
        found = _room(found, size)
        found[size] = (np.int64(rules.entry[rule]) << 32) | node
        edges, older, noted = _called(rules, store, found[size], waiting, edges, older, noted)
        size += 1
    return 0, found[:size]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def expand(rules: Rules, store: Store, configuration: int, limit: int, stop: NDArray[np.uint8]) -> int:
    """Fills the row of `next`: 0; FULL, CROWDED or STOPPED where it could not, and nothing is lost."""
    if stop[0]:
        return STOPPED
    if store.used[_ROWS] == len(store.next):
        return FULL
    status: int
    status, items = expansion(rules, store, configuration)
    if status < 0:
        return status
    classes = store.next.shape[1]
    row = np.full(classes, DEAD, np.int32)
    last, count = np.full(classes, -1, np.int32), 0
    after, older = np.empty(64, np.int64), np.empty(64, np.int32)
    for item in items:
        for m in range(rules.move_first[item >> 32], rules.move_first[(item >> 32) + 1]):
            if count == len(after):
                after, older = _room(after, count), np.concatenate((older, np.empty_like(older)))
            after[count] = (np.int64(rules.move_to[m]) << 32) | (item & 0xFFFFFFFF)
            older[count] = last[rules.move_class[m]]
            last[rules.move_class[m]] = count
            count += 1
    reached, before, number = np.empty(len(items), np.int64), np.empty(len(items), np.int64), DEAD
    size = 0
    for c in range(classes):
        if last[c] < 0:
            continue
        previous, reached, before = size, before, reached
        size, k = 0, last[c]
        while k >= 0:
            reached[size], k = after[k], older[k]
            size += 1
        if size != previous or not _same(reached, before, size):  # neighbours mostly go the same way
            number = closed(rules, store, reached[:size], limit)
            if number < 0:
                return number
        row[c] = number
    store.next[store.used[_ROWS]] = row
    store.row[configuration] = store.used[_ROWS]
    store.used[_ROWS] += 1
    return 0


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def at(rules: Rules, store: Store, state: int, limit: int) -> int:
    """The configuration of one state above the root: what its rule still has to read; FULL or CROWDED."""
    number: int = closed(rules, store, np.full(1, np.int64(state) << 32, np.int64), limit)
    return number
