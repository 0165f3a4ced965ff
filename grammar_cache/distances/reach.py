"""Reach of one token from each state, found rule by rule: no stack is made, and what rules share is walked once.

A *walk* begins in a state, at a node of the vocabulary's trie: in a state that costs are wanted of, at the root; or in
the entry of a rule that is called in the middle of a token, at the node that the token has come to. Every walk has its
`rows`, the states of its own rule in which tokens end; its `links`, the rules that it calls and where it goes on behind
them; and its ends, the nodes at which its rule is over. A walk that several others need is made once: they go on from
its ends. So left recursion needs no care either (Scott and Johnstone, "GLL Parsing", 2010).

Nothing is looked at below a token that leads its walk where a shorter token led before, or one as short and less: what
follows is found from there. That may leave out a cheaper token, never one that costs rely on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.arena import FULL, STOPPED
from grammar_cache.distances.reach_kernels import walked
from grammar_cache.distances.reach_models import likes
from grammar_cache.distances.reach_tables import ENDS, LINKS, ROWS, TABLES, WALKS, Found, Readable
from grammar_cache.errors import LimitExceeded
from grammar_cache.interrupt import Interrupt
from grammar_cache.loops.array_types import Flags, Ints, Longs, Octets
from grammar_cache.loops.jit import jit
from grammar_cache.network.network import Network
from grammar_cache.successors.token_kernels import TokenArrays
from grammar_cache.vocabulary.trie import Children

_ENDS_PER_WALK = 8
"""Most walks end at far fewer nodes, and those that end at more are few."""
_ROOM = {"walks": (11, 8), "rows": (12, 16), "links": (14, 32), "ends": (14, 32), "places": (12, 0), "sought": (12, 1)}
"""Binary digits of the room that tables begin with at least, and rows in it for a state: few grammars need more.
Going round again takes longer than clearing more room, and that longer than most walks. Places are those of a walk
under way: they don't grow with the grammar. Rows that are sought are those of models too.
"""
_CROWDED = -1
"""Instead of a status: there are more walks, or ends, than are allowed."""
_NARROW = 12
"""Bytes that a state reads at most, and no calls, for walks over suffixes to leave nothing out there. So those over
dates and digits go on to the ends of tokens: a thousand strings, where letters have hundreds of thousands.
"""
_NONE = np.empty(0, np.bool_)


class Reach(NamedTuple):
    """Walks by number, the first ones from the states that were asked for, in their order.

    Row i: tokens of walk `row_walk[i]`, of which `row_string[i]` is the shortest, end in `row_state[i]`. Link i: tokens
    of walk `link_walk[i]` go on in walk `link_callee[i]`, and behind it in state `link_back[i]`. What walk `model[w]`
    has, walk w has too (-1: it has no model).
    """

    walks: int
    row_walk: Ints
    row_state: Ints
    row_string: Ints
    row_mark: NDArray[np.uint8]
    link_walk: Ints
    link_callee: Ints
    link_back: Ints
    model: Ints
    overhang: NDArray[np.uint8]


class Readings(NamedTuple):
    """Strings that walks read. `closed`: all suffixes of tokens; by node of their trie, whether its string is a `whole`
    token, and whether longer ones are that begin with it.

    Walks over them mark what they leave out: more than others do, and nothing in states that read few bytes.
    """

    words: TokenArrays
    children: Children
    closed: bool = False
    whole: Flags = _NONE
    within: Flags = _NONE


def reach(network: Network, readings: Readings, states: Ints, limit: int, interrupt: Interrupt) -> Reach:
    """Reach of all strings from these states: it depends on nothing but what can be read from there.

    Raises LimitExceeded(configurations) for more than so many walks, or ends out of all proportion; Interrupted.
    """
    rules = _rules(network, readings, interrupt)
    room = [1 << max(least, (each * len(states)).bit_length()) for least, each in map(_ROOM.__getitem__, TABLES)]
    status, found = _walked(rules, readings, states, likes(rules, states), np.array(room), limit)
    if status == _CROWDED:
        raise LimitExceeded(f"more than {limit} configurations", limit="configurations")
    if status == STOPPED:
        interrupt.check()  # raises: what was set stays set
    return found


def _rules(network: Network, readings: Readings, interrupt: Interrupt) -> Readable:
    s = network.states
    return _readable(
        network.classes, network.class_count, s.move_first, s.move_low, s.move_high, s.move_to, s.call_first,
        s.call_rule, s.call_back, s.final, np.array(network.entry, np.int32), readings, interrupt.flag,
    )  # fmt: skip


@jit
def _readable(
    classes: Octets,
    class_count: int,
    move_first: Ints,
    move_low: Octets,
    move_high: Octets,
    move_to: Ints,
    call_first: Ints,
    call_rule: Ints,
    call_back: Ints,
    final: Flags,
    entry: Ints,
    readings: Readings,
    stop: Octets,
) -> Readable:
    byte_first, in_order, root_first, root = _by_class(classes, class_count, readings.children)
    after, width = _by_state(classes, class_count, move_first, move_low, move_high, move_to)
    is_entry, narrow = np.zeros(len(final), np.bool_), np.zeros(len(final), np.bool_)
    for rule in range(len(entry)):
        is_entry[entry[rule]] = True
    for state in range(len(final) if readings.closed else 0):
        narrow[state] = width[state] <= _NARROW and call_first[state] == call_first[state + 1]
    return Readable(
        classes, byte_first, in_order, root_first, root, after, width, call_first, call_rule, call_back, final, entry,
        is_entry, readings.closed, narrow, readings.whole, readings.within, stop,
    )  # fmt: skip


@jit
def _walked(
    rules: Readable, readings: Readings, states: Ints, like: Ints, room: Longs, limit: int
) -> tuple[int, Reach]:
    """Reach of the states, and 0; or else why there is none: _CROWDED or STOPPED. `room`: of each table at first."""
    while True:
        found = _empty(room, readings.words.longest, len(rules.final))
        status = walked(rules, readings.words, readings.children, states, like, found)
        if found.used[WALKS] > limit or found.used[ENDS] > _ENDS_PER_WALK * limit:
            status = _CROWDED
        if status != FULL:
            return status, _reach(found, readings.words)
        for table in range(len(room)):
            if 2 * found.used[table] > room[table]:  # others that are as good as full too: not to go round for each
                room[table] *= 4


@jit
def _by_class(classes: NDArray[np.uint8], count: int, children: Children) -> tuple[Ints, NDArray[np.uint8], Ints, Ints]:
    """Bytes, and children of the root, by class; see `Readable`."""
    byte_first, root_first = np.zeros(count + 1, np.int32), np.zeros(count + 1, np.int32)
    in_order, root = np.empty(256, np.uint8), np.empty(children.first[1], np.int32)
    for byte in range(256):
        byte_first[classes[byte] + 1] += 1
    for c in range(len(root)):
        root_first[classes[children.byte[c]] + 1] += 1
    for of in range(count):
        byte_first[of + 1] += byte_first[of]
        root_first[of + 1] += root_first[of]
    at = byte_first.copy()
    for byte in range(256):
        in_order[at[classes[byte]]] = byte
        at[classes[byte]] += 1
    at = root_first.copy()
    for ends in (False, True):
        for c in range(len(root)):
            if children.ends[c] == ends:
                root[at[classes[children.byte[c]]]] = c
                at[classes[children.byte[c]]] += 1
    return byte_first, in_order, root_first, root


@jit
def _by_state(
    classes: NDArray[np.uint8], count: int, move_first: Ints, move_low: Octets, move_high: Octets, move_to: Ints
) -> tuple[Ints, Ints]:
    """Next state of each state by class, or -1, and how many bytes each state reads."""
    sizes = np.bincount(classes, minlength=count)
    after, width = np.full((len(move_first) - 1, count), -1, np.int32), np.zeros(len(move_first) - 1, np.int32)
    for state in range(len(width)):
        for m in range(move_first[state], move_first[state + 1]):
            for of in range(move_low[m], np.int64(move_high[m]) + 1):
                after[state, of] = move_to[m]
                width[state] += sizes[of]
    return after, width


@jit
def _empty(room: Longs, longest: int, states: int) -> Found:
    walks, rows, links, ends, places, sought = room
    return Found(
        np.zeros(len(room), np.int64),
        _column(walks), _column(walks), _column(walks), _column(walks), _column(walks),
        np.empty(walks, np.uint8), _free(2 * walks),
        _column(rows), _column(rows), np.empty(rows, np.int64), np.empty(rows, np.uint8), _column(rows),
        _free(2 * sought), _free(states), _column(states),
        _column(links), _column(links), _column(links), _column(links), _column(ends), _column(ends),
        _column(places), _column(places), _column(places), _column(places), _column(places), _free(2 * places),
        _free(longest + 1), np.zeros(1, np.int32), np.zeros(1, np.bool_), np.zeros(1, np.int32), np.zeros(1, np.int32),
    )  # fmt: skip


@jit
def _column(size: int) -> Ints:
    return np.empty(size, np.int32)


@jit
def _free(size: int) -> Ints:
    return np.full(size, -1, np.int32)


@jit
def _reach(found: Found, words: TokenArrays) -> Reach:
    rows, links, walks = found.used[ROWS], found.used[LINKS], found.used[WALKS]
    strings = np.empty(rows, np.int32)
    for row in range(rows):
        strings[row] = words.string[found.row_best[row] & 0xFFFFFFFF]
    return Reach(
        walks,
        found.row_walk[:rows],
        found.row_state[:rows],
        strings,
        found.row_mark[:rows],
        found.link_walk[:links],
        found.link_callee[:links],
        found.link_back[:links],
        found.walk_model[:walks],
        found.walk_overhang[:walks],
    )
