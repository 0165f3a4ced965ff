"""Successors of many configurations in a few arrays: objects for each would take more room than what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import numpy as np

from grammar_cache.loops.array_types import Flags, Ints, Longs
from grammar_cache.successors.successors import Successors


class PackedSuccessors:
    """Successors by configuration, made objects again where they are asked for.

    Those of `configurations[k]`, which ascend, are `following[first[k] : first[k + 1]]`, and cost `costs[k]`.
    """

    def __init__(self, known: Iterable[tuple[int, Successors]] = ()) -> None:
        ordered, nothing = sorted(known, key=lambda one: one[0]), np.empty(0, np.int32)
        of = [successors for _, successors in ordered]
        self.configurations: Ints = np.array([source for source, _ in ordered], np.int32)
        self.first: Ints = np.array([0, *accumulate(len(one.configurations) for one in of)], np.int32)
        self.following: Ints = np.concatenate([nothing, *(one.configurations for one in of)]) if of else nothing
        self._strings: Ints = np.concatenate([nothing, *(one.strings for one in of)]) if of else nothing
        self.costs: Longs = np.array([one.cost for one in of], np.int64)
        self._whole: Flags = np.array([one.whole for one in of], np.bool_)

    @property
    def size_bytes(self) -> int:
        arrays = (self.configurations, self.first, self.following, self._strings, self.costs, self._whole)
        return sum(array.nbytes for array in arrays)

    def get(self, configuration: int) -> Successors | None:
        """Successors of a configuration, if they are here."""
        if not len(self.configurations):
            return None
        place = int(self.configurations.searchsorted(configuration))
        if place == len(self.configurations) or self.configurations[place] != configuration:
            return None
        here = slice(self.first[place], self.first[place + 1])
        return Successors(self.following[here], self._strings[here], int(self.costs[place]), bool(self._whole[place]))
