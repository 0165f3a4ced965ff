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
    """The best completion of at most `bound` tokens that the fuel finds; empty if there is none.

    Of those with the fewest tokens one of the fewest bytes is preferred. Deterministic: further ties are kept in the
    order of the strings.
    """
    came: dict[int, tuple[int, int]] = {start: (start, -1)}
    level = {start: 0}  # and the bytes of the text that leads there
    for tokens in range(1, bound + 1):
        found: dict[int, int] = {}
        tables.expand(level, fuel)
        for configuration, size in level.items():
            successors = tables.successors(configuration)
            fuel -= successors.cost
            for after, string in zip(successors.configurations.tolist(), successors.strings.tolist(), strict=True):
                text = size + tables.length(string)
                if after in found:
                    if text >= found[after]:
                        continue
                elif after in came:
                    continue
                came[after] = (configuration, string)
                found[after] = text
        if not found or fuel < 0:
            return {}
        met = np.array(list(found), np.int32)
        sizes = np.array(list(found.values()), np.int32)
        left = additive(met)
        order = np.lexsort((sizes, left)).tolist()
        if left[order[0]] == 0:
            return _path(came, start, int(met[order[0]]))
        level = {int(met[i]): int(sizes[i]) for i in order[:WIDTH] if tokens + left[i] <= bound + SLACK}
    return {}


def _path(came: dict[int, tuple[int, int]], start: int, goal: int) -> Path:
    path = {goal: (0, -1)}
    at, ahead = goal, 0
    while at != start:
        at, string = came[at]
        ahead += 1
        path[at] = (ahead, string)
    return path
