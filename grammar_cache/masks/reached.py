"""Flags of the configurations that tokens have reached, which are made on the way."""

from __future__ import annotations

import numpy as np

from grammar_cache.array_types import Flags
from grammar_cache.configurations.interner import Configurations
from grammar_cache.distances.additive import Distances
from grammar_cache.masks.mask_kernels import largest


class Reached:
    """Flags by configuration, none of them at first."""

    def __init__(self, configurations: Configurations, distances: Distances) -> None:
        self._configurations = configurations
        self._distances = distances
        self._flags: Flags = np.zeros(0, np.bool_)

    def with_room(self) -> Flags:
        """The flags, as many as there is room for configurations."""
        room = len(self._configurations.arena.accepts)
        if len(self._flags) < room:
            self._flags = np.concatenate([self._flags, np.zeros(room - len(self._flags), np.bool_)])
        return self._flags

    def farthest(self, least: int) -> int:
        """The largest additive distance of a configuration that is reached, `least` at least."""
        self._distances.update()
        return int(largest(self._distances.additive, self._flags, least))
