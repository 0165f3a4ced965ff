"""The compiled walks of `reach`, and the tables that they are noted in.

They are built without reference counts: counting those of all arrays at each call took twenty times as long as the
work. So they make no arrays; whoever calls them makes room.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from grammar_cache.arena import FULL, STOPPED, Ints, Longs
from grammar_cache.trie import Children
from grammar_cache.walk import Tokens

TABLES = ("walks", "rows", "links", "ends", "places")
WALKS, ROWS, LINKS, ENDS, PLACES = range(len(TABLES))
_ENDED = -1
"""In a place, instead of a state: the walk's rule is over here."""
_SEARCH = 8
"""Children that are looked through in the time that finding one takes."""
_NOT_BEGUN = -2
"""Instead of the ends of a walk."""


class Readable(NamedTuple):
    """What the walks read of a network. `after[state, byte class]`: a state, or -1. `width[state]`: bytes it reads.

    The bytes of class c are `class_bytes[class_first[c] : class_first[c + 1]]`.
    """

    classes: NDArray[np.uint8]
    class_first: Ints
    class_bytes: NDArray[np.uint8]
    after: Ints
    width: Ints
    move_first: Ints
    move_class: Ints
    call_first: Ints
    call_rule: Ints
    call_back: Ints
    final: NDArray[np.bool_]
    entry: Ints
    stop: NDArray[np.uint8]


class Found(NamedTuple):
    """Arrays of walks, rows, links, ends and places, of which there are so many `used`. Lists end with -1.

    A place is what a walk comes by: a state at a node of the trie. Places that are still to be looked at are a list for
    each depth. `…_slots` find walks, rows and places by content. Places go once no walk is under way.
    """

    used: Longs
    walk_state: Ints
    walk_node: Ints
    walk_links: Ints
    walk_ends: Ints
    walk_slots: Ints
    row_walk: Ints
    row_state: Ints
    row_node: Ints
    row_slots: Ints
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


