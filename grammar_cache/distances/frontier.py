"""Frontier of a search: the configurations that it has met, each at the fewest tokens from its start, and those of them
that wait, by how many tokens they need in all at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from grammar_cache.distances.additive import INFINITE
from grammar_cache.loops.array_types import Ints, Longs
from grammar_cache.loops.jit import jit_no_arrays
from grammar_cache.successors.successors import Successors

_ROOM = 1024  # configurations at first


class Frontier:
    """Configurations met; `expanded` are those whose successors the search has asked for. Those that need more than the
    horizon are dropped: `beyond` says whether there are any.
    """

    def __init__(self, start: int, bound: int, horizon: int) -> None:
        """`bound`: a lower bound on the tokens that the start needs."""
        self._horizon = horizon
        self._depths: Ints = np.empty(0, np.int32)  # by configuration
        self._waiting: dict[tuple[int, int], list[Ints]] = {}
        self._order: list[tuple[int, int]] = []
        self.expanded: dict[int, Successors] = {}
        self.beyond = False
        self.reach(np.array([start], np.int32), np.array([bound], np.int32), 0, 0)

    def reach(self, configurations: Ints, bounds: Ints, depth: int, least: int) -> None:
        """Notes configurations met at a depth, given lower bounds, in all, and from each of them on."""
        self._make_room(int(configurations.max(initial=-1)) + 1)
        met, totals = np.empty((2, len(configurations)), np.int32)
        count, beyond = _met(configurations, bounds, depth, least, self._horizon, INFINITE, self._depths, met, totals)
        self.beyond |= beyond
        for total in sorted(set(totals[:count].tolist())):
            level = self._waiting.get((total, depth))
            if level is None:
                level = self._waiting[total, depth] = []
                heappush(self._order, (total, depth))
            level.append(met[:count][totals[:count] == total])

    def nearest(self) -> tuple[int, int, Ints] | None:
        """The configurations that may need the fewest tokens in all: how many, the depth of those, and which. Of equals
        those that are nearest to the start. None where there are none.
        """
        if not self._order:
            return None
        total, depth = heappop(self._order)
        level = np.concatenate(self._waiting.pop((total, depth)))
        return total, depth, level[self._depths[level] == depth]

    def shortest_ways(self, accepting: Ints, lengths: Ints) -> dict[int, tuple[int, int]]:
        """The shortest completions, which end in what is `accepting`, all at one depth: the tokens that each expanded
        configuration on one still needs, and the string that goes on: of all such the shortest, then least one.

        `lengths`: bytes by string.
        """
        sources = np.fromiter(self.expanded, np.int32, len(self.expanded))
        depths = self._depths[sources]
        order = np.argsort(-depths, kind="stable")
        sources, depths = sources[order], depths[order]
        ways = [self.expanded[source] for source in sources.tolist()]
        first = np.cumsum([0, *(len(way.configurations) for way in ways)])
        following, strings = joined([way.configurations for way in ways]), joined([way.strings for way in ways])
        ahead = np.full(len(self._depths), INFINITE, np.int32)
        ahead[accepting] = 0
        depth = int(self._depths[accepting[0]])
        onward = np.empty(len(sources), np.int32)
        _onward(sources, depth - depths, first, following, strings, lengths, ahead, onward)
        found = onward >= 0
        ways_on = zip(ahead[sources[found]].tolist(), onward[found].tolist(), strict=True)
        return dict(zip(sources[found].tolist(), ways_on, strict=True))

    def _make_room(self, count: int) -> None:
        missing = count - len(self._depths)
        if missing > 0:
            room = np.full(max(missing, len(self._depths), _ROOM), INFINITE, np.int32)
            self._depths = np.concatenate([self._depths, room])


def joined(parts: Sequence[Ints]) -> Ints:
    """All parts in a row."""
    return np.concatenate([np.empty(0, np.int32), *parts])


@jit_no_arrays
def _met(
    configurations: Ints,
    bounds: Ints,
    depth: int,
    least: int,
    horizon: int,
    infinite: int,
    depths: Ints,
    met: Ints,
    totals: Ints,
) -> tuple[int, bool]:
    """Writes which configurations are met at fewer tokens than before, and the tokens that they need in all at least:
    how many these are, and whether others need more than the horizon.
    """
    count, beyond = 0, False
    for k in range(len(configurations)):
        total, at = max(bounds[k] + depth, least), configurations[k]
        if bounds[k] >= infinite or total >= infinite:
            continue
        if total > horizon:
            beyond = True
        elif depth < depths[at]:
            depths[at] = depth
            met[count], totals[count] = at, total
            count += 1
    return count, beyond


@jit_no_arrays
def _onward(
    sources: Ints,
    needed: Ints,
    first: Longs,
    following: Ints,
    strings: Ints,
    lengths: Ints,
    ahead: Ints,
    onward: Ints,
) -> None:
    """Writes the string that goes on from each source, or -1; what is `ahead` of a configuration is known of those at
    greater depths, which come first, and of the ends.
    """
    for k in range(len(sources)):
        best = -1
        for i in range(first[k], first[k + 1]):
            string = strings[i]
            if ahead[following[i]] == needed[k] - 1 and (best < 0 or (lengths[string], string) < (lengths[best], best)):
                best = string
        onward[k] = best
        if best >= 0:
            ahead[sources[k]] = needed[k]
