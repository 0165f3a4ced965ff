"""The interner: every configuration that a text can reach, as one integer.

A *node* stands for what may follow a rule: a set of edges (return state, parent node), hash-consed. A *configuration*
is a set of items (state, node) plus whether the text so far is accepted, hash-consed too. So the automaton with its
stacks becomes a deterministic automaton over integers, built where texts lead, and equal futures share a number.

Nodes are immutable: a called rule always reads a byte (calls of nullable rules may be skipped in the network), so
no node is popped at the position where it was made. Rules that call each other before reading a byte form a
component, whose nodes refer to each other and are interned together, by the edges that lead out of the component.

Compiled loops make new ones as they meet them (see `step_kernels`): what such a loop returns below 0 is for `outcome`,
and then it is called again. Exploring ends at the limit; a text that was chosen goes on beyond it, by one configuration
a byte (`step_reserved`). This module knows bytes and states; tokens and distances come later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from grammar_cache.configurations import row_kernels, step_kernels
from grammar_cache.configurations.arena import (
    ARENA,
    BOTTOM,
    CONFIGURATIONS,
    CRAMPED,
    CROWDED,
    DEAD,
    EDGES,
    FULL,
    ITEMS,
    NETWORK,
    NODES,
    PATTERN,
    PATTERNS,
    ROW_HEAD,
    ROWS,
    WIDE,
    WIDEST,
    Arena,
    NetworkArrays,
    alone,
    breadths,
    configuration_of,
    node_of,
)
from grammar_cache.configurations.one_byte_kernels import after_byte_alone
from grammar_cache.configurations.room import Room, empty, grown, held_bytes, trimmed, widened
from grammar_cache.errors import LimitExceeded
from grammar_cache.interrupt import Interrupt
from grammar_cache.loops.array_types import Ints, Longs
from grammar_cache.loops.jit import address_of
from grammar_cache.network.network import Network

Edge: TypeAlias = tuple[int, int]
Item: TypeAlias = tuple[int, int]

ROOT = 0
"""The node below everything: popping it accepts."""

_PATTERNS = 16
"""Patterns of rows that there is room for at first."""

UNLIMITED = (1 << 31) - 1
"""Configurations that an int32 can number."""


class Configurations:
    """Configurations of a network. Numbers ascend as they are made."""

    def __init__(
        self,
        network: Network,
        limit: int,
        interrupt: Interrupt | None = None,
        room: int = 256,
        widest: int = UNLIMITED,
    ) -> None:
        """`room`: for so many before anything has to grow. Where reading a byte would cost more than
        `widest`, in items and edges, or those bytes of a token together that cost more than a part of that each,
        nothing is followed but texts that were chosen. Raises LimitExceeded(configurations).
        """
        self.network = network
        self.limit = limit
        self._interrupt = interrupt or Interrupt()
        rules = NetworkArrays.of(network, limit, widest, self._interrupt.flag)
        begun = Room(room, -(-room // 4), 4 * room, room, 4 * room, _PATTERNS)
        arena = empty(network.class_count, len(network.entry), begun)
        rules = rules._replace(
            expand=address_of(row_kernels.expand),
            after_byte_alone=address_of(after_byte_alone),
        )
        self._arena, self._rules = ARENA.packed(arena), NETWORK.packed(rules)
        self._endless_rules = NETWORK.packed(rules._replace(widest=UNLIMITED))
        self.network_block, self.arena_block = self._rules.block, self._arena.block
        self.blocks = self.network_block, self.arena_block
        """Blocks that compiled loops take first: of the network, and of the arena, whose arrays may become others."""
        node_of(self.arena, np.full(1, BOTTOM, np.int64))
        self.start = self._begin()

    @property
    def arena(self) -> Arena:
        """Nodes and configurations: other arrays once there is more room."""
        return self._arena.values

    @arena.setter
    def arena(self, arena: Arena) -> None:
        self._arena.replace(arena)

    @property
    def rules(self) -> NetworkArrays:
        """The network, with the limits that stand."""
        return self._rules.values

    @rules.setter
    def rules(self, rules: NetworkArrays) -> None:
        self._rules.replace(rules)
        self._endless_rules.replace(rules._replace(widest=UNLIMITED))

    @property
    def count(self) -> int:
        return int(self.arena.used[CONFIGURATIONS])

    @property
    def full(self) -> bool:
        """Whether there is no room for new ones but beyond the limit."""
        return self.count >= self.limit

    @property
    def size_bytes(self) -> int:
        """Bytes in use; as much again may be there for what comes."""
        used = self.arena.used
        rows = 4 * int(used[ROWS]) + int(used[PATTERNS]) * self.network.class_count
        return 8 * int(used[ITEMS] + used[EDGES]) + rows + 80 * (self.count + self.node_count)

    @property
    def held_bytes(self) -> int:
        """Bytes of all arrays, those of the network among them, with the room that isn't in use, unless reserved."""
        return held_bytes(self.arena) + sum(part.nbytes for part in self.rules if isinstance(part, np.ndarray))

    @property
    def widest(self) -> int:
        """The most that reading one byte has cost, in items and edges; above the limit of that where any would."""
        return int(self.arena.used[WIDEST])

    @property
    def cut(self) -> bool:
        """Whether reading a byte has cost so much that tokens may lead nowhere for their cost."""
        return self.widest > self.rules.dear

    @property
    def node_count(self) -> int:
        return int(self.arena.used[NODES])

    def accepts(self, configuration: int) -> bool:
        """Whether the text that led here is in the language."""
        return bool(self.arena.accepts[configuration])

    def items(self, configuration: int) -> list[Item]:
        """Pairs (state, node), ascending."""
        first = self.arena.item_first
        return _pairs(self.arena.items[first[configuration] : first[configuration + 1]])

    def first_state(self, configuration: int) -> tuple[int, int]:
        """The state of the first item, -1 if there is none, and how many items there are."""
        arena = self._arena.values
        first, past = arena.item_first.item(configuration), arena.item_first.item(configuration + 1)
        return arena.items.item(first) >> 32 if first < past else -1, past - first

    def edges(self, node: int) -> list[Edge]:
        """Pairs (return state, parent), ascending; (-1, -1) at the bottom."""
        first = self.arena.edge_first
        return _pairs(self.arena.edges[first[node] : first[node + 1]])

    def ends(self, configuration: int) -> bool:
        """Whether nothing can follow."""
        first = self.arena.item_first
        return bool(first[configuration] == first[configuration + 1])

    def breadths(self, configurations: Ints) -> Longs:
        """Items of each, and edges that they can pop: what a step from there has to look at."""
        found = np.empty(len(configurations), np.int64)
        breadths(self.arena_block, configurations, found)
        return found

    def cost(self, configuration: int) -> int:
        """Items and edges that reading a byte from there costs. Raises LimitExceeded(configurations), Interrupted."""
        self.make_row(configuration)
        return int(self.arena.costs[configuration])

    def is_dear(self, configuration: int) -> bool:
        """Whether a byte from there would cost too much. Raises LimitExceeded(configurations), Interrupted."""
        self.make_row(configuration)
        return int(self.arena.row[configuration]) == 0

    def pops(self, node: int, most: int) -> int:
        """Items that the end of a rule whose node it is leads to, counted up to where there are more than `most`."""
        while (count := step_kernels.pops(*self.blocks, node, most)) < 0:
            self.outcome(count)
        return int(count)

    def at_end(self, state: int) -> bool:
        """Whether the rule of an item may end here: then what it returns to is an item of its own."""
        return bool(self.rules.final[state])

    def described(self, state: int) -> bytes:
        """The content of an item's state: the same in every process."""
        return state.to_bytes(4, "big")

    def of_items(self, items: Iterable[Item], *, accepting: bool, reserved: bool = False) -> int:
        """The configuration of some items of another one, nothing added. Raises LimitExceeded(configurations).

        `reserved`: there is room for it beyond the limit.
        """
        keys = np.array(sorted(state << 32 | node for state, node in items), np.int64)
        limit = UNLIMITED if reserved else self.limit
        while (number := configuration_of(self.arena, keys, accepting, limit)) < 0:
            self.outcome(number)
        return int(number)

    def over(self, state: int, node: int) -> int:
        """The node of a return state over another node."""
        while (number := node_of(self.arena, np.array([state << 32 | node], np.int64))) < 0:
            self.outcome(number)
        return int(number)

    def alone(self, states: Ints | Longs, node: int) -> Ints:
        """The configuration of each state over a node, nothing else beside it. Raises LimitExceeded(configurations)."""
        found = np.empty(len(states), np.int32)
        while (status := alone(self.arena_block, states, node, self.limit, found)) < 0:
            self.outcome(status)
        return found

    def step(self, configuration: int, byte: int) -> int:
        """The configuration after a byte, or DEAD. Raises LimitExceeded(configurations), Interrupted."""
        return int(self.row(configuration)[self.network.classes[byte]])

    def step_reserved(self, configuration: int, byte: int) -> int:
        """The configuration after a byte, or DEAD, made alone, without the rest of its row: there is always room for
        it, beyond the limit. Raises Interrupted.
        """
        c = int(self.network.classes[byte])
        if self.arena.row[configuration] > 0:
            return int(self.row(configuration)[c])
        items = _moved(self.rules, self._lean_expansion(configuration), c)
        if not len(items):
            return DEAD
        rules = self.rules._replace(limit=UNLIMITED, widest=UNLIMITED)
        while (number := step_kernels.closed(rules, self.arena, items, False)) < 0:
            self.outcome(number)
        return int(number)

    def make_row(self, configuration: int) -> None:
        """Finds out what follows a configuration. Raises LimitExceeded(configurations), Interrupted."""
        while self.arena.row[configuration] < 0:
            status = row_kernels.make_row(*self.blocks, configuration)
            if status < 0:
                self.outcome(status)

    def row(self, configuration: int) -> Ints:
        """The configurations after it by byte class, or DEAD. Raises LimitExceeded(configurations), Interrupted."""
        self.make_row(configuration)
        row, arena = int(self.arena.row[configuration]), self.arena
        found: Ints = arena.rows[row + ROW_HEAD :].take(arena.patterns[arena.rows[row + PATTERN]])
        return found

    def popped(self, node: int) -> int:
        """The configuration behind the end of a rule whose node it is, text that may end there not counted."""
        while (number := step_kernels.popped(self._endless_rules.block, self.arena_block, node)) < 0:
            self.outcome(number)
        return int(number)

    def expansion(self, configuration: int) -> list[Item]:
        """The items with the entries of all rules that they may call before the next byte."""
        rules = self._endless_rules.values
        while True:
            size = step_kernels.expansion(rules, self.arena, configuration)
            if size >= 0:
                return _pairs(self.arena.scratch[step_kernels.READING, :size])
            self.outcome(size)

    def _lean_expansion(self, configuration: int) -> Longs:
        """The items as in `expansion`, for one byte that is read alone. Where finding them would cost too much, a call
        at the end of a rule is as any other: to hand on all that callers return to takes longest.
        """
        rules = self.rules
        while (size := step_kernels.expansion(rules, self.arena, configuration)) < 0:
            if size == WIDE:
                rules = rules._replace(widest=UNLIMITED, tail=np.zeros_like(rules.tail), lean=True)
            else:
                self.outcome(size)
        found: Longs = self.arena.scratch[step_kernels.READING, :size].copy()
        return found

    def trim(self, kept: Iterable[int]) -> None:
        """Gives back unused room, and what follows all configurations but those that are `kept`, until it is asked for
        again. Numbers stay.
        """
        self.arena = trimmed(self.arena, np.fromiter(kept, np.int32))

    def outcome(self, status: int) -> None:
        """Handles a status that is no configuration: grows, or raises LimitExceeded or Interrupted."""
        if status == FULL:
            self.arena = grown(self.arena)
        elif status == CRAMPED:
            self.arena = widened(self.arena)
        elif status == CROWDED:
            raise LimitExceeded(f"more than {self.limit} configurations", limit="configurations")
        else:
            self._interrupt.check()

    def _begin(self) -> int:
        item = np.full(1, np.int64(self.network.entry[0]) << 32 | ROOT, np.int64)
        rules = self._endless_rules.values
        while (number := step_kernels.closed(rules, self.arena, item, self.network.nullable)) < 0:
            self.outcome(number)
        return int(number)


def _moved(rules: NetworkArrays, items: Longs, of: int) -> Longs:
    """Items that a byte of a class leads to, from items that read it."""
    states, nodes = items >> 32, items & 0xFFFFFFFF
    first, counts = rules.move_first[states], np.diff(rules.move_first)[states]
    which = np.repeat(np.arange(len(items)), counts)
    moves = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(len(which))
    reads = (rules.move_low[moves] <= of) & (of <= rules.move_high[moves])
    moved: Longs = rules.move_to[moves[reads]].astype(np.int64) << 32 | nodes[which[reads]]
    return moved


def _pairs(keys: Longs) -> list[tuple[int, int]]:
    numbers: list[int] = keys.tolist()
    return [(key >> 32, key & 0xFFFFFFFF if key >= 0 else -1) for key in numbers]


__all__ = ["DEAD", "ROOT", "Configurations", "Edge", "Item"]
