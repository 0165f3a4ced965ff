"""Successors of many configurations in a few arrays: objects for each would take more room than what they hold."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from grammar_cache.array_types import Flags, Ints, Longs
from grammar_cache.successors.successors import Successors


class PackedSuccessors:
    """Successors by configuration, made objects again where they are asked for."""

    def __init__(self, known: Iterable[tuple[int, Successors]] = ()) -> None:
        ordered = sorted(known, key=lambda one: one[0])
        of = [successors for _, successors in ordered]
        self._sources: Ints = np.array([source for source, _ in ordered], np.int32)
        self._first: Ints = np.cumsum([0, *(len(one.configurations) for one in of)], dtype=np.int32)
        self._configurations: Ints = np.concatenate([np.empty(0, np.int32), *(one.configurations for one in of)])
        self._strings: Ints = np.concatenate([np.empty(0, np.int32), *(one.strings for one in of)])
        self._costs: Longs = np.array([one.cost for one in of], np.int64)
        self._whole: Flags = np.array([one.whole for one in of], np.bool_)

    @property
    def size_bytes(self) -> int:
        arrays = (self._sources, self._first, self._configurations, self._strings, self._costs, self._whole)
        return sum(array.nbytes for array in arrays)

    def get(self, configuration: int) -> Successors | None:
        """Successors of a configuration, if they are here."""
        place = int(self._sources.searchsorted(configuration))
        if place == len(self._sources) or self._sources[place] != configuration:
            return None
        here = slice(self._first[place], self._first[place + 1])
        return Successors(
            self._configurations[here], self._strings[here], int(self._costs[place]), bool(self._whole[place])
        )
