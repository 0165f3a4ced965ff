"""A compiled grammar whose distances are those of a table too, where these can be followed.

An entry stands if its string leads to a configuration that is a token nearer: by its additive distance, or by an entry
that stands itself. Distances fall along the way, so no two entries hold each other up, and what stands has been
followed until an additive distance vouches for the rest. So d = min(additive, table, search) is consistent, whatever
the table says, and a function of grammar, vocabulary, limits and table.
"""

from __future__ import annotations

import numpy as np

from grammar_cache.algorithms.lru import LruCache
from grammar_cache.configurations.content_keys import ConfigurationKeys
from grammar_cache.configurations.interner import DEAD
from grammar_cache.distances.additive import INFINITE
from grammar_cache.distances.horizon.horizon import Horizon
from grammar_cache.distances.searched_distances import Minimum
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.offline.distance_table import DistanceTable, Entry


class TabledGrammar(CompiledGrammar):
    """Compiled grammar with a table of distances. The copy shares what the original is made from, searches included: a
    table makes no search answer otherwise.

    Distances are looked up in the table where the additive ones are not enough.
    """

    def __init__(self, grammar: CompiledGrammar, table: DistanceTable) -> None:
        """`grammar`: compiled from what the table's grammar id stands for; of another one, no entry is found."""
        searched = grammar.minimum
        vars(self).update(vars(grammar))
        self.plain = grammar
        self.table = table
        self.rejected_entries = 0
        self._keys = ConfigurationKeys(self._configurations)
        self._stands: dict[int, Entry | None] = {}
        self._horizons = LruCache(grammar.limits.table_bytes // 8)
        self._tight_masks = LruCache(grammar.limits.table_bytes // 8)
        tokens = min(searched.tokens, self._tabled(self.start).distance)
        least = max(self._exact_search.least(self.start), table.least)
        self._minimum = Minimum(tokens, searched.exact or least >= tokens)

    def anew(self) -> TabledGrammar:
        return TabledGrammar(self.plain.anew(), self.table)

    def _tabled(self, configuration: int) -> Entry:
        """Entry of the table, if it stands; INFINITE if there is none."""
        if configuration not in self._stands:
            self._follow(configuration)
        return self._stands[configuration] or _NOTHING

    def _follow(self, configuration: int) -> None:
        """All entries on the way stand, or none does."""
        way: dict[int, Entry | None] = {}
        at, left = configuration, INFINITE
        while True:
            known = at in self._stands
            entry = self._stands[at] if known else self.table.entry(self._keys.of(at))
            stands = entry is not None and entry.distance <= left
            if entry is None or not stands or known:
                break
            way[at] = entry
            at, left = self._tables.after(at, entry.string), entry.distance - 1
            stands = at != DEAD and self._additive(at) <= left
            if stands or at == DEAD:
                break
        if not stands:
            self.rejected_entries += len(way)
            way = dict.fromkeys((configuration, *way))
        self._stands |= way

    def _known(self, configuration: int) -> tuple[int, int]:
        return min(super()._known(configuration), self._tabled(configuration), key=_distance)

    def _tighten_unknown(self, configuration: int) -> None:
        if self._tabled(configuration).distance >= INFINITE:
            super()._tighten_unknown(configuration)

    def _found_horizon(self, configuration: int, tokens: int) -> Horizon:
        horizon = super()._found_horizon(configuration, tokens)
        for place in np.flatnonzero(horizon.distances > tokens).tolist():
            tabled = self._tabled(int(horizon.configurations[place])).distance
            if tabled <= tokens:
                horizon.distances[place] = tabled
        return horizon


_NOTHING = Entry(INFINITE, -1)


def _distance(found: tuple[int, int]) -> int:
    return found[0]
