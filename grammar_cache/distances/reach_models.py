"""Models of walks: what states that read nearly alike have in common is walked once.

Most states amid the names of an object's members go on by all bytes but one or two as the state of any other name does:
their *like*. A walk from there, by bytes alone and with no call, has a *model*: the walk from its like, which counts as
part of it. It goes on itself by the other bytes only. That is the same as to walk alone, since strings that begin with
other bytes meet nothing but in rows, and as long as

- the model owes nothing to the other bytes: where their tokens lead it, better ones led;
- no token leads the model to the walk's own state, from where a walk doesn't go on;
- no token of its own leads the walk to a row of the model sooner than the model got there.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.distances.reach_tables import (
    LINKS,
    NOBODY,
    NOT_BEGUN,
    ROWS,
    Found,
    Readable,
    known_row,
    rank,
    walk_of,
)
from grammar_cache.loops.array_types import Ints
from grammar_cache.loops.jit import jit, jit_inline
from grammar_cache.vocabulary.trie import Children

_USERS = 4
"""States that a model is made for, at least."""
_ALIKE = 16
"""Byte classes by which a state and its like go on alike, at least."""
_OWN = 4
"""Byte classes of which at most one may lead a state and its like to different states."""


@jit
def likes(rules: Readable, states: Ints) -> Ints:
    """The state that each of some states is like, or -1: the one that most bytes lead it to."""
    found, users = np.full(len(states), -1, np.int32), np.zeros(len(rules.final), np.int32)
    entries = np.zeros(len(rules.final), np.bool_)
    entries[rules.entry] = True  # walks from there are gone on from where they end, which those of a model aren't
    for i in range(0 if rules.closed else len(states)):
        state = states[i]
        if rules.width[state] >= _ALIKE and not entries[state]:
            like = _mostly(rules, state)
            if like != state and _nearly(rules, state, like):
                found[i] = like
                users[like] += 1
    for i in range(len(states)):
        if found[i] >= 0 and users[found[i]] < _USERS:
            found[i] = -1
    return found


@jit_inline
def _mostly(rules: Readable, state: int) -> int:
    """The state to which most classes lead, if that is more than half of them (Boyer and Moore's vote)."""
    best, votes = -1, 0
    for after in rules.after[state]:
        if votes == 0:
            best = after
        votes += 1 if after == best else -1
    return int(best)


@jit_inline
def _nearly(rules: Readable, state: int, like: int) -> bool:
    """Whether two states go on alike by most classes, and make no call."""
    alike = own = 0
    for c in range(rules.after.shape[1] if like >= 0 else 0):
        same = rules.after[state, c] == rules.after[like, c]
        alike += same and rules.after[state, c] >= 0
        own += not same
    calls = rules.call_first[state + 1] - rules.call_first[state]
    return bool(
        alike >= max(_ALIKE, _OWN * own) and calls == 0 and rules.call_first[like + 1] == rules.call_first[like]
    )


@jit_inline
def fits(rules: Readable, children: Children, found: Found, state: int, like: int, model: int) -> bool:
    """Whether the walk from its like, which is over, is the model of a state."""
    if known_row(found, model, state) >= 0:
        return False
    for c in range(rules.after.shape[1]):
        after = rules.after[like, c]
        if after >= 0 and after != rules.after[state, c] and rules.root_first[c] < rules.root_first[c + 1]:
            child = rules.root[rules.root_first[c]]
            if rules.final[after] or not children.ends[child]:
                return False
            if found.row_best[known_row(found, model, after)] >= rank(1, children.node[child]):
                return False
    return True


@jit_inline
def forget(found: Found, walk: int, rows: int, links: int) -> bool:
    """Gives rows and links of a walk, from these on, to one that nobody needs; False where room is short."""
    nobody = walk_of(found, 0, NOBODY)
    if nobody < 0:
        return False
    for row in range(rows, found.used[ROWS]):
        if found.row_walk[row] == walk:
            found.row_walk[row], found.seen_walk[found.row_state[row]] = nobody, -1
    for link in range(links, found.used[LINKS]):
        if found.link_walk[link] == walk:
            found.link_walk[link] = nobody
    found.walk_model[walk], found.walk_ends[walk], found.spoiled[0] = -1, NOT_BEGUN, False
    return True
