"""Tokens that may follow a configuration with few tokens left: one bounded search for all that one token leads to.

Additive distances charge a token that spans the end of a rule twice, so near the horizon some of what fits seems not
to. From all successors of a configuration that seem not to fit, the search goes on token by token, as long as they
would need at most `SLACK` tokens more than are left, and looks for where the bound fits after all; at first one that
is wider, and has to be cheap. Where a lower bound says that nothing fits, nothing is looked at. A level is looked at as
a whole or not at all, and what was known before costs as much fuel as what wasn't. So what fits is a pure function of
grammar, vocabulary, limits, configuration and tokens; and what a search finds can be followed: one from any
configuration on the way needs no more fuel, and finds the rest of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from time import perf_counter
from typing import TypeAlias

import numpy as np

from grammar_cache.configurations.interner import DEAD
from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.claims import Claims, Finding, Route
from grammar_cache.distances.effort import NO_EFFORT, Effort
from grammar_cache.distances.horizon.ahead import KnownAhead
from grammar_cache.distances.horizon.horizon import Horizon
from grammar_cache.distances.horizon.level_kernels import (
    ASKED,
    FUEL,
    LEVEL,
    LEVELS,
    MARK,
    NO_ROOM,
    PAST,
    PLACE,
    SEARCH,
    nearly,
    searched,
)
from grammar_cache.loops.array_types import Flags, Ints, Longs
from grammar_cache.successors.tables import SuccessorTables
from grammar_cache.vocabulary.vocabulary import Vocabulary

SLACK = 2
"""Tokens that a way may seem to lack: a token that spans the end of a rule saves mostly one, after a detour of one."""
WIDE_SLACK, WIDE_SHARE = 4, 40
"""Tokens that a way may seem to lack where looking for all of that takes no more than so small a part of the fuel."""
_ROOM = 256  # configurations of all levels of a search at first
_FEW = 20_000  # configurations whose bounds are looked up in less than a millisecond
UNTOLD = 1_000
"""Searches that are kept to tell others of them: as many as a table in a store has room for."""

Bounds: TypeAlias = Callable[[Ints], Ints]
"""Function from configurations to bounds on their distances that are known without a search from there."""

Ways: TypeAlias = dict[int, tuple[int, list[int]]]
"""Ways by the configuration that they begin with: its distance, and those from it on to where the bound is enough."""


class HorizonSearch:
    """Searches over the tables of one grammar. `effort` says how many there were, and what they cost."""

    def __init__(
        self,
        tables: SuccessorTables,
        least_of: Bounds,
        vocabulary: Vocabulary,
        fuel: int,
        cache_bytes: int,
        claims: Claims | None,
    ) -> None:
        """`least_of` bounds distances from below. `fuel` of one search, in trie nodes. Without `claims`, nothing is
        learned from others, and nothing kept to tell them.
        """
        self._tables = tables
        self._vocabulary = vocabulary
        self._fuel = fuel
        self._ahead = KnownAhead()
        self._most_bytes = cache_bytes
        self._claims = claims
        self._least_of = least_of
        self._untold: list[tuple[int, int, list[tuple[int, ...]]]] = []
        self._vouched: dict[int, tuple[int, int]] = {}
        self.effort = NO_EFFORT
        """Effort of all searches so far."""

    def of(self, configuration: int, tokens: int, bounds_of: Bounds) -> Horizon:
        """Horizon of a configuration: what fits behind one token, so many being left behind it."""
        successors = self._tables.successors(configuration)
        bounds = bounds_of(successors.configurations)
        distances, places = np.empty((2, len(bounds)), np.int32)
        places = places[: nearly(bounds, tokens, WIDE_SLACK, distances, places)]
        ways: Ways = {}
        if len(places) and tokens > 0:
            first = successors.configurations[places]
            ways = self._found(configuration, first, bounds[places], tokens, bounds_of)
            if ways:
                distances[places] = [ways[after][0] if after in ways else INFINITE for after in first.tolist()]
        nearest = int(successors.configurations[distances.argmin()]) if ways else DEAD
        onward = tuple(ways[nearest][1]) if nearest in ways else ()
        return Horizon(successors.configurations, successors.strings, distances, onward)

    def strings(self, on_way: Sequence[int]) -> tuple[int, ...]:
        """The shortest, then least strings that lead from each of some configurations to the next one."""
        found = []
        for at, after in pairwise(on_way):
            known = self._tables.successors(at)
            found.append(int(known.strings[np.flatnonzero(known.configurations == after)[0]]))
        return tuple(found)

    def vouched(self, configuration: int) -> tuple[int, int]:
        """Distance on the way of a claim that was believed, and the next string: no search finds it where the claim was
        no search's. INFINITE where none is known.
        """
        return self._vouched.get(configuration, (INFINITE, -1))

    def learned(self) -> dict[bytes, Finding]:
        """Findings since the last call, for others."""
        told, self._untold = self._untold, []
        if self._claims is None:
            return {}
        return dict(
            self._claims.stated_horizon(configuration, tokens, [Route(way, self.strings(way)) for way in ways])
            for configuration, tokens, ways in told
        )

    @property
    def remembered(self) -> int:
        """Number of configurations that were vouched for, and of searches that wait to be told."""
        return len(self._vouched) + len(self._untold)

    @property
    def held_bytes(self) -> int:
        """Bytes of what searches remember of what follows configurations."""
        return self._ahead.held_bytes

    def _found(self, configuration: int, first: Ints, bounds: Ints, tokens: int, bounds_of: Bounds) -> Ways:
        """Ways from those of the `first` level that fit: told by others, or searched for."""
        claimed = None if self._claims is None else self._claims.horizon(configuration, tokens)
        if self._claims is not None and claimed is not None:
            ways = self._followed(configuration, claimed, set(first.tolist()), tokens, bounds_of)
            if ways is not None:
                return ways
            self._claims.rejected += 1
        self.effort = self.effort.plus(Effort(searches=1))
        begun = perf_counter()
        ways = self._searched(first, bounds, tokens, bounds_of)
        self.effort = self.effort.plus(Effort(seconds=perf_counter() - begun))
        if self._claims is not None and len(self._untold) < UNTOLD:
            self._untold.append((configuration, tokens, [(configuration, *on_way) for _, on_way in ways.values()]))
        return ways

    def _followed(
        self, configuration: int, ways: Iterable[Sequence[int]], first: set[int], tokens: int, bounds_of: Bounds
    ) -> Ways | None:
        """Ways which others tell, in tokens; None if one doesn't lead where the rest fits."""
        found: Ways = {}
        vouched: dict[int, tuple[int, int]] = {}
        for way in ways:
            on_way = [configuration]
            for token in way:
                on_way.append(self._tables.token(on_way[-1], token))
                if on_way[-1] == DEAD:
                    return None
            if len(way) < 2 or on_way[1] not in first or on_way[1] in found:
                return None
            left = int(bounds_of(np.array(on_way[-1:], np.int32))[0])
            found[on_way[1]] = left + len(way) - 1, on_way[1:]
            if left + len(way) - 1 > tokens:
                return None
            for ahead, (at, token) in enumerate(zip(on_way[-2:0:-1], way[:0:-1], strict=True), start=left + 1):
                vouched[at] = min((ahead, int(self._vocabulary.string_of[token])), self.vouched(at))
        self._vouched |= vouched
        return found

    def _searched(self, first: Ints, bounds: Ints, tokens: int, bounds_of: Bounds) -> Ways:
        """Ways of the search that looks widely, if it comes to its end within its part of the fuel; else of the other.

        A wide search from any configuration on one of its ways looks at no more, so it comes to its end too.
        """
        possible = self._least_of(first) <= tokens
        first, bounds = first[possible], bounds[possible]
        ways, whole = self._search(first, tokens, WIDE_SLACK, self._fuel // WIDE_SHARE, bounds_of)
        if not whole:
            ways, _ = self._search(first[_may_fit(bounds, tokens + SLACK)], tokens, SLACK, self._fuel, bounds_of)
        return ways

    def _search(self, first: Ints, tokens: int, slack: int, fuel: int, bounds_of: Bounds) -> tuple[Ways, bool]:
        """Ways from those of the `first` level that fit, as far as fuel and levels last; and whether they did."""
        if not self._ahead.search or self._ahead.held_bytes > self._most_bytes:
            self._begin_anew(bounds_of)
        ahead, levels = self._ahead, np.empty((PAST + 1, 2 * len(first) + _ROOM), np.int32)
        levels[PLACE, : len(first)], levels[PAST, 0] = first, len(first)
        ahead.cover(first)
        progress = np.array([0, fuel, -1, -1, ahead.search + 1, ahead.mark], np.int64)
        while status := searched(ahead.arrays, levels, tokens, slack, progress):
            if status == NO_ROOM:
                levels = np.concatenate([levels, np.empty_like(levels)], axis=1)
            else:
                level = progress[ASKED] = progress[LEVEL]
                begin = levels[PAST, level - 1] if level else 0
                self._expand(levels[PLACE, begin : levels[PAST, level]], int(progress[FUEL]), bounds_of)
        ahead.search, ahead.mark = int(progress[SEARCH]), int(progress[MARK])
        self.effort = self.effort.plus(Effort(fuel=fuel - int(progress[FUEL])))
        return _ways(levels, int(progress[LEVEL])), bool(progress[FUEL] >= 0 and progress[LEVEL] < LEVELS)

    def _expand(self, level: Ints, fuel: int, bounds_of: Bounds) -> None:
        """Remembers what follows the first of these configurations, as far as the fuel lasts."""
        missing = self._ahead.missing(level)
        expanded = self._tables.expand(missing.tolist(), fuel)
        if expanded:
            following = np.concatenate([one.configurations for one in expanded])
            lengths = np.array([len(one.configurations) for one in expanded])
            costs = np.array([one.cost for one in expanded])
            self._remember(missing[: len(expanded)], lengths, costs, following, bounds_of)

    def _remember(self, configurations: Ints, lengths: Longs, costs: Longs, following: Ints, bounds_of: Bounds) -> None:
        bounds, fewest = bounds_of(following), self._least_of(following)
        self._ahead.add(configurations, lengths, costs, following, bounds, fewest)

    def _begin_anew(self, bounds_of: Bounds) -> None:
        """Forgets what is remembered, and begins with what the search for the minimum has left, if that is little: to
        look up its bounds all at once is quicker.
        """
        packed = self._tables.packed
        self._ahead = KnownAhead()
        if 0 < len(packed.following) <= min(_FEW, self._most_bytes // 64):
            lengths = np.diff(packed.first).astype(np.int64)
            self._remember(packed.configurations, lengths, packed.costs, packed.following, bounds_of)


def _ways(levels: Ints, count: int) -> Ways:
    """Ways from the configurations of the first of so many levels."""
    if not count:
        return {}
    place, distance, onward, _ = levels[:, : levels[PAST, count - 1]].tolist()
    ways: Ways = {}
    for first in range(levels[PAST, 0]):
        if distance[first] < INFINITE:
            on_way, at = [place[first]], onward[first]
            while at >= 0:
                on_way.append(place[at])
                at = onward[at]
            ways[place[first]] = distance[first], [*on_way, ~at]
    return ways


def _may_fit(bounds: Ints, most: int) -> Flags:
    """Flags of the bounds that are near enough to look further. An infinite one tells nothing."""
    near: Flags = (bounds <= most) | (bounds >= INFINITE)
    return near
