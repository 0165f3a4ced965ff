"""What one token reaches from each state, found rule by rule: no stack is made, and what rules share is walked once.

A *walk* begins in a state, at a node of the vocabulary's trie: in a state that costs are wanted of, at the root; or in
the entry of a rule that is called in the middle of a token, at the node that the token has come to. Of every walk
there are its `rows`, the states of its own rule in which tokens end; its `links`, the rules that it calls and where it
goes on behind them; and its ends, the nodes at which its rule is over. A walk that several others need is made once:
they go on from its ends. So left recursion needs no care either (Scott and Johnstone, "GLL Parsing", 2010).

Nothing is looked at below a token that leads its walk where a shorter token led before, or one as short and less: what
follows is found from there. That may leave out a cheaper token, never one that costs rely on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.arena import Ints
from grammar_cache.errors import LimitExceeded
from grammar_cache.interrupt import Interrupt
from grammar_cache.network import Network
from grammar_cache.rule_walks import ENDS, LINKS, ROWS, TABLES, WALKS, Found, Readable, walked
from grammar_cache.trie import Children
from grammar_cache.walk import Tokens

_ENDS_PER_WALK = 8
"""Most walks end at far fewer nodes, and those that end at more are few."""
_ROOM = 14
"""Binary digits of the room that all tables begin with: few grammars need more, and to go round again takes longer."""


class Reach(NamedTuple):
    """Walks by number, the first ones from the states that were asked for, in their order.

    Row i: tokens of walk `row_walk[i]`, of which `row_string[i]` is the shortest, end in `row_state[i]`. Link i: tokens
    of walk `link_walk[i]` go on in walk `link_callee[i]`, and behind it in state `link_back[i]`.
    """

    walks: int
    row_walk: Ints
    row_state: Ints
    row_string: Ints
    link_walk: Ints
    link_callee: Ints
    link_back: Ints


def reach(network: Network, words: Tokens, children: Children, states: Ints, limit: int, interrupt: Interrupt) -> Reach:
    """What tokens reach from these states: it depends on nothing but what can be read from there.

    Raises LimitExceeded(configurations) for more than so many walks, or ends out of all proportion; Interrupted.
    """
    rules = _rules(network, interrupt)
    room = dict.fromkeys(TABLES, 1 << max(_ROOM, (32 * len(states)).bit_length()))
    while True:
        found = _empty(room, words.longest)
        status = walked(rules, words, children, states, found)
        if found.used[WALKS] > limit or found.used[ENDS] > _ENDS_PER_WALK * limit:
            raise LimitExceeded(f"more than {limit} configurations", limit="configurations")
        if status == 0:
            return _reach(found, words)
        interrupt.check()
        for table, count in zip(TABLES, found.used.tolist(), strict=True):
            if 2 * count > room[table]:  # others that are as good as full too, so as not to go round once for each
                room[table] *= 4


def _rules(network: Network, interrupt: Interrupt) -> Readable:
    s = network.states
    after = np.full((s.count, network.class_count), -1, np.int32)
    after[np.repeat(np.arange(s.count), np.diff(s.move_first)), s.move_class] = s.move_to
    sizes = np.bincount(network.classes, minlength=network.class_count)
    return Readable(
        network.classes,
        _sums(sizes),
        np.argsort(network.classes, kind="stable").astype(np.uint8),
        after,
        np.diff(_sums(sizes[s.move_class])[s.move_first]),
        s.move_first,
        s.move_class,
        s.call_first,
        s.call_rule,
        s.call_back,
        s.final,
        np.array(network.entry, np.int32),
        interrupt.flag,
    )


def _sums(sizes: NDArray[np.int64]) -> Ints:
    """Where each begins, and where the last one ends, if they stand in a row."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)


def _empty(room: Mapping[str, int], longest: int) -> Found:
    def columns(table: str, count: int) -> list[Ints]:
        return [np.empty(room[table], np.int32) for _ in range(count)]

    def slots(table: str) -> Ints:
        return np.full(2 * room[table], -1, np.int32)

    return Found._make(
        [
            np.zeros(len(TABLES), np.int64),
            *(*columns("walks", 4), slots("walks")),
            *(*columns("rows", 3), slots("rows")),
            *columns("links", 4),
            *columns("ends", 2),
            *(*columns("places", 5), slots("places")),
            np.full(longest + 1, -1, np.int32),
        ]
    )


def _reach(found: Found, words: Tokens) -> Reach:
    rows, links = slice(found.used[ROWS]), slice(found.used[LINKS])
    return Reach(
        int(found.used[WALKS]),
        found.row_walk[rows],
        found.row_state[rows],
        words.string[found.row_node[rows]],
        found.link_walk[links],
        found.link_callee[links],
        found.link_back[links],
    )
