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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple, TypeAlias

import numpy as np

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.array_types import Flags, Ints
from grammar_cache.configurations.interner import DEAD
from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.claims import Claims, Finding, Route
from grammar_cache.distances.effort import Effort
from grammar_cache.distances.horizon import Horizon
from grammar_cache.successors.successors import Successors
from grammar_cache.successors.tables import SuccessorTables
from grammar_cache.vocabulary.vocabulary import Vocabulary

SLACK = 2
"""Tokens that a way may seem to lack: a token that spans the end of a rule saves mostly one, after a detour of one."""
WIDE_SLACK, WIDE_SHARE = 4, 40
"""Tokens that a way may seem to lack where looking for all of that takes no more than so small a part of the fuel."""
VISIT_COST = 100
"""Cost of looking at a configuration once more, at another number of tokens, in units of fuel."""
UNTOLD = 1_000
"""Searches that are kept to tell others of them: as many as a table in a store has room for."""

Bounds: TypeAlias = Callable[[Ints], Ints]
"""Function from configurations to bounds on their distances that are known without a search from there."""

Ways: TypeAlias = dict[int, tuple[int, list[int]]]
"""Ways by the configuration that they begin with: its distance, and those from it on to where the bound is enough."""


@dataclass(slots=True)
class _Visit:
    """A configuration on some level: the tokens that complete it, what to go on with for that (-1: nothing is known),
    and what it may go on with on the next level.
    """

    distance: int
    ahead: int = -1
    onward: Sequence[int] = ()


class _Ahead(NamedTuple):
    """Bounds of what follows a configuration, the least and the most of them."""

    bounds: Ints
    least: int
    most: int


