"""Room in an arena: at first, and more where it is short."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.array_types import Ints, Longs
from grammar_cache.configurations.arena import (
    CONFIGURATIONS,
    DEAD,
    EDGES,
    GROUPED,
    ITEMS,
    NODES,
    ROWS,
    SCRATCH_ROWS,
    WIDEST,
    Arena,
)
from grammar_cache.jit import jit

_SCRATCH = 512
"""Columns of the scratch at first."""
_PLACES = {
    "configurations": ("row", "costs", "accepts", "item_first", "hashes"),
    "nodes": ("edge_first", "node_hashes", "popped"),
    "items": ("items",),
    "edges": ("edges",),
    "rows": ("next",),
}
"""Arrays by what they have places for."""


class Room(NamedTuple):
    """Places in an arena; those for configurations and nodes are powers of two."""

    configurations: int
    nodes: int
    items: int
    edges: int
    rows: int

    def more(self, used: Longs) -> Room:
        """Twice the room for all of which more than half is in use; for all but rows where that is nothing: nodes that
        lean on each other are made many at a time, and taken back where there is no room for all of them.
        """
        counts = (used[CONFIGURATIONS], used[NODES], used[ITEMS], used[EDGES], used[ROWS])
        short = [2 * int(count) > room for count, room in zip(counts, self, strict=True)]
        if not any(short):
            short = [True, True, True, True, False]
        return Room(*(room * (1 + grows) for room, grows in zip(self, short, strict=True)))


def empty(classes: int, rules: int, room: Room) -> Arena:
    """Arena in which nothing is in use."""
    used = np.zeros(WIDEST + 1, np.int64)
    used[ROWS] = 1
    return Arena(
        np.full((room.rows, classes), DEAD, np.int32),
        np.empty(room.configurations, np.int32),
        np.zeros(room.configurations, np.int32),
        np.zeros(room.configurations, np.bool_),
        np.zeros(room.configurations + 1, np.int64),
        np.empty(room.items, np.int64),
        np.zeros(room.nodes + 1, np.int64),
        np.empty(room.edges, np.int64),
        np.empty(room.configurations, np.int64),
        np.full(2 * room.configurations, -1, np.int32),
        np.empty(room.nodes, np.int64),
        np.full(2 * room.nodes, -1, np.int32),
        np.zeros(room.nodes, np.int64),
        np.zeros(rules, np.int64),
        np.empty(rules, np.int32),
        used,
        np.empty((SCRATCH_ROWS, _SCRATCH), np.int64),
    )


def grown(arena: Arena) -> Arena:
    """Arena with more room for what is short; other arrays are the same. Nodes that were taken back aren't found."""
    before = Room(len(arena.hashes), len(arena.node_hashes), len(arena.items), len(arena.edges), len(arena.next))
    room = before.more(arena.used)
    short = [kind for kind in Room._fields if getattr(room, kind) > getattr(before, kind)]
    arena = arena._replace(
        **{
            name: _longer(getattr(arena, name), getattr(room, kind) - getattr(before, kind))
            for kind in short
            for name in _PLACES[kind]
        }
    )
    if room.configurations > before.configurations:
        arena = arena._replace(slots=np.full(2 * room.configurations, -1, np.int32))
        _fill_slots(arena)
    arena = arena._replace(node_slots=np.full(2 * room.nodes, -1, np.int32))
    _fill_node_slots(arena)
    return arena


def _longer(array: NDArray[Any], places: int) -> NDArray[Any]:
    """Copy with so many places more, which are 0."""
    longer = np.zeros((len(array) + places, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def widened(arena: Arena) -> Arena:
    """Copy of the arena with rows of the scratch twice as long; what was in them is lost."""
    rows, width = arena.scratch.shape
    return arena._replace(scratch=np.empty((rows, 2 * width), np.int64))


@jit
def _fill_slots(arena: Arena) -> None:
    for number in range(arena.used[CONFIGURATIONS]):
        _note(arena.slots, arena.hashes, number)


@jit
def _fill_node_slots(arena: Arena) -> None:
    for number in range(arena.used[NODES]):
        if arena.node_hashes[number] != GROUPED:
            _note(arena.node_slots, arena.node_hashes, number)


@jit
def _note(slots: Ints, hashes: Longs, number: int) -> None:
    slot = hashes[number] & (len(slots) - 1)
    while slots[slot] >= 0:
        slot = (slot + 1) & (len(slots) - 1)
    slots[slot] = number
