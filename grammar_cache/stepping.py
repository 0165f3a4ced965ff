"""The compiled steps of configurations: what a configuration may call, where each byte leads, and what ends there."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numba import njit

from grammar_cache.arena import (
    BOTTOM,
    CLOCK,
    DEAD,
    FULL,
    ROWS,
    STOPPED,
    WAITING,
    WANTED,
    Ints,
    Longs,
    Rules,
    Store,
    configuration_of,
    node_of,
)
from grammar_cache.groups import distinct, enter, room_for


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _same(a: Longs, b: Longs, size: int) -> bool:
    differing = 0
    for i in range(size):
        differing |= a[i] ^ b[i]
    return differing == 0


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def closed(rules: Rules, store: Store, items: Longs, accepting: bool) -> int:
    """The configuration of some items, what has ended popped; FULL or CROWDED."""
    store.used[CLOCK] += 1
    clock = store.used[CLOCK]
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
                    found = room_for(found, size)
                    found[size] = store.edges[e]
                    size += 1
    kept = 0
    for i in range(size):
        if rules.live[found[i] >> 32]:
            found[kept] = found[i]
            kept += 1
    number: int = configuration_of(store, distinct(found[:kept]), accepting, rules.limit)
    return number


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _called(
    rules: Rules, store: Store, item: int, group: int, waiting: list[int], edges: Longs, older: Ints, size: int
) -> tuple[Longs, Ints, int]:
    """Notes the calls of an item: `edges` of each rule are a list from `rule_last[rule]` through `older`.

    A rule that is met for the first time is put on the heap `waiting`, callers before callees. Calls within the
    component `group` are left out: its nodes know them.
    """
    state, node = item >> 32, item & 0xFFFFFFFF
    for k in range(rules.call_first[state], rules.call_first[state + 1]):
        rule, back = rules.call_rule[k], rules.call_back[k]
        if rules.component[rule] == group:
            continue
        if store.rule_stamp[rule] != store.used[CLOCK]:
            store.rule_stamp[rule] = store.used[CLOCK]
            store.rule_last[rule] = -1
            heappush(waiting, (np.int64(rules.component[rule]) << 32) | rule)
        begin, past = node, node + 1
        if rules.tail[back]:  # what a call at the end of a rule returns to is what the rule itself returns to
            begin, past = store.edge_first[node], store.edge_first[node + 1]
        for e in range(begin, past):
            if size == len(edges):
                edges, older = room_for(edges, size), np.concatenate((older, np.empty_like(older)))
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
    store.used[CLOCK] += 1
    waiting = [np.int64(0) for _ in range(0)]
    edges, older, noted = np.empty(8, np.int64), np.empty(8, np.int32), 0
    for i in range(size):
        edges, older, noted = _called(rules, store, found[i], -1, waiting, edges, older, noted)
    while len(waiting) > 0:
        first = waiting[0]
        group = first >> 32 if rules.cyclic[first >> 32] else -1
        outside, marks = np.empty(16, np.int64), 0
        while len(waiting) > 0 and (waiting[0] == first or waiting[0] >> 32 == group):
            rule = heappop(waiting) & 0xFFFFFFFF
            own = distinct(_listed(store.rule_last[rule], edges, older))
            if group >= 0:
                outside = room_for(outside, marks + len(own))
                outside[marks] = -2 - rule
                outside[marks + 1 : marks + 1 + len(own)] = own
                marks += 1 + len(own)
        if group < 0:
            entered, node = np.full(1, rule, np.int64), node_of(store, own)
        else:
            entered, node = enter(rules, store, outside[:marks])
        if node == FULL:
            return FULL, found
        for i in range(len(entered)):
            found = room_for(found, size)
            found[size] = (np.int64(rules.entry[entered[i]]) << 32) | (node + i)
            edges, older, noted = _called(rules, store, found[size], group, waiting, edges, older, noted)
            size += 1
    return 0, found[:size]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _listed(last: int, edges: Longs, older: Ints) -> Longs:
    count, k = 0, last
    while k >= 0:
        count, k = count + 1, older[k]
    own, k = np.empty(count, np.int64), last
    for i in range(count):
        own[i], k = edges[k], older[k]
    return own


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def expand(rules: Rules, store: Store, configuration: int) -> int:
    """Fills the row of `next`: 0; a status below it where it could not, and nothing is lost."""
    if rules.stop[0]:
        return STOPPED
    if rules.lexed:
        store.used[WANTED] = configuration
        return WAITING
    if store.used[ROWS] == len(store.next):
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
                after, older = room_for(after, count), np.concatenate((older, np.empty_like(older)))
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
            number = closed(rules, store, reached[:size], False)
            if number < 0:
                return int(number)
        row[c] = number
    store.next[store.used[ROWS]] = row
    store.row[configuration] = store.used[ROWS]
    store.used[ROWS] += 1
    return 0


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def at(rules: Rules, store: Store, state: int) -> int:
    """The configuration of one state above the root: what its rule still has to read; FULL or CROWDED."""
    number: int = closed(rules, store, np.full(1, np.int64(state) << 32, np.int64), False)
    return number


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def popped(rules: Rules, store: Store, node: int) -> int:
    """The configuration behind the end of a rule whose node it is, text that may end there not counted; FULL, CROWDED.

    Items and edges are written alike.
    """
    items = store.edges[store.edge_first[node] : store.edge_first[node + 1]]
    number: int = closed(rules, store, items[items != BOTTOM], False)
    return number


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def breadth(store: Store, configuration: int) -> int:
    """Items, and edges that they can pop: what a step from here has to look at."""
    size = 0
    for i in range(store.item_first[configuration], store.item_first[configuration + 1]):
        node = store.items[i] & 0xFFFFFFFF
        size += 1 + store.edge_first[node + 1] - store.edge_first[node]
    return size