class HorizonSearch:
    """Searches over the tables of one grammar. `searches` counts them, `effort` says what they cost."""

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
        self._ahead: LruCache[int, _Ahead] = LruCache(cache_bytes)
        self._claims = claims
        self._least_of = least_of
        self._untold: list[tuple[int, int, list[tuple[int, ...]]]] = []
        self._vouched: dict[int, tuple[int, int]] = {}
        self.searches = 0
        self._fuel_spent = 0
        self._seconds = 0.0

    def of(self, configuration: int, tokens: int, bounds_of: Bounds) -> Horizon:
        """Horizon of a configuration: what fits behind one token, so many being left behind it."""
        successors = self._tables.successors(configuration)
        bounds = bounds_of(successors.configurations)
        distances = np.where(bounds <= tokens, bounds, INFINITE).astype(np.int32)
        ways: Ways = {}
        if tokens > 0:
            [places] = np.nonzero((bounds > tokens) & _may_fit(bounds, tokens + WIDE_SLACK))
            if len(places):
                places = places[np.argsort(bounds[places], kind="stable")]
                first = successors.configurations[places]
                ways = self._found(configuration, first.tolist(), tokens, bounds_of)
                distances[places] = [ways[after][0] if after in ways else INFINITE for after in first.tolist()]
        nearest = int(successors.configurations[distances.argmin()]) if len(distances) else DEAD
        onward = tuple(ways[nearest][1]) if nearest in ways else ()
        order = np.argsort(successors.configurations)
        return Horizon(successors.configurations, successors.strings, distances, order, onward)

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
    def effort(self) -> Effort:
        """Effort of all searches so far."""
        return Effort(self.searches, self._fuel_spent, self._seconds)

    @property
    def remembered(self) -> int:
        """Number of configurations that were vouched for, and of searches that wait to be told."""
        return len(self._vouched) + len(self._untold)

    @property
    def held_bytes(self) -> int:
        """Bytes of bounds that were looked up."""
        return self._ahead.size

    def _found(self, configuration: int, first: list[int], tokens: int, bounds_of: Bounds) -> Ways:
        """Ways from those of the `first` level that fit: told by others, or searched for."""
        claimed = None if self._claims is None else self._claims.horizon(configuration, tokens)
        if self._claims is not None and claimed is not None:
            ways = self._followed(configuration, claimed, set(first), tokens, bounds_of)
            if ways is not None:
                return ways
            self._claims.rejected += 1
        self.searches += 1
        begun = perf_counter()
        ways = self._searched(first, tokens, bounds_of)
        self._seconds += perf_counter() - begun
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
                data = self._vocabulary.spelling[token] if 0 <= token < self._vocabulary.size else None
                on_way.append(DEAD if data is None else self._tables.token(on_way[-1], data))
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

    def _searched(self, first: list[int], tokens: int, bounds_of: Bounds) -> Ways:
        """Ways of the search that looks widely, if it comes to its end within its part of the fuel; else of the other.

        A wide search from any configuration on one of its ways looks at no more, so it comes to its end too.
        """
        ways, whole = self._search(first, tokens, WIDE_SLACK, self._fuel // WIDE_SHARE, bounds_of)
        if not whole:
            bounds = bounds_of(np.array(first, np.int32))
            near = [at for at, fits in zip(first, _may_fit(bounds, tokens + SLACK).tolist(), strict=True) if fits]
            ways, _ = self._search(near, tokens, SLACK, self._fuel, bounds_of)
        return ways

    def _search(self, first: list[int], tokens: int, slack: int, fuel: int, bounds_of: Bounds) -> tuple[Ways, bool]:
        """Ways from those of the `first` level that fit, as far as the fuel lasts; and whether it has lasted."""
        levels: list[dict[int, _Visit]] = []
        charged: dict[int, Successors] = {}
        level = first
        for left in range(tokens, 0, -1):
            level = self._possible(level, left)
            if not level:
                levels.append({})
                break
            visits, fuel = self._level(level, left - 1, slack, fuel, charged, bounds_of)
            if fuel < 0 and levels:
                break
            levels.append(visits)
            level = sorted({after for visit in visits.values() for after in visit.onward})
            if fuel < 0 or not level:
                break
        for here, behind in zip(reversed(levels[:-1]), reversed(levels[1:]), strict=True):
            for visit in here.values():
                for after in visit.onward:
                    if after in behind and 1 + behind[after].distance < visit.distance:
                        visit.distance, visit.ahead = 1 + behind[after].distance, after
        fits = [(at, visit.distance) for at, visit in levels[0].items() if visit.distance < INFINITE]
        return {at: (distance, _onward(levels, at)) for at, distance in fits}, fuel >= 0

    def _possible(self, level: list[int], tokens: int) -> list[int]:
        """Configurations that so many tokens may complete; from the others there is nothing to find."""
        enough = self._least_of(np.array(level, np.int32)) <= tokens
        return [at for at, possible in zip(level, enough.tolist(), strict=True) if possible]

    def _level(
        self,
        level: Sequence[int],
        tokens: int,
        slack: int,
        fuel: int,
        charged: dict[int, Successors],
        bounds_of: Bounds,
    ) -> tuple[dict[int, _Visit], int]:
        """Looks one token ahead of each configuration, `tokens` being left behind it: what it found, and the fuel left.

        Where that is below 0, it didn't last for all of them.
        """
        found: dict[int, _Visit] = {}
        given = fuel
        unknown = [at for at in level if at not in charged]
        expanded = dict(zip(unknown, self._tables.expand(unknown, fuel), strict=False))
        self._look_ahead(expanded, bounds_of)
        for at in level:
            if at in expanded:
                charged[at] = expanded[at]
                fuel -= charged[at].cost
            fuel -= VISIT_COST + len(charged[at].configurations) if at in charged else fuel + 1
            if fuel < 0:
                break
            found[at] = self._visit(at, charged[at].configurations, tokens, slack, bounds_of)
        self._fuel_spent += given - fuel
        return found, fuel

    def _look_ahead(self, expanded: Mapping[int, Successors], bounds_of: Bounds) -> None:
        """Looks up the bounds of what follows configurations, all at once, which is quicker."""
        fresh = [at for at in expanded if self._ahead.get(at) is None]
        if not fresh:
            return
        bounds, past = bounds_of(np.concatenate([expanded[at].configurations for at in fresh])), 0
        for at in fresh:
            first, past = past, past + len(expanded[at].configurations)
            self._keep_ahead(at, bounds[first:past].copy())

    def _keep_ahead(self, configuration: int, bounds: Ints) -> _Ahead:
        ahead = _Ahead(bounds, int(bounds.min(initial=INFINITE)), int(bounds.max(initial=0)))
        self._ahead.keep(configuration, ahead, bounds.nbytes + 300)
        return ahead

    def _visit(self, configuration: int, following: Ints, tokens: int, slack: int, bounds_of: Bounds) -> _Visit:
        """Looks at what follows a configuration, which is known if it was looked at before."""
        ahead = self._ahead.get(configuration) or self._keep_ahead(configuration, bounds_of(following))
        if ahead.least <= tokens:
            return _Visit(1 + ahead.least, int(following[ahead.bounds.argmin()]))
        if ahead.least > tokens + slack and ahead.most < INFINITE:
            return _Visit(INFINITE)
        return _Visit(INFINITE, onward=following[_may_fit(ahead.bounds, tokens + slack)].tolist())


def _onward(levels: Sequence[dict[int, _Visit]], at: int) -> list[int]:
    """Configurations from one of the first level on, to where the bound is enough."""
    on_way = [at]
    for level in levels:
        visit = level[on_way[-1]]
        on_way.append(visit.ahead)
        if not visit.onward:
            break
    return on_way


def _may_fit(bounds: Ints, most: int) -> Flags:
    """Flags of the bounds that are near enough to look further. An infinite one tells nothing."""
    near: Flags = (bounds <= most) | (bounds >= INFINITE)
    return near
