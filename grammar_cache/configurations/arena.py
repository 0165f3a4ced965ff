"""Nodes and configurations in flat arrays, so that compiled loops can make new ones.

What they are is said in `configuration`. Here an item is the number state << 32 | node, an edge return state << 32 |
parent, and the edge below everything BOTTOM. This module knows no tokens.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.loops.array_types import Flags, Ints, LongRows, Longs, OctetRows, Octets
from grammar_cache.loops.blocks import Block, BlockLayout
from grammar_cache.loops.jit import jit_inline, jit_no_arrays
from grammar_cache.network.network import Network

UNKNOWN, DEAD = -2, -1
BOTTOM = -1
FULL, CROWDED, STOPPED, CRAMPED, WIDE = -3, -4, -5, -6, -7
"""Instead of a configuration: the store has to grow, the limit is hit, the work was told to stop, the rows of the
scratch have to grow, a step looks at too much."""

CONFIGURATIONS, NODES, ITEMS, EDGES, ROWS, PATTERNS, CLOCK, SPENT, BOTTOMS, MERGED, WIDEST = range(11)
SCRATCH_ROWS = 15
PATTERN, WORK, AT_BOTTOM, CALLING, ROW_HEAD = range(5)
"""Places in a row, and where what follows begins."""
CALLS, MERGES = 1, 2
"""Values of CALLING: rules are called before the next byte; what comes of different calls may be one on the way."""
NOTED = 4
"""Edges that are noted of a rule that is called, which take as long as one item."""
DEAR_SHARE = 6
"""Part of what reading one byte may cost, above which the costs of a token's bytes add up."""
GROUPED = np.int64(-(1 << 63))
"""The hash of nodes that are found through their group."""


class NetworkArrays(NamedTuple):
    """A network: the moves and calls of state s are those from `…_first[s]` to `…_first[s + 1]`; see `States`.

    `limit`: how many configurations there may be. `widest`: what reading one byte may cost, in items and edges, and
    all bytes of a token together that cost more than `dear` each. `lean`: calls at the end of a rule are like any other
    call, and `tail` is false throughout. `stop[0]`: give up. `expand` and `after_byte_alone`: addresses of the loops of
    these names.
    """

    classes: NDArray[np.uint8]
    move_first: Ints
    move_low: Octets
    move_high: Octets
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
    limit: int
    widest: int
    dear: int
    lean: bool
    stop: NDArray[np.uint8]
    expand: int = 0
    after_byte_alone: int = 0

    @staticmethod
    def of(network: Network, limit: int, widest: int, stop: NDArray[np.uint8]) -> NetworkArrays:
        s, live = network.states, network.states.live
        return NetworkArrays(
            network.classes,
            s.move_first,
            s.move_low,
            s.move_high,
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
            limit,
            widest,
            widest // DEAR_SHARE,
            False,
            stop,
        )


class Arena(NamedTuple):
    """The arrays that grow. `used` counts configurations, nodes, items, edges, numbers in rows, patterns, and passes
    that stamp something; then come what the step at hand has cost, how often it has met the edge below everything, how
    much that was there already, and the most that any has cost.

    The items of configuration x are `items[item_first[x] : item_first[x + 1]]`; the edges of nodes likewise. What
    follows x stands in `rows` from `row[x]` on, which is below 0 where that isn't made yet: the number of a pattern,
    what making the row takes in items and edges, how often reading a byte meets the edge below everything at most,
    whether that calls rules (see CALLS), and each configuration that follows, or DEAD, once. Which of these follows by
    a byte class is `patterns[pattern, class]`: few classes differ, and most rows share their pattern. Few need a row.
    `costs[x]` is what reading a byte from there costs at most. Row 0 leads nowhere: it is that of all who would cost
    too much.
    `scratch` is for whoever is at work.
    """

    rows: Ints
    patterns: OctetRows
    pattern_hashes: Longs
    pattern_slots: Ints
    row: Ints
    costs: Ints
    accepts: Flags
    item_first: Ints
    items: Longs
    edge_first: Ints
    edges: Longs
    hashes: Ints
    slots: Ints
    node_hashes: Longs
    node_slots: Ints
    popped: Longs
    rule_stamp: Longs
    rule_last: Ints
    used: Longs
    scratch: LongRows


NETWORK, ARENA = BlockLayout(NetworkArrays), BlockLayout(Arena)
rules_in, arena_in = NETWORK.reader(), ARENA.reader()
NetworkBlock: TypeAlias = Annotated[Block, NETWORK.block_type]
ArenaBlock: TypeAlias = Annotated[Block, ARENA.block_type]


