"""The exact distance, by search: additive distances charge a token that spans the end of a rule twice.

Over distinct configurations, token by token, until one accepts: those first that may need the fewest tokens in all, by
their depth and a lower bound on what is ahead (A*: Hart, Nilsson and Raphael, "A Formal Basis for the Heuristic
Determination of Minimum Cost Paths", 1968). What needs more than the horizon in any case is never looked at.

What a search finds is exact, so it may be remembered: a shortest path from e also holds the shortest path from
everything on it, and a search from there would have visited no more than this one did. So the answers of `within` are a
pure function of grammar, vocabulary, limits and configuration, whatever was searched before; memory only makes them
faster. So do claims, by which other processes tell what the same search has found there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.claims import Claims, Route
from grammar_cache.distances.effort import NO_EFFORT, Effort
from grammar_cache.distances.frontier import Frontier, joined
from grammar_cache.distances.lower_bounds import LowerBounds
from grammar_cache.loops.array_types import Ints
from grammar_cache.successors.tables import SuccessorTables

FEW = 6
"""Tokens of an answer that a search finds sooner than lower bounds are solved, if any does: of 660 models 5."""


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """`distance` tokens if known; else at least `least`, and `dry` if looking again would tell no more.

    `proved` tokens are needed in any case: what reading a token costs may keep out shorter completions.
    """

    distance: int | None
    least: int
    dry: bool
    proved: int = 0


class ExactSearch:
    """Exact distances found so far, with the string that begins a shortest completion."""

    def __init__(self, tables: SuccessorTables, bounds: LowerBounds, claims: Claims | None = None) -> None:
        """Starts with an empty memory. Without `claims`, nothing is learned from others, and nothing kept to tell
        them.
        """
        self._tables = tables
        self._bounds = bounds
        self._claims = claims
        self._outcomes: dict[int, SearchOutcome] = {}
        self._next: dict[int, int] = {}
        self._unsent: list[int] = []
        self.effort = NO_EFFORT
        """Effort of all searches so far."""

    @property
    def remembered(self) -> int:
        """Number of outcomes that are remembered."""
        return len(self._outcomes)

    def known(self, configuration: int) -> int | None:
        """The exact distance, if a search has met this configuration on a shortest path."""
        outcome = self._outcomes.get(configuration)
        return outcome.distance if outcome else None

    def least(self, configuration: int) -> int:
        """A lower bound on the distance, as far as searches from here have come and have seen all tokens."""
        outcome = self._outcomes.get(configuration)
        return outcome.proved if outcome else 0

    def witness(self, configuration: int) -> int:
        """The string that begins a shortest completion, given that the distance is known and above 0."""
        return self._next[configuration]

    def outcome(self, configuration: int) -> SearchOutcome | None:
        """Outcome of the search from a configuration, if there was one."""
        return self._outcomes.get(configuration)

    def completions(self) -> dict[int, tuple[int, int]]:
        """Exact distances by configuration, each with the string that begins a shortest completion."""
        return {
            configuration: (outcome.distance, self._next.get(configuration, -1))
            for configuration, outcome in self._outcomes.items()
            if outcome.distance is not None
        }

    def learn(self, configuration: int, outcome: SearchOutcome, string: int = -1) -> None:
        """Records an outcome that the same search had elsewhere, and the string that begins a shortest completion, if
        it found one.
        """
        self._outcomes[configuration] = outcome
        if string >= 0:
            self._next[configuration] = string

    def recall(self, configurations: Iterable[int]) -> None:
        """Learns what is claimed of these, where it stands and nothing that is known contradicts it."""
        if self._claims is None:
            return
        for completion in self._claims.completions(c for c in configurations if c not in self._outcomes):
            if self._agrees(completion):
                strings = reversed((*completion.strings, -1))
                for distance, (at, string) in enumerate(zip(reversed(completion.configurations), strings, strict=True)):
                    self.learn(at, SearchOutcome(distance, distance, False), string)
            else:
                self._claims.rejected += 1

    def untold(self) -> list[Route]:
        """Ways found since the last call: a shortest completion from where each began."""
        begun, self._unsent = self._unsent, []
        return [self._completion(configuration) for configuration in begun]

    def within(self, configuration: int, tokens: int, fuel: int, led: bool = False) -> bool:
        """Whether the exact distance is at most `tokens`, as far as the fuel tells; `led`: bounds are worth solving."""
        self.recall([configuration])
        outcome = self._outcomes.get(configuration)
        if outcome is None or (outcome.distance is None and not outcome.dry and outcome.least <= tokens):
            begun = perf_counter()
            outcome = self._search(configuration, tokens, fuel, led)
            self.effort = self.effort.plus(Effort(seconds=perf_counter() - begun))
        return outcome.distance is not None and outcome.distance <= tokens

    def _search(self, start: int, horizon: int, fuel: int, led: bool) -> SearchOutcome:
        """Searches led by bounds: before they are solved, first without them where that costs less."""
        self.effort = self.effort.plus(Effort(searches=1))
        outcome = None
        if not (led or self._bounds.solved):
            outcome = self._led(start, horizon, min(fuel // 10, self._bounds.price), self._bounds.of_none)
        if outcome is None or (outcome.distance is None and outcome.dry and outcome.least < INFINITE):
            outcome = self._led(start, horizon, fuel, self._bounds.of)
        self._outcomes[start] = outcome
        if outcome.distance is not None and self._claims is not None:
            self._unsent.append(start)
        return outcome

    def _led(self, start: int, horizon: int, fuel: int, bounds_of: Callable[[Ints], Ints]) -> SearchOutcome:
        """Searches by such bounds, as far as the fuel lasts, and remembers the shortest completions."""
        first = np.array([start], np.int32)
        frontier = Frontier(start, int(bounds_of(first)[0]), horizon)
        short = INFINITE
        while (level := frontier.nearest()) is not None:
            least, depth, configurations = level
            accepting = configurations[self._tables.accepting(configurations)]
            if len(accepting):
                self._record(frontier, accepting)
                return SearchOutcome(depth, depth, False, min(depth, short))
            unknown = [at for at in configurations.tolist() if at not in frontier.expanded]
            found = self._tables.expand(unknown, fuel)
            frontier.expanded.update(zip(unknown, found, strict=False))
            cost = sum(successors.cost for successors in found)
            fuel -= cost
            self.effort = self.effort.plus(Effort(fuel=cost))
            if len(found) < len(unknown):
                return SearchOutcome(None, least, True, min(least, short))
            successors = [frontier.expanded[at] for at in configurations.tolist()]
            if not all(one.whole for one in successors):
                short = min(short, least)
            following = joined([one.configurations for one in successors])
            frontier.reach(following, bounds_of(following), depth + 1, least)
        dry = not frontier.beyond
        least = INFINITE if dry else horizon + 1
        return SearchOutcome(None, least, dry, min(least, short))

    def _record(self, frontier: Frontier, accepting: Ints) -> None:
        """Has what lies on a shortest path learn its distance and next string."""
        self._outcomes.update(dict.fromkeys(accepting.tolist(), SearchOutcome(0, 0, False)))
        for configuration, (distance, string) in frontier.shortest_ways(accepting, self._tables.lengths).items():
            self._outcomes[configuration] = SearchOutcome(distance, distance, False)
            self._next[configuration] = string

    def _agrees(self, completion: Route) -> bool:
        """Whether it may be a shortest one, which a search from here finds: as far as is known already."""
        on_way = completion.configurations
        if len(set(on_way)) < len(on_way):
            return False
        for left, configuration in enumerate(reversed(on_way)):
            known = self._outcomes.get(configuration)
            if known is None or known.distance == left:
                continue
            if known.distance is not None or known.dry or known.least > left:
                return False
        return True

    def _completion(self, configuration: int) -> Route:
        on_way, strings = [configuration], list[int]()
        while not self._tables.accepts(on_way[-1]):
            strings.append(self._next[on_way[-1]])
            on_way.append(self._tables.after(on_way[-1], strings[-1]))
        return Route(tuple(on_way), tuple(strings))
