"""Successors with their bounds, in flat arrays that grow: searches near the horizon look at little else."""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np

from grammar_cache.distances.horizon.level_kernels import FEWEST, FIRST, PAID, Ahead, write_entries
from grammar_cache.loops.array_types import Ints, Longs

A = TypeVar("A", bound=Ints | Longs)


class KnownAhead:
    """Entries by configuration, see `Ahead`, and the numbers that searches give themselves and their marks."""

    def __init__(self) -> None:
        self.arrays = Ahead(
            np.empty(0, np.int32),
            np.empty(0, np.int64),
            np.zeros((PAID + 1, 1), np.int64),
            np.empty((FEWEST + 1, 0), np.int32),
        )
        self._count = 0
        self.search = 0
        self.mark = 0

    @property
    def held_bytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays)

    def missing(self, configurations: Ints) -> Ints:
        """Part of these that has no entry."""
        missing: Ints = configurations[self.arrays.entry[configurations] < 0]
        return missing

    def cover(self, configurations: Ints) -> None:
        """Makes room for entries and marks of these."""
        wanted, there = int(configurations.max(initial=-1)) + 1, len(self.arrays.entry)
        if wanted > there:
            more = max(wanted, there + there // 2) - there
            entry = np.concatenate([self.arrays.entry, np.full(more, -1, np.int32)])
            self.arrays = self.arrays._replace(
                entry=entry, mark=np.concatenate([self.arrays.mark, np.zeros(more, np.int64)])
            )

    def add(
        self, configurations: Ints, lengths: Longs, costs: Longs, following: Ints, bounds: Ints, fewest: Ints
    ) -> None:
        """Adds entries: each has so many of `following`, one behind the other, with two bounds each."""
        self.cover(configurations)
        self.cover(following)
        count, added = self._count, len(configurations)
        past = int(self.arrays.entries[FIRST, count])
        entries = _longer(self.arrays.entries, count + added + 1)
        into = _longer(self.arrays.following, past + len(following))
        self.arrays = self.arrays._replace(entries=entries, following=into)
        write_entries(self.arrays, count, configurations, lengths, costs, following, bounds, fewest)
        self._count += added


def _longer(array: A, columns: int) -> A:
    """Array with at least so many columns; those that are new are 0."""
    room = array.shape[1]
    if columns <= room:
        return array
    longer = np.zeros((len(array), max(columns, 2 * room)), array.dtype)
    longer[:, :room] = array
    return cast("A", longer)
