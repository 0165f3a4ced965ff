"""Horizon of a configuration: what its tokens lead to, and what of that fits in the tokens that are left."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from grammar_cache.distances.additive import INFINITE
from grammar_cache.loops.array_types import Ints


@dataclass(slots=True, eq=False)
class Horizon:
    """The distinct successors of a configuration, and how many tokens complete each: INFINITE for those that don't fit.

    `strings`: the shortest string that leads to each, by which they ascend. `onward`: configurations from
    the nearest that a search has found to where its distance is known without one.
    """

    configurations: Ints
    strings: Ints
    distances: Ints
    onward: tuple[int, ...] = ()
    _order: NDArray[np.int64] | None = field(default=None, init=False)  # sorts them by configuration, once asked for

    @property
    def size_bytes(self) -> int:
        return 5 * int(self.configurations.nbytes) + 400

    def of(self, configurations: Ints) -> Ints:
        """Distances of some successors; INFINITE for what is none."""
        if not len(self.configurations):
            return np.full(len(configurations), INFINITE, np.int32)
        if self._order is None:
            self._order = np.argsort(self.configurations)
        places = np.searchsorted(self.configurations, configurations, sorter=self._order)
        places = self._order[np.minimum(places, len(self._order) - 1)]
        return np.where(self.configurations[places] == configurations, self.distances[places], INFINITE)

    def plus(self, configuration: int, string: int, distance: int) -> Horizon:
        """Horizon with a successor that may not be among them yet."""
        if (self.configurations == configuration).any():
            return self
        configurations = np.append(self.configurations, np.int32(configuration))
        strings, distances = np.append(self.strings, np.int32(string)), np.append(self.distances, np.int32(distance))
        return Horizon(configurations, strings, distances, self.onward)

    def nearest(self) -> tuple[int, int, tuple[int, ...]]:
        """The least number of tokens that completes the text, and the string to begin with: the shortest, then least
        of equals; and the way on from there, if a search has found it. INFINITE where nothing fits.
        """
        if not len(self.distances) or self.distances.min() >= INFINITE:
            return INFINITE, -1, ()
        place = int(self.distances.argmin())
        onward = self.onward if self.onward[:1] == (self.configurations[place],) else ()
        return int(self.distances[place]) + 1, int(self.strings[place]), onward
