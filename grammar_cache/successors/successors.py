"""Successors of a configuration: those that are one token away, each once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Successors:
    """The distinct configurations one token away, and the shortest string that leads to each, by which they ascend.

    `cost`: the fuel that finding them takes where nothing is known. `whole`: no token was left out for what reading it
    costs.
    """

    configurations: NDArray[np.int32]
    strings: NDArray[np.int32]
    cost: int
    whole: bool = True

    @property
    def size_bytes(self) -> int:
        return self.configurations.nbytes + self.strings.nbytes + 500