@njit(cache=True, nogil=True, _nrt=False)  # type: ignore[untyped-decorator]
def walked(rules: Readable, words: Tokens, children: Children, states: Ints, found: Found) -> int:
    """All walks that these states need: 0, FULL or STOPPED."""
    for state in states:
        if _walk(found, state, 0) < 0:
            return FULL
    for number in range(len(states)):
        if rules.stop[0]:
            return STOPPED
        if not _begin(rules, words, found, number, 0):
            return FULL
        for depth in range(len(found.waiting)):
            while found.waiting[depth] >= 0:
                if not _level(rules, words, children, found, depth):
                    return FULL
        for place in range(found.used[PLACES]):
            found.place_slots[found.place_slot[place]] = -1
        found.used[PLACES] = 0
    return 0


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)  # type: ignore[untyped-decorator]
def _level(rules: Readable, words: Tokens, children: Children, found: Found, depth: int) -> bool:
    """Goes on from the places of one depth that wait; False where room is short.

    First all of them come to rest, so that of tokens as long as each other the least goes on, whatever the order.
    """
    last = -1
    while found.waiting[depth] >= 0:
        place = found.waiting[depth]
        found.waiting[depth] = found.place_older[place]
        found.place_older[place] = last
        last = place
        if not _rest(rules, words, found, place, depth):
            return False
    while last >= 0:
        if not _go_on(rules, words, children, found, last, depth):
            return False
        last = found.place_older[last]
    return True


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)  # type: ignore[untyped-decorator]
def _rest(rules: Readable, words: Tokens, found: Found, place: int, depth: int) -> bool:
    """Notes a rule that ends here: who called it goes on behind it."""
    walk, state, node = found.place_walk[place], found.place_state[place], found.place_node[place]
    if rules.final[state] and node != found.walk_node[walk]:
        known = found.used[PLACES]
        if _place(found, walk, _ENDED, node) < 0:
            return False
        if found.used[PLACES] > known:
            end = found.used[ENDS]
            if end == len(found.end_node):
                return False
            found.end_node[end], found.end_older[end] = node, found.walk_ends[walk]
            found.walk_ends[walk] = end
            found.used[ENDS] = end + 1
            link = found.walk_links[walk]
            while link >= 0:
                if not _come(rules, words, found, found.link_walk[link], found.link_back[link], node, depth):
                    return False
                link = found.link_older[link]
    return True


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)  # type: ignore[untyped-decorator]
def _go_on(rules: Readable, words: Tokens, children: Children, found: Found, place: int, depth: int) -> bool:
    """The calls and moves that follow a place, unless a shorter token, or one as short and less, led there too."""
    walk, state, node = found.place_walk[place], found.place_state[place], found.place_node[place]
    begun = found.walk_node[walk]
    if node != begun and words.string[node] >= 0:
        back = begun == 0 and state == found.walk_state[walk]
        if back or found.row_node[_row(found, walk, state, node)] != node:
            return True
    for k in range(rules.call_first[state], rules.call_first[state + 1]):
        callee = _walk(found, rules.entry[rules.call_rule[k]], node)
        if callee < 0 or not _begin(rules, words, found, callee, depth):
            return False
        if not _link(rules, words, found, walk, callee, rules.call_back[k]):
            return False
    first, past = children.first[node], children.first[node + 1]
    if rules.width[state] * _SEARCH >= past - first:
        led = -1  # where a token has led that is as short as those after it, and less
        for c in range(first, past):
            after = rules.after[state, rules.classes[children.byte[c]]]
            if after < 0 or (after == led and children.ends[c]):
                continue
            if not _come(rules, words, found, walk, after, children.node[c], depth + 1):
                return False
            if children.ends[c] and not rules.final[after]:
                led = after
        return True
    for m in range(rules.move_first[state], rules.move_first[state + 1]):
        of = rules.move_class[m]
        for b in range(rules.class_first[of], rules.class_first[of + 1]):
            c = first + np.searchsorted(children.byte[first:past], rules.class_bytes[b])
            same = c < past and children.byte[c] == rules.class_bytes[b]
            if same and not _come(rules, words, found, walk, rules.after[state, of], children.node[c], depth + 1):
                return False
    return True


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)  # type: ignore[untyped-decorator]
def _link(rules: Readable, words: Tokens, found: Found, walk: int, callee: int, back: int) -> bool:
    """A walk goes on in another, and behind its ends, the known ones first."""
    link = found.used[LINKS]
    if link == len(found.link_walk):
        return False
    found.link_walk[link], found.link_callee[link], found.link_back[link] = walk, callee, back
    found.link_older[link] = found.walk_links[callee]
    found.walk_links[callee] = link
    found.used[LINKS] = link + 1
    end = found.walk_ends[callee]
    while end >= 0:
        node = found.end_node[end]
        if not _come(rules, words, found, walk, back, node, words.depth[node]):
            return False
        end = found.end_older[end]
    return True


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)  # type: ignore[untyped-decorator]
def _begin(rules: Readable, words: Tokens, found: Found, walk: int, depth: int) -> bool:
    """Puts a walk that hasn't begun yet at its first place."""
    if found.walk_ends[walk] != _NOT_BEGUN:
        return True
    found.walk_ends[walk] = -1
    return bool(_come(rules, words, found, walk, found.walk_state[walk], found.walk_node[walk], depth))


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)  # type: ignore[untyped-decorator]
def _come(rules: Readable, words: Tokens, found: Found, walk: int, state: int, node: int, depth: int) -> bool:
    """A walk comes by a place, where a token may end; False where room is short.

    Mostly a shorter token led there, or one as short and less: then nothing is to be looked at but a rule that ends.
    """
    if words.string[node] >= 0 and node != found.walk_node[walk]:
        row = _row(found, walk, state, node)
        if row < 0:
            return False
        best = found.row_node[row]
        if (depth, node) < (words.depth[best], best):
            found.row_node[row] = node
        elif node != best and not rules.final[state]:
            return True
    known = found.used[PLACES]
    place = _place(found, walk, state, node)
    if place < 0:
        return False
    if found.used[PLACES] > known:
        found.place_older[place] = found.waiting[depth]
        found.waiting[depth] = place
    return True


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)  # type: ignore[untyped-decorator]
def _walk(found: Found, state: int, node: int) -> int:
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
    found.walk_links[walk], found.walk_ends[walk] = -1, _NOT_BEGUN
    found.used[WALKS] = walk + 1
    return int(walk)


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)  # type: ignore[untyped-decorator]
def _row(found: Found, walk: int, state: int, node: int) -> int:
    """The row of a walk and a state, made with this node if it is new; -1 where room is short."""
    slot = _mixed(walk, state, 1) & (len(found.row_slots) - 1)
    while found.row_slots[slot] >= 0:
        known = found.row_slots[slot]
        if found.row_walk[known] == walk and found.row_state[known] == state:
            return int(known)
        slot = (slot + 1) & (len(found.row_slots) - 1)
    row = found.used[ROWS]
    if row == len(found.row_walk):
        return -1
    found.row_slots[slot] = row
    found.row_walk[row], found.row_state[row], found.row_node[row] = walk, state, node
    found.used[ROWS] = row + 1
    return int(row)


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)  # type: ignore[untyped-decorator]
def _place(found: Found, walk: int, state: int, node: int) -> int:
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


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)  # type: ignore[untyped-decorator]
def _mixed(a: int, b: int, c: int) -> int:
    code = np.int64(a) * 0x1E3779B97F4A7C15 ^ np.int64(b) * 0x3C6EF372FE94F82B ^ np.int64(c) * 0x5851F42D4C957F2D
    return int(code ^ (code >> 31) & 0x7FFFFFFFF)
