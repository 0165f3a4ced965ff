"""The compiled walks of `reach`, noted in `reach_tables`.

They are built without reference counts: counting those of all arrays at each call took twenty times as long as the
work. So they make no arrays; whoever calls them makes room.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.configurations.arena import FULL, STOPPED
from grammar_cache.distances.reach_models import fits, forget
from grammar_cache.distances.reach_tables import (
    ENDS,
    LEFT_OUT,
    LINKS,
    MODEL,
    NOBODY,
    NOT_BEGUN,
    NOT_ENDED,
    OVER,
    PLACES,
    ROWS,
    SOUGHT,
    WHOLE,
    WHOLE_LEFT_OUT,
    WHOLE_OVER,
    Found,
    Readable,
    known_row,
    mark_end,
    mark_left_out,
    place_of,
    rank,
    row_of,
    row_of_model,
    walk_of,
)
from grammar_cache.loops.array_types import Ints
from grammar_cache.loops.jit import jit_inline, jit_no_arrays
from grammar_cache.successors.token_kernels import TokenArrays
from grammar_cache.vocabulary.trie import Children

_ENDED = -1
"""Mark in place of a state: the walk's rule is over here."""
_SEARCH = 8
"""Children that are looked through in the time that finding one takes."""


@jit_no_arrays
def walked(rules: Readable, words: TokenArrays, children: Children, states: Ints, like: Ints, found: Found) -> int:
    """All walks that these states need: 0, FULL or STOPPED. One may be `like` that of another state (-1: of none)."""
    for state in states:
        if walk_of(found, state, 0) < 0:
            return FULL
    number = 0
    while number < len(states):
        if rules.stop[0]:
            return STOPPED
        walk = number
        if like[number] >= 0 and found.walk_ends[number] == NOT_BEGUN:
            model = walk_of(found, like[number], MODEL)
            if model < 0:
                return FULL
            if found.walk_ends[model] == NOT_BEGUN:
                walk = model
            elif fits(rules, children, found, states[number], like[number], model):
                found.walk_model[number] = model
        rows, links = found.used[ROWS], found.used[LINKS]
        if not _walk(rules, words, children, found, walk):
            return FULL
        if walk == number:
            for row in range(rows, found.used[ROWS]):
                found.row_slots[found.row_slot[row]] = -1
            found.used[SOUGHT] -= found.used[ROWS] - rows
        if found.spoiled[0]:
            like[number] = -1
            if not forget(found, number, rows, links):
                return FULL
        elif walk == number:
            number += 1
    return 0


@jit_inline
def _walk(rules: Readable, words: TokenArrays, children: Children, found: Found, walk: int) -> bool:
    """Makes a walk, and all that it needs, unless it is made already; False where room is short.

    Where nobody else needs it, the walk is over once a token ends its rule: no other costs less. So it is not for
    callees, models and what has one, and lower bounds, which look at all.
    """
    alone = not (rules.closed or rules.is_entry[found.walk_state[walk]])
    alone = alone and found.walk_node[walk] == 0 and found.walk_model[walk] < 0
    found.alone[0], found.ended[0] = walk if alone else NOBODY, NOT_ENDED
    if not _begin(rules, found, walk, 0):
        return False
    depth = 0
    while depth <= found.deepest[0]:
        over = found.alone[0] == walk and depth >= found.ended[0]
        while found.waiting[depth] >= 0:
            if depth > found.ended[0] and over:
                found.waiting[depth] = -1
            elif not _level(rules, words, children, found, depth, not over):
                return False
        depth += 1
    for place in range(found.used[PLACES]):
        found.place_slots[found.place_slot[place]] = -1
    found.used[PLACES] = 0
    found.deepest[0] = 0
    return True


