"""Distances that decoding relies on: additive where that is enough, else searched for.

Four kinds of knowledge meet here: additive distances, what the search for the minimum has found on its way, the search
near the horizon, and the exact search for one configuration. What decoding relies on (`minimum`, `distances`,
`distances_behind`) is a pure function of the grammar, the vocabulary and the limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.configurations.beyond_limit import beyond_limit
from grammar_cache.configurations.interner import DEAD, Configurations
from grammar_cache.distances.additive import INFINITE, Distances
from grammar_cache.distances.beam_bound import Completion, beam_bound
from grammar_cache.distances.claims import Claims, Finding
from grammar_cache.distances.cost_kernels import KnownWays, within
from grammar_cache.distances.effort import Effort
from grammar_cache.distances.exact_search import FEW, ExactSearch
from grammar_cache.distances.horizon.horizon import Horizon
from grammar_cache.distances.horizon.horizon_search import HorizonSearch
from grammar_cache.distances.lower_bounds import LowerBounds
from grammar_cache.errors import EmptyLanguage, LimitExceeded
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import Limits
from grammar_cache.loops.array_types import Ints
from grammar_cache.network.network import Network
from grammar_cache.successors.tables import SuccessorTables
from grammar_cache.vocabulary.vocabulary import Vocabulary

_NONE = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Minimum:
    """The fewest tokens of a complete answer; `exact`, or else an upper bound that is always enough."""

    tokens: int
    exact: bool


class SearchedDistances:
    """Distances over the tables of one grammar; `start` is the configuration of the empty text."""

    def __init__(self, network: Network, vocabulary: Vocabulary, limits: Limits, interrupt: Interrupt) -> None:
        """Raises LimitExceeded, Interrupted."""
        self.vocabulary = vocabulary
        self.limits = limits
        self._step_fuel = min(limits.step_fuel, limits.walk_fuel)  # searches go on from no narrow place
        self._begin_tables(network, interrupt)

    def _begin_tables(self, network: Network, interrupt: Interrupt) -> None:
        """Makes tables that know nothing but the start. Raises LimitExceeded, Interrupted."""
        vocabulary, limits = self.vocabulary, self.limits
        self._configurations = Configurations(network, limits.configurations, interrupt, widest=limits.byte_cost)
        self._tables = SuccessorTables(
            self._configurations, vocabulary, limits.table_bytes // 4, interrupt, limits.walk_fuel
        )
        self._distances = Distances(self._configurations, vocabulary, interrupt)
        self._claims = Claims(self._configurations, self._tables, vocabulary)
        self._lower_bounds = LowerBounds(self._configurations, vocabulary, interrupt)
        self._exact_search = ExactSearch(self._tables, self._lower_bounds, self._claims)
        self._minimum: Minimum | None = None
        self._path: Completion = {}
        self._cut: dict[int, tuple[int, int] | None] = {}
        self.start: int = self._configurations.start
        self._begin_searches(self._claims)

    @property
    def minimum(self) -> Minimum:
        """The fewest tokens that a complete answer needs, searched for once."""
        if self._minimum is None:
            self._minimum = self._searched()
        return self._minimum

    def distance(self, configuration: int) -> int | None:
        """An upper bound on the tokens still needed, 0 iff complete; None if no completion is known.

        Consistent: where it is n > 0 some token leads to a configuration of at most n - 1.
        """
        self._tighten_unknown(configuration)
        value = min(self._additive(configuration), self._tightened(configuration)[0])
        return None if value >= INFINITE else value

    def lower_bound(self, configuration: int) -> int:
        """Tokens that any completion takes, at least: 0 iff complete, INFINITE where nothing completes it."""
        return int(self._lower_bounds.of(np.array([configuration], np.int32))[0])

    def distances(self, configurations: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        """Distances with `tokens` left, of configurations each by itself: additive where that is enough, else searched
        for; INFINITE where more is needed than is left, and for DEAD. Any shape, int32.
        """
        self._distances.update()
        values = np.empty(configurations.shape, np.int32)
        if within(self._distances.additive, configurations.ravel(), int(tokens), INFINITE, values.ravel()):
            return values
        farther = (values > tokens) & (configurations >= 0)
        if self._claims.waiting:
            self._exact_search.recall(np.unique(configurations[farther]).tolist())
        for place in np.argwhere(farther):
            values[tuple(place)] = self._search_within(int(configurations[tuple(place)]), tokens)
        return values

    def distances_behind(self, configuration: int, after: NDArray[np.int32], tokens: int) -> NDArray[np.int32]:
        """Distances of what tokens of a configuration lead to, as decoding uses them with `tokens` left behind the
        token: INFINITE for those that aren't viable, and for DEAD. Any shape, int32.

        Those that the additive distance lets in are viable, and those that one bounded search from the configuration
        finds to fit. So as long as a text goes on with viable tokens, there are some.
        """
        self._distances.update()
        values = np.empty(after.shape, np.int32)
        if within(self._distances.additive, after.ravel(), int(tokens), INFINITE, values.ravel()):
            return values
        farther = (values > tokens) & (after >= 0)
        if farther.any():
            values[farther] = self._horizon(configuration, int(tokens)).of(after[farther])
        return values

    @property
    def effort(self) -> Effort:
        """Effort of searches so far: less where others have told what theirs found."""
        return self._exact_search.effort.plus(self._horizon_search.effort)

    def offer(self, claims: Mapping[bytes, Finding]) -> None:
        """Takes what others have found for this grammar, vocabulary and limits, as their `learned` returned it: answers
        come sooner and are the same. Claims that don't stand are passed over: see `rejected_claims`.
        """
        _ = self.minimum  # its search is part of every grammar, and asks nobody
        self._claims.offer(claims)

    def learned(self) -> dict[bytes, Finding]:
        """Claims found by searches since the last call, for others, who may `offer` them."""
        found = [completion for completion in self._exact_search.untold() if completion.configurations[0] != self.start]
        return dict(map(self._claims.stated, found)) | self._horizon_search.learned()

    @property
    def offered(self) -> Mapping[bytes, Finding]:
        """Claims that were offered and not looked at yet: for whoever has a copy of this grammar."""
        return self._claims.waiting

    @property
    def rejected_claims(self) -> int:
        """Number of offered claims that were looked at and didn't stand."""
        return self._claims.rejected

    def _begin_searches(self, claims: Claims | None) -> None:
        """Searches with few tokens left go over the tables that the grammar has now, and know nothing yet."""
        cache_bytes, bounds = self.limits.table_bytes // 16, self._lower_bounds.of_cheap
        self._horizon_search = HorizonSearch(
            self._tables, bounds, self.vocabulary, self._step_fuel, cache_bytes, claims
        )
        self._horizons: LruCache[tuple[int, int], Horizon] = LruCache(self.limits.table_bytes // 8)
        self._on_the_way: Completion = {}
        self._ways = KnownWays(_NONE, _NONE, _NONE)
        self._on_ways = np.array([INFINITE], np.int32)  # distances by configuration; the last one is that of all others

    def _next(self, configuration: int, left: int | None) -> Sequence[int]:
        """The next string of the witness, or all that one search has found. Where the additive distance fits, nothing
        else is asked: there is room for it beyond all limits.
        """
        additive, known, string, onward = self._additive(configuration), INFINITE, -1, tuple[int, ...]()
        if left is None:
            with suppress(LimitExceeded):
                self._tighten_unknown(configuration)
                known, string = self._tightened(configuration)
        elif additive > left:
            known, string = self._known(configuration)
            if known > left:
                known, string, way = self._horizon_in_any_case(configuration, left - 1).nearest()
                onward = self._horizon_search.strings(way)
        if min(additive, known) >= INFINITE:
            raise EmptyLanguage("no completion of this text is known")
        return [self._distances.witness(configuration)] if additive < known else [string, *onward]

    def _additive(self, configuration: int) -> int:
        self._distances.update()
        return int(self._distances.additive[configuration])

    def additives(self, configurations: NDArray[np.int32]) -> NDArray[np.int32]:
        """Additive distances of configurations, int32[k]; INFINITE where none is known."""
        self._distances.update()
        return self._distances.additive[configurations]

    def _known(self, configuration: int) -> tuple[int, int]:
        """The distance that the search from the start has found here, and the next string of its completion."""
        _ = self.minimum
        return self._on_the_way.get(configuration, (INFINITE, -1))

    def _tightened(self, configuration: int) -> tuple[int, int]:
        """The least distance that any search has found here, and the next string of its completion."""
        exact, known = self._exact_search.known(configuration), self._known(configuration)
        if exact is None or exact >= known[0]:
            return known
        return exact, self._exact_search.witness(configuration) if exact else -1

    def _bounds(self, configurations: Ints) -> Ints:
        """Distances that are known without a search from there: additive, or of the search from the start."""
        self._distances.update()
        return np.minimum(self._distances.additive[configurations], self._on_ways.take(configurations, mode="clip"))

    def _horizon(self, configuration: int, tokens: int) -> Horizon:
        """Successors of a configuration that fit, with so many tokens left behind them."""
        _ = self.minimum  # its path is part of every grammar, so it comes before any smaller search
        known = self._horizons.get((configuration, tokens))
        if known is None:
            known = self._found_horizon(configuration, tokens)
            self._horizons.keep((configuration, tokens), known, known.size_bytes)
        return known

    def _horizon_in_any_case(self, configuration: int, tokens: int) -> Horizon:
        """Successors as `_horizon` tells them, for a text that has to be completed."""
        try:
            return self._horizon(configuration, tokens)
        except LimitExceeded:
            with beyond_limit(self._configurations):
                return self._horizon(configuration, tokens)

    def _found_horizon(self, configuration: int, tokens: int) -> Horizon:
        horizon = self._horizon_search.of(configuration, tokens, self._bounds)
        cut = self._added_witness(configuration)
        if cut is not None:
            string, after = cut
            distance = int(self._bounds(np.array([after], np.int32))[0])
            horizon = horizon.plus(after, string, distance if distance <= tokens else INFINITE)
        fits = horizon.distances <= tokens
        if fits.any() or tokens < 0 or self._tables.accepts(configuration):
            return horizon
        distance, string = self._horizon_search.vouched(configuration)
        if self._exact_search.within(configuration, tokens + 1, self._step_fuel):
            string = self._exact_search.witness(configuration)
            distance = 1 + (self._exact_search.known(self._tables.after(configuration, string)) or 0)
        if distance <= min(tokens + 1, INFINITE - 1):
            after = self._tables.after(configuration, string)
            horizon = horizon.plus(after, string, distance - 1)  # a narrow place may not have it
            horizon.distances[horizon.configurations == after] = distance - 1
        return horizon

    def _tighten_unknown(self, configuration: int) -> None:
        _ = self.minimum  # its path is part of every grammar, so it comes before any smaller search
        if self._additive(configuration) >= INFINITE:
            self._exact_search.within(configuration, INFINITE - 1, self._step_fuel)

    def _searched(self) -> Minimum:
        """The minimum: proved by the exact search, or as far as it came, and what a descent then finds."""
        bound, fuel, start = self._additive(self.start), self.limits.start_fuel, self.start
        if bound == 0:
            return Minimum(0, True)
        found = self._exact_search.within(start, bound - 1, fuel, led=bound > FEW) or self._path
        if not found and self._exact_search.least(start) < bound < INFINITE:
            self._path = beam_bound(self._tables, self._distances, self.vocabulary, start, bound, fuel)
        self._on_the_way = self._path | self._exact_search.completions()
        ways = sorted((at, *way) for at, way in self._on_the_way.items())
        self._ways = KnownWays(*np.array(ways, np.int32).reshape(-1, 3).T.copy())
        self._on_ways = np.full(self._ways.places.max(initial=-1) + 2, INFINITE, np.int32)
        self._on_ways[self._ways.places] = self._ways.distances
        self._configurations.trim(self._on_the_way)  # what else the search has taken can be made again
        self._tables.pack()
        bound = min(bound, self._on_the_way.get(start, (INFINITE, -1))[0])
        return Minimum(bound, self._exact_search.least(start) >= bound)

    def _search_within(self, configuration: int, tokens: int) -> int:
        """A distance of at most `tokens` that a search finds, else INFINITE."""
        known, _ = self._known(configuration)
        if known <= tokens:
            return known
        if tokens < 0:
            return INFINITE
        if self._exact_search.within(configuration, tokens, self._step_fuel):
            return self._exact_search.known(configuration) or 0
        if not self._tables.expand([configuration], self._step_fuel):
            return INFINITE
        return self._horizon(configuration, tokens - 1).nearest()[0]

    def _added_witness(self, configuration: int) -> tuple[int, int] | None:
        """The next string of the witness, and the configuration behind it, where masks may not have it otherwise."""
        if self._tables.is_narrow(configuration):
            return self._found_cut(configuration, readable=True)
        return self._cut_witness(configuration) if self._configurations.cut else None

    def _cut_witness(self, configuration: int) -> tuple[int, int] | None:
        """The next string of the witness, and the configuration behind it, where reading it costs too much: where one
        byte of it does, only the items of the least distance go there. None where it doesn't, or where a text may end.
        """
        if configuration not in self._cut:
            self._cut[configuration] = self._found_cut(configuration, readable=False)
        return self._cut[configuration]

    def _found_cut(self, configuration: int, *, readable: bool) -> tuple[int, int] | None:
        """`readable`: also where reading it costs no more than it may."""
        additive, (known, string) = self._additive(configuration), self._known(configuration)
        if self._tables.accepts(configuration) or min(additive, known) >= INFINITE:
            return None
        least = configuration
        if additive < known:
            string = self._distances.witness(configuration)
        data = self.vocabulary.strings[string]
        if not readable and self._tables.token(configuration, self._token(string)) != DEAD:
            return None
        after = self._tables.follow(configuration, data)
        if after != DEAD:
            return string, after
        if additive < known:
            items = self._distances.least_items(configuration)
            least = self._configurations.of_items(items, accepting=False, reserved=True)
        return string, self._tables.follow_alone(least, data)

    def _behind_cut(self, configuration: int, data: bytes) -> int:
        """The configuration behind the bytes of a token that leads nowhere, if it is the witness's."""
        if configuration == DEAD:
            return DEAD
        cut = self._cut_witness(configuration)
        return cut[1] if cut is not None and self.vocabulary.strings[cut[0]] == data else DEAD

    def _token(self, string: int) -> int:
        return int(self.vocabulary.token_list[self.vocabulary.token_offsets[string]])
