"""What is known of rules whatever grammar they stand in: their costs over one vocabulary, kept for the next grammar.

A kept solution is what solving again would find (see `parts` for its key): nothing but time depends on what is kept.
JSON's own rules are solved once. Their automata, which depend on no vocabulary, are kept beside. This module knows no
grammar.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from grammar_cache.recurring import Automata

LARGEST = 200_000
"""States of all parts that are kept: 8 bytes and a share of some 200 for each part."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """By state of a part: its `costs`, and its `witness` strings, -1 where there is none."""

    costs: NDArray[np.int32]
    witness: NDArray[np.int32]


class Solved:
    """Solutions by key, the least recently used go first. Of one vocabulary; any thread may ask."""

    def __init__(self, largest: int = LARGEST) -> None:
        self.automata = Automata()
        self._largest = largest
        self._lock = Lock()
        self._kept: OrderedDict[bytes, Solution] = OrderedDict()
        self._states = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: bytes) -> Solution | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def keep(self, key: bytes, solution: Solution) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = solution
                self._states += len(solution.costs)
            while self._states > self._largest:
                self._states -= len(self._kept.popitem(last=False)[1].costs)
