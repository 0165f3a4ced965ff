"""Room in an arena: at first, and more where it is short."""

from __future__ import annotations

from math import prod
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from grammar_cache.configurations.arena import (
    CONFIGURATIONS,
    DEAD,
    EDGES,
    GROUPED,
    ITEMS,
    NODES,
    PATTERN,
    PATTERNS,
    ROW_HEAD,
    ROWS,
    SCRATCH_ROWS,
    UNKNOWN,
    WIDEST,
    Arena,
)
from grammar_cache.loops.array_types import Ints, Longs
from grammar_cache.loops.jit import jit_no_arrays

_SCRATCH = 64
"""Columns of the scratch at first."""
_COPIED = 1 << 18
"""Bytes of rows, items or edges that are copied to get more room, at most: a step may have to wait for it. There is
room for all of `_RESERVED` beyond, where memory that isn't touched costs nothing.
"""
_RESERVED = 128 << 20
"""Bytes for rows, items and edges each: twice as much as a grammar may usually take in all, since there is to be more
where three quarters are in use."""
_SPARE_ROWS = 512
"""Numbers in rows that there is room for behind the search for the minimum: about what masks of an answer need first.
"""
_ITEM_BYTES, _ROW_BYTES = 8, 4
_PLACES = {
    "configurations": ("row", "costs", "accepts", "item_first", "hashes"),
    "nodes": ("edge_first", "node_hashes", "popped"),
    "items": ("items",),
    "edges": ("edges",),
    "rows": ("rows",),
    "patterns": ("patterns", "pattern_hashes"),
}
"""Arrays by what they have places for."""


