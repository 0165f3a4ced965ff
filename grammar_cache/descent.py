"""A shorter completion than the additive one, found by a beam search: an upper bound, not a proof.

Level by level, one token each, the configurations nearest to the end by their additive distance are kept. Those of
a completion that spans rule ends with single tokens come nearer than promised, and stay. The exact search, which has
to look at everything, then starts with a nearer horizon; where it gives up, the bound found here stands, with its
path as witness.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from grammar_cache.tables import Tables

Path: TypeAlias = dict[int, tuple[int, int]]
"""Configurations of one completion: the tokens it still needs there, and its next string (-1 at the end)."""

WIDTH = 16
"""Configurations kept a level. Wider beams run out of fuel before long answers end."""

SLACK = 2
"""How much more than the bound a configuration may promise and still be kept: savings come a token after the detour."""


def descend(
    tables: Tables, additive: Callable[[NDArray[np.int32]], NDArray[np.int32]], start: int, bound: int, fuel: int
) -> Path:
    """The best completion of fewer than `bound` tokens that the fuel finds; empty if there is none.

    Deterministic: ties are kept in the order of the strings that lead to them.
    """
    came: dict[int, tuple[int, int]] = {start: (start, -1)}
    level = [start]
    for tokens in range(1, bound):
        found: list[int] = []
        for configuration in level:
            successors = tables.successors(configuration)
            fuel -= successors.cost
            for after, string in zip(successors.configurations.tolist(), successors.strings.tolist(), strict=True):
                if after not in came:
                    came[after] = (configuration, string)
                    found.append(after)
        if not found or fuel < 0:
            return {}
        left = additive(np.array(found, np.int32))
        if not left.all():
            return _path(came, start, found[int(left.argmin())])
        kept = np.argsort(left, kind="stable")[:WIDTH]
        level = [found[i] for i in kept.tolist() if tokens + left[i] <= bound + SLACK]
    return {}


def _path(came: dict[int, tuple[int, int]], start: int, goal: int) -> Path:
    path = {goal: (0, -1)}
    at, ahead = goal, 0
    while at != start:
        at, string = came[at]
        ahead += 1
        path[at] = (ahead, string)
    return path
