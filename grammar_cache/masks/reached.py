"""Marks of the configurations that a walk has met, and that tokens have reached, which are made on the way."""

from __future__ import annotations

import numpy as np

from grammar_cache.configurations.interner import Configurations
from grammar_cache.distances.additive import Distances
from grammar_cache.masks.inside_kernels import Marks, largest


class Reached:
    """Marks by configuration, none of them at first."""

    def __init__(self, configurations: Configurations, distances: Distances) -> None:
        self._configurations = configurations
        self._distances = distances
        self._marks: Marks = np.zeros(0, np.uint8)

    def with_room(self) -> Marks:
        """The marks, as many as there is room for configurations."""
        room = len(self._configurations.arena.accepts)
        if len(self._marks) < room:
            marks = np.zeros(room, np.uint8)
            marks[: len(self._marks)] = self._marks
            self._marks = marks
        return self._marks

    def farthest(self, least: int) -> int:
        """The largest additive distance of a configuration that is reached, `least` at least."""
        self._distances.update()
        return int(largest(self._distances.block, self._marks, least))
