"""The tables that the walks of `reach` are noted in, and how compiled loops find what is in them.

Nothing here makes arrays or counts references: see `reach_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.loops.array_types import Flags, IntRows, Ints, Longs
from grammar_cache.loops.jit import jit_inline

TABLES = ("walks", "rows", "links", "ends", "places", "sought")
WALKS, ROWS, LINKS, ENDS, PLACES, SOUGHT = range(len(TABLES))
"""Places of `Found.used`; SOUGHT: of the rows, those that can be found."""
NOT_BEGUN = -2
"""Instead of the ends of a walk."""
MODEL, NOBODY = -1, -2
"""Instead of the node where a walk begins, which is the root: a model's, which goes on from its own state too; and that
of what was given up.
"""
NOT_ENDED = 1 << 30
"""Instead of the depth at which a token of the walk under way ends its rule."""
WHOLE, LEFT_OUT, WHOLE_LEFT_OUT = 1, 2, 4
"""Marks of rows: a whole token ends there; what begins with a string that ends there is left out; whole tokens are."""
OVER, WHOLE_OVER = 1, 2
"""Marks of walks: strings that begin with where the rule ends, whole tokens among them."""


class Readable(NamedTuple):
    """Tables of a network that the walks read. `after[state, byte class]`: a state, or -1. `width[state]`: bytes it
    reads. `narrow[state]`: walks leave nothing out there, though strings end there. `is_entry[state]`: of a rule.

    The bytes of class c are `class_bytes[class_first[c] : class_first[c + 1]]`; the root's children by such a byte
    `root[root_first[c] : root_first[c + 1]]`, those that are no token first.
    """

    classes: NDArray[np.uint8]
    class_first: Ints
    class_bytes: NDArray[np.uint8]
    root_first: Ints
    root: Ints
    after: IntRows
    width: Ints
    call_first: Ints
    call_rule: Ints
    call_back: Ints
    final: NDArray[np.bool_]
    entry: Ints
    is_entry: Flags
    closed: bool
    narrow: Flags
    whole: Flags
    within: Flags
    stop: NDArray[np.uint8]


class Found(NamedTuple):
    """Arrays of walks, rows, links, ends and places, of which there are so many `used`. Lists end with -1.

    A place is what a walk comes by: a state at a node of the trie. Places that are still to be looked at are a list for
    each depth, `deepest[0]` the last one that has any. `…_slots` find walks, rows and places by content. Once no walk
    is under way places go, and no rows but those of models can be found. `row_best`: the depth of a row's node and the
    node, as one number. `seen_row[state]` is the row of the walk `seen_walk[state]`, the last one that came by that
    state: mostly the one that is asked for. `walk_model`: see `reach_models`; `spoiled[0]`: the walk that is under way
    was sooner than its model. `alone[0]`: that walk, if nobody else needs it or a walk that was begun on its way;
    `ended[0]`: the least depth of a token that ends its rule.
    """

    used: Longs
    walk_state: Ints
    walk_node: Ints
    walk_links: Ints
    walk_ends: Ints
    walk_model: Ints
    walk_overhang: NDArray[np.uint8]
    walk_slots: Ints
    row_walk: Ints
    row_state: Ints
    row_best: Longs
    row_mark: NDArray[np.uint8]
    row_slot: Ints
    row_slots: Ints
    seen_walk: Ints
    seen_row: Ints
    link_walk: Ints
    link_callee: Ints
    link_back: Ints
    link_older: Ints
    end_node: Ints
    end_older: Ints
    place_walk: Ints
    place_state: Ints
    place_node: Ints
    place_older: Ints
    place_slot: Ints
    place_slots: Ints
    waiting: Ints
    deepest: Ints
    spoiled: Flags
    alone: Ints
    ended: Ints


@jit_inline
def walk_of(found: Found, state: int, node: int) -> int:
    """The walk that begins there, or -1 where room is short."""
    slot = _mixed(state, node, 0) & (len(found.walk_slots) - 1)
    while found.walk_slots[slot] >= 0:
        known = found.walk_slots[slot]
        if found.walk_state[known] == state and found.walk_node[known] == node:
            return int(known)
        slot = (slot + 1) & (len(found.walk_slots) - 1)
    walk = found.used[WALKS]
    if walk == len(found.walk_state):
        return -1
    found.walk_slots[slot] = walk
    found.walk_state[walk], found.walk_node[walk] = state, node
    found.walk_links[walk], found.walk_ends[walk], found.walk_overhang[walk] = -1, NOT_BEGUN, 0
    found.walk_model[walk] = -1
    found.used[WALKS] = walk + 1
    return int(walk)


@jit_inline
def row_of(found: Found, walk: int, state: int, depth: int, node: int) -> int:
    """The row of a walk and a state, made with this node, or its model's, if it is new; -1 where room is short."""
    known, slot = _sought_row(found, walk, state)
    if known >= 0:
        return int(known)
    row = found.used[ROWS]
    if row == len(found.row_walk) or 2 * found.used[SOUGHT] == len(found.row_slots):
        return -1
    found.row_slots[slot], found.row_slot[row] = row, slot
    of_model = row_of_model(found, walk, state)
    best = rank(depth, node) if of_model < 0 else found.row_best[of_model]
    found.row_walk[row], found.row_state[row], found.row_best[row] = walk, state, best
    found.row_mark[row] = 0
    found.seen_walk[state], found.seen_row[state] = walk, row
    found.used[ROWS], found.used[SOUGHT] = row + 1, found.used[SOUGHT] + 1
    return int(row)