@jit_inline
def _level(rules: Readable, words: TokenArrays, children: Children, found: Found, depth: int, further: bool) -> bool:
    """Goes on from the places of one depth that wait, to a greater depth if `further`; False where room is short.

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
    while last >= 0 and further:
        if not _go_on(rules, words, children, found, last, depth):
            return False
        last = found.place_older[last]
    return True


@jit_inline
def _rest(rules: Readable, words: TokenArrays, found: Found, place: int, depth: int) -> bool:
    """Notes a rule that ends here: who called it goes on behind it."""
    walk, state, node = found.place_walk[place], found.place_state[place], found.place_node[place]
    if rules.final[state] and node != found.walk_node[walk]:
        known = found.used[PLACES]
        if place_of(found, walk, _ENDED, node) < 0:
            return False
        if found.used[PLACES] > known:
            if rules.closed and words.skip[node] > node + 1:
                found.walk_overhang[walk] |= OVER | WHOLE_OVER if rules.within[node] else OVER
            end = found.used[ENDS]
            if end == len(found.end_node):
                return False
            found.end_node[end], found.end_older[end] = node, found.walk_ends[walk]
            found.walk_ends[walk] = end
            found.used[ENDS] = end + 1
            link = found.walk_links[walk]
            while link >= 0:
                back, ends = found.link_back[link], words.string[node] >= 0
                if not _come(rules, found, found.link_walk[link], back, node, depth, ends):
                    return False
                link = found.link_older[link]
    return True


@jit_inline
def _go_on(rules: Readable, words: TokenArrays, children: Children, found: Found, place: int, depth: int) -> bool:
    """The calls and moves that follow a place, unless a shorter token, or one as short and less, led there too."""
    walk, state, node = found.place_walk[place], found.place_state[place], found.place_node[place]
    begun = found.walk_node[walk]
    if node != begun and words.string[node] >= 0 and not rules.narrow[state]:
        row = row_of(found, walk, state, depth, node)
        if begun == 0 and state == found.walk_state[walk]:
            mark_left_out(rules, found, row, node)
            return True
        if found.row_best[row] != rank(depth, node):
            return True
    for k in range(rules.call_first[state], rules.call_first[state + 1]):
        callee = walk_of(found, rules.entry[rules.call_rule[k]], node)
        if callee < 0 or not _begin(rules, found, callee, depth):
            return False
        if not _link(rules, words, found, walk, callee, rules.call_back[k]):
            return False
    if node == 0:
        return bool(_from_root(rules, children, found, walk, state))
    first, past = children.first[node], children.first[node + 1]
    if rules.width[state] * _SEARCH >= past - first:
        led = -1  # where a token has led that is as short as those after it, and less
        for c in range(first, past):
            after = rules.after[state, rules.classes[children.byte[c]]]
            if after < 0:
                continue
            if after == led and children.ends[c]:
                if not rules.closed:
                    continue
                row = row_of(found, walk, after, depth, node)
                mark_end(rules, found, row, children.node[c])
                mark_left_out(rules, found, row, children.node[c])
                continue
            if not _come(rules, found, walk, after, children.node[c], depth + 1, children.ends[c]):
                return False
            if children.ends[c] and not rules.final[after] and not rules.narrow[after]:
                led = after
        return True
    for of in range(rules.after.shape[1]):
        for b in range(rules.class_first[of], rules.class_first[of + 1] if rules.after[state, of] >= 0 else 0):
            c = first + np.searchsorted(children.byte[first:past], rules.class_bytes[b])
            if c == past or children.byte[c] != rules.class_bytes[b]:
                continue
            if not _come(rules, found, walk, rules.after[state, of], children.node[c], depth + 1, children.ends[c]):
                return False
    return True


@jit_inline
def _from_root(rules: Readable, children: Children, found: Found, walk: int, state: int) -> bool:
    """The moves from a place at the root, where the least token of a class stands for the others."""
    model = found.walk_model[walk]
    for of in range(rules.after.shape[1]):
        after = rules.after[state, of]
        if after < 0 or (model >= 0 and after == rules.after[found.walk_state[model], of]):
            continue
        for b in range(rules.root_first[of], rules.root_first[of + 1]):
            c = rules.root[b]
            if not _come(rules, found, walk, after, children.node[c], 1, children.ends[c]):
                return False
            if children.ends[c] and not rules.final[after] and not rules.narrow[after]:
                if b + 1 < rules.root_first[of + 1]:
                    found.row_mark[row_of(found, walk, after, 1, children.node[c])] = WHOLE | LEFT_OUT | WHOLE_LEFT_OUT
                break
    return True


@jit_inline
def _link(rules: Readable, words: TokenArrays, found: Found, walk: int, callee: int, back: int) -> bool:
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
        if not _come(rules, found, walk, back, node, words.depth[node], words.string[node] >= 0):
            return False
        end = found.end_older[end]
    return True


@jit_inline
def _begin(rules: Readable, found: Found, walk: int, depth: int) -> bool:
    """Puts a walk that hasn't begun yet at its first place."""
    if found.walk_ends[walk] != NOT_BEGUN:
        return True
    if walk != found.alone[0]:
        found.alone[0] = NOBODY  # one that others need is under way too
    found.walk_ends[walk] = -1
    return bool(_come(rules, found, walk, found.walk_state[walk], max(0, found.walk_node[walk]), depth, False))


@jit_inline
def _come(rules: Readable, found: Found, walk: int, state: int, node: int, depth: int, ends: bool) -> bool:
    """A walk comes by a place, where a token may have its end; False where room is short.

    Mostly a shorter token led there, or one as short and less: then nothing is to be looked at but a rule that ends.
    """
    if ends and node != found.walk_node[walk]:
        row = row_of(found, walk, state, depth, node)
        if row < 0:
            return False
        best = rank(depth, node)
        mark_end(rules, found, row, node)
        if rules.final[state] and walk == found.alone[0]:
            found.ended[0] = min(depth, found.ended[0])
        if rules.narrow[state]:
            found.row_best[row] = min(best, found.row_best[row])
        elif best < found.row_best[row]:
            of_model = row_of_model(found, walk, state)
            found.spoiled[0] |= of_model >= 0 and best < found.row_best[of_model]
            mark_left_out(rules, found, row, found.row_best[row] & 0xFFFFFFFF)
            found.row_best[row] = best
        elif best != found.row_best[row]:
            mark_left_out(rules, found, row, node)
            if not rules.final[state]:
                return True
    elif rules.closed and not (rules.final[state] or rules.narrow[state]) and node != found.walk_node[walk]:
        row = known_row(found, walk, state)
        if row >= 0:
            mark_left_out(rules, found, row, node)
            return True
    known = found.used[PLACES]
    place = place_of(found, walk, state, node)
    if place < 0:
        return False
    if found.used[PLACES] > known:
        found.place_older[place] = found.waiting[depth]
        found.waiting[depth] = place
        found.deepest[0] = max(found.deepest[0], depth)
    return True