@jit_inline
def _hash(keys: Longs, seed: int) -> int:
    """Hash of the keys; different seeds give different codes: every step with the seed can be undone. Every other key
    goes into a code of its own, as none waits for the other.
    """
    code, other = np.int64(len(keys) * 2 + seed), np.int64(0)
    for i in range(1, len(keys), 2):
        code = (code ^ keys[i]) * -7046029254386353131
        other = (other ^ keys[i - 1]) * -7046029254386353131
        code ^= (code >> 29) & 0x7FFFFFFFF
        other ^= (other >> 29) & 0x7FFFFFFFF
    if len(keys) % 2 == 1:
        other ^= keys[len(keys) - 1]
    code = (code ^ other) * -7046029254386353131
    return int(code ^ (code >> 29) & 0x7FFFFFFFF)


@jit_inline
def _find(keys: Longs, code: int, slots: Ints, hashes: Ints | Longs, first: Ints, pool: Longs) -> int:
    """The first slot that is free, or that holds whoever has this code and these keys."""
    slot = code & (len(slots) - 1)
    while slots[slot] >= 0:
        known = slots[slot]
        if hashes[known] == code and first[known + 1] - first[known] == len(keys):
            differing = np.int64(0)
            for i in range(len(keys)):
                differing |= pool[first[known] + i] ^ keys[i]
            if differing == 0:
                break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@jit_inline
def node_of(arena: Arena, edges: Longs) -> int:
    """The node of sorted, distinct edges; FULL."""
    code = _hash(edges, 0)
    slot = _find(edges, code, arena.node_slots, arena.node_hashes, arena.edge_first, arena.edges)
    number: int = arena.node_slots[slot]
    if number >= 0:
        return number
    number = _added(arena, edges, code)
    if number >= 0:
        arena.node_slots[slot] = number
    return number


@jit_inline
def forget(arena: Arena, node: int) -> None:
    """Takes back the last node that `node_of` has made, with all that came after it."""
    slot = arena.node_hashes[node] & (len(arena.node_slots) - 1)
    while arena.node_slots[slot] != node:
        slot = (slot + 1) & (len(arena.node_slots) - 1)
    arena.node_slots[slot] = -1
    arena.used[NODES], arena.used[EDGES] = node, arena.edge_first[node]


@jit_inline
def grouped_node(arena: Arena, edges: Longs) -> int:
    """A new node that only its group finds again; FULL."""
    number: int = _added(arena, edges, int(GROUPED))
    return number


@jit_inline
def _added(arena: Arena, edges: Longs, code: int) -> int:
    number, begin = arena.used[NODES], arena.used[EDGES]
    past = begin + len(edges)
    if number == len(arena.node_hashes) or past > len(arena.edges):
        return FULL
    for i in range(len(edges)):
        arena.edges[begin + i] = edges[i]
    arena.edge_first[number + 1] = past
    arena.node_hashes[number] = code
    arena.used[NODES], arena.used[EDGES] = number + 1, past
    return int(number)


@jit_inline
def configuration_of(arena: Arena, items: Longs, accepting: bool, limit: int) -> int:
    """The configuration of sorted, distinct items; FULL or CROWDED."""
    code = int(np.int32(_hash(items, 1 if accepting else 0)))
    slot = _find(items, code, arena.slots, arena.hashes, arena.item_first, arena.items)
    number: int = arena.slots[slot]
    if number >= 0:
        return number
    number, begin = arena.used[CONFIGURATIONS], arena.used[ITEMS]
    past = begin + len(items)
    if number >= limit:
        return CROWDED
    if number == len(arena.hashes) or past > len(arena.items):
        return FULL
    for i in range(len(items)):
        arena.items[begin + i] = items[i]
    arena.item_first[number + 1] = past
    arena.hashes[number] = code
    arena.accepts[number] = accepting
    arena.row[number] = UNKNOWN
    arena.slots[slot] = number
    arena.used[CONFIGURATIONS], arena.used[ITEMS] = number + 1, past
    return number


@jit_no_arrays
def alone(arena_block: ArenaBlock, states: Ints | Longs, node: int, limit: int, into: Ints) -> int:
    """Writes the configuration of each state over a node, nothing else beside it; FULL, CROWDED or 0."""
    arena = arena_in(arena_block)
    item = arena.scratch[0, :1]
    for i in range(len(states)):
        item[0] = np.int64(states[i]) << 32 | node
        number = configuration_of(arena, item, False, limit)
        if number < 0:
            return int(number)
        into[i] = number
    return 0


@jit_inline
def breadth(arena: Arena, configuration: int) -> int:
    """Items of a configuration, and edges that they can pop: what a step from there has to look at."""
    first, past = arena.item_first[configuration], arena.item_first[configuration + 1]
    count = past - first
    for i in range(first, past):
        node = arena.items[i] & 0xFFFFFFFF
        count += arena.edge_first[node + 1] - arena.edge_first[node]
    return int(count)


@jit_no_arrays
def breadths(arena_block: ArenaBlock, configurations: Ints, into: Longs) -> None:
    """Writes the breadth of each configuration."""
    arena = arena_in(arena_block)
    for k in range(len(configurations)):
        into[k] = breadth(arena, configurations[k])