class Room(NamedTuple):
    """Places in an arena. `rows`: numbers in all of them."""

    configurations: int
    nodes: int
    items: int
    edges: int
    rows: int
    patterns: int

    @staticmethod
    def used(used: Longs) -> Room:
        """Places that are taken."""
        return Room(*(int(used[kind]) for kind in (CONFIGURATIONS, NODES, ITEMS, EDGES, ROWS, PATTERNS)))

    @staticmethod
    def of(arena: Arena) -> Room:
        """Places that there are."""
        arrays: tuple[NDArray[Any], ...] = (arena.node_hashes, arena.items, arena.edges, arena.rows, arena.patterns)
        return Room(len(arena.hashes), *map(len, arrays))

    def more(self, used: Room) -> Room:
        """Twice the room for all of which more than three quarters are in use, but half as much again for
        configurations, items and rows, which take most of it. More room for all but rows where nothing is short: nodes
        that lean on each other are made many at a time, and taken back where there is no room for all of them.
        """
        short = [4 * count > 3 * room for count, room in zip(used, self, strict=True)]
        if not any(short):
            short = [True, True, True, True, False, False]
        half = {"configurations": self.configurations // 2, "items": self.items // 2, "rows": self.rows // 2}
        added = self._replace(**half)
        wanted = zip(self, short, added, _SPARE, strict=True)
        return Room(*(room + grows * (more + spare) for room, grows, more, spare in wanted))

    def reserved(self) -> Room:
        """Room in which rows, items and edges that are many have all they may need, so as not to be copied again."""
        return self._replace(
            items=_reserved(self.items, _ITEM_BYTES),
            edges=_reserved(self.edges, _ITEM_BYTES),
            rows=_reserved(self.rows, _ROW_BYTES),
        )


_SPARE = Room(64, 64, 64, 64, 64, 8)
"""Places that are added at least where there is no room."""


def _reserved(places: int, size: int) -> int:
    return max(places, _RESERVED // size) if places * size > _COPIED else places


def held_bytes(arena: Arena) -> int:
    """Bytes of all arrays, with the room that isn't in use unless it is reserved."""
    room, used = Room.of(arena), Room.used(arena.used)
    sizes = Room(0, 0, _ITEM_BYTES, _ITEM_BYTES, _ROW_BYTES, 0)
    unused = [
        size * (there - taken) for size, there, taken in zip(sizes, room, used, strict=True) if size * there > _COPIED
    ]
    return sum(part.nbytes for part in arena) - sum(unused)


def empty(classes: int, rules: int, room: Room) -> Arena:
    """Arena in which nothing is in use."""
    used = np.zeros(WIDEST + 1, np.int64)
    used[ROWS], used[PATTERNS] = ROW_HEAD + 1, 1
    rows = np.zeros(max(room.rows, ROW_HEAD + 1), np.int32)
    rows[ROW_HEAD] = DEAD
    return Arena(
        rows,
        np.zeros((room.patterns, classes), np.uint8),
        np.zeros(room.patterns, np.int64),
        _free_slots(room.patterns),
        np.empty(room.configurations, np.int32),
        np.zeros(room.configurations, np.int32),
        np.zeros(room.configurations, np.bool_),
        np.zeros(room.configurations + 1, np.int32),
        np.empty(room.items, np.int64),
        np.zeros(room.nodes + 1, np.int32),
        np.empty(room.edges, np.int64),
        np.empty(room.configurations, np.int32),
        _free_slots(room.configurations),
        np.empty(room.nodes, np.int64),
        _free_slots(room.nodes),
        np.zeros(room.nodes, np.int64),
        np.zeros(rules, np.int64),
        np.empty(rules, np.int32),
        used,
        np.empty((SCRATCH_ROWS, _SCRATCH), np.int64),
    )


def grown(arena: Arena) -> Arena:
    """Copy of the arena with more room for what is short; other arrays are the same. Nodes, items and edges that grow
    get as many places as the scratch has columns at least: one step may take all of them, and begins anew where there
    are too few. A row that is made may take a place for each byte class.
    """
    room, columns, used = Room.of(arena), arena.scratch.shape[1], Room.used(arena.used)
    more = room.more(used._replace(rows=used.rows + ROW_HEAD + arena.patterns.shape[1]))
    least = Room(0, columns, columns, columns, 0, 0)
    wanted = Room(*(max(after, few) for after, few in zip(more, least, strict=True))).reserved()
    short = (after > before for before, after in zip(room, more, strict=True))
    return _fitted(arena, Room(*(to if grows else now for now, to, grows in zip(room, wanted, short, strict=True))))


def trimmed(arena: Arena, kept: Ints) -> Arena:
    """Copy of the arena with hardly more room than is in use, and with rows of the configurations that are `kept` only:
    any other is made again where it is asked for, and is the same.
    """
    used = arena.used.copy()
    kept = kept[arena.row[kept] > 0]
    row = np.where(arena.row == 0, 0, UNKNOWN).astype(np.int32)
    begins = np.append(0, arena.row[kept])
    lengths = ROW_HEAD + 1 + arena.patterns[arena.rows[begins + PATTERN]].max(axis=1, initial=0).astype(np.int32)
    ends = np.cumsum(lengths)
    row[kept] = ends[:-1]
    rows = arena.rows[np.repeat(begins - ends + lengths, lengths) + np.arange(ends[-1])]
    used[ROWS] = len(rows)
    arena = arena._replace(rows=rows, row=row, used=used)
    room = Room(*(count + count // 8 + spare for count, spare in zip(Room.used(used), _SPARE, strict=True)))
    return _fitted(arena, room._replace(rows=len(rows) + _SPARE_ROWS).reserved())


def _fitted(arena: Arena, room: Room) -> Arena:
    """Copy with so much room; arrays whose room is as it was are the same."""
    before, used = Room.of(arena), Room.used(arena.used)
    arena = arena._replace(
        **{
            name: _with_places(getattr(arena, name), to - now, taken)
            for kind, now, to, taken in zip(Room._fields, before, room, used, strict=True)
            if to != now
            for name in _PLACES[kind]
        }
    )
    if room.configurations != before.configurations:
        arena = arena._replace(slots=_free_slots(room.configurations))
        _fill_slots(arena.slots, arena.hashes[: used.configurations])
    if room.nodes != before.nodes:
        arena = arena._replace(node_slots=_free_slots(room.nodes))
        _fill_slots(arena.node_slots, arena.node_hashes[: used.nodes])
    if room.patterns != before.patterns:
        arena = arena._replace(pattern_slots=_free_slots(room.patterns))
        _fill_slots(arena.pattern_slots, arena.pattern_hashes[: used.patterns])
    return arena


def _free_slots(room: int) -> Ints:
    """Slots of a table that is never more than two thirds full: a power of two."""
    return np.full(1 << (room + room // 2).bit_length(), -1, np.int32)


def _with_places(array: NDArray[Any], places: int, used: int) -> NDArray[Any]:
    """Copy with so many places more, which are 0, or fewer. Only those that are `used`, and the end of the last one,
    are read: that of others would take the memory that is reserved for them.
    """
    longer = _zeros((len(array) + places, *array.shape[1:]), array.dtype)
    kept = min(len(array), len(longer), used + 1)
    longer[:kept] = array[:kept]
    return longer


def _zeros(shape: tuple[int, ...], of: np.dtype[Any]) -> NDArray[Any]:
    """Zeros; where they are many, pages of their own that take memory one by one, as they are written. NumPy asks for
    huge pages, which would take 2 MB at the first of them.
    """
    size = prod(shape) * of.itemsize
    if size <= _COPIED:
        return np.zeros(shape, of)
    return np.frombuffer(mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS), of).reshape(shape)


def widened(arena: Arena) -> Arena:
    """Copy of the arena with rows of the scratch four times as long; what was in them is lost."""
    rows, width = arena.scratch.shape
    return arena._replace(scratch=np.empty((rows, 4 * width), np.int64))


@jit_no_arrays
def _fill_slots(slots: Ints, hashes: Ints | Longs) -> None:
    """Gives each number a slot, but for nodes of groups."""
    for number in range(len(hashes)):
        if hashes[number] != GROUPED:
            slot = hashes[number] & (len(slots) - 1)
            while slots[slot] >= 0:
                slot = (slot + 1) & (len(slots) - 1)
            slots[slot] = number