@jit_inline
def known_row(found: Found, walk: int, state: int) -> int:
    """The row of a walk and a state, or -1 where no token has led there."""
    known, _ = _sought_row(found, walk, state)
    return int(known)


@jit_inline
def row_of_model(found: Found, walk: int, state: int) -> int:
    """The row of a walk's model and a state, or -1."""
    return int(known_row(found, found.walk_model[walk], state)) if found.walk_model[walk] >= 0 else -1


@jit_inline
def _sought_row(found: Found, walk: int, state: int) -> tuple[int, int]:
    """The row of a walk and a state, or -1 and the slot that is free for it."""
    if found.seen_walk[state] == walk:
        return int(found.seen_row[state]), -1
    slot = _mixed(walk, state, 1) & (len(found.row_slots) - 1)
    while found.row_slots[slot] >= 0:
        known = found.row_slots[slot]
        if found.row_walk[known] == walk and found.row_state[known] == state:
            found.seen_walk[state], found.seen_row[state] = walk, known
            return int(known), -1
        slot = (slot + 1) & (len(found.row_slots) - 1)
    return -1, slot


@jit_inline
def mark_end(rules: Readable, found: Found, row: int, node: int) -> None:
    """Marks a row as one in which a string ends: that of a node."""
    if rules.closed and rules.whole[node]:
        found.row_mark[row] |= WHOLE


@jit_inline
def mark_left_out(rules: Readable, found: Found, row: int, node: int) -> None:
    """Marks a row in which what begins with the string of a node is left out."""
    if rules.closed:
        found.row_mark[row] |= LEFT_OUT | WHOLE_LEFT_OUT if rules.within[node] else LEFT_OUT


@jit_inline
def rank(depth: int, node: int) -> int:
    """The less, the better."""
    return int(np.int64(depth) << 32 | node)


@jit_inline
def place_of(found: Found, walk: int, state: int, node: int) -> int:
    """The place, made if it is new; -1 where room is short."""
    slot = _mixed(walk, state, node) & (len(found.place_slots) - 1)
    while found.place_slots[slot] >= 0:
        known = found.place_slots[slot]
        same = found.place_node[known] == node and found.place_state[known] == state
        if same and found.place_walk[known] == walk:
            return int(known)
        slot = (slot + 1) & (len(found.place_slots) - 1)
    place = found.used[PLACES]
    if place == len(found.place_walk):
        return -1
    found.place_slots[slot], found.place_slot[place] = place, slot
    found.place_walk[place], found.place_state[place], found.place_node[place] = walk, state, node
    found.used[PLACES] = place + 1
    return int(place)


@jit_inline
def _mixed(a: int, b: int, c: int) -> int:
    code = np.int64(a) * 0x1E3779B97F4A7C15 ^ np.int64(b) * 0x3C6EF372FE94F82B ^ np.int64(c) * 0x5851F42D4C957F2D
    return int(code ^ (code >> 31) & 0x7FFFFFFFF)
