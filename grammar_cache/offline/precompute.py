"""Exact distances of all configurations up to a stack height at once, offline.

A search goes forward from one configuration, and from the next one again. Here the tokens of every configuration are
walked once, and distances are solved backwards over all of them,

    d(e) = least of  additive(e)  and, over the tokens t of the vocabulary,  1 + d(e·t),

where e·t beyond the height has its additive distance. So d is an upper bound everywhere, and the token for which the
minimum is reached leads to a configuration that has one token less: completions are followed token by token. Solved
once more with the least that could be beyond the height (1 token, or 0 where the text is complete), it is a lower
bound. Where the two meet, d is exact.

The work falls into pieces, each a function of grammar, vocabulary, height and number of configurations alone, so that
several processes can share it: see `store.precomputing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from grammar_cache.configurations.content_keys import ConfigurationKeys
from grammar_cache.configurations.interner import Configurations
from grammar_cache.distances.additive import INFINITE, Distances
from grammar_cache.errors import UnsupportedFeature
from grammar_cache.grammar import CompiledGrammar
from grammar_cache.interrupt import Interrupt
from grammar_cache.limits import NODES
from grammar_cache.loops.array_types import Ints
from grammar_cache.offline.distance_table import DistanceTable, Entry
from grammar_cache.offline.enumeration import enumerate_configurations
from grammar_cache.offline.successor_graph import SuccessorGraph
from grammar_cache.successors.tables import SuccessorTables

PIECE = 256
"""Configurations of a piece, if nobody says otherwise: a second or less."""

INTERNED = 4
"""Configurations that may be met in all, for each one of the enumeration."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """`exact` of the `configurations` have a distance that is proved to be the least, `lower` one below the additive.

    `pairs`: the distinct items (state, stack) in them. `walked`: those whose tokens were walked or didn't have to be.
    """

    configurations: int
    pairs: int
    walked: int
    exact: int
    lower: int


class Precomputation:
    """Precomputation of one grammar, to a height. It has tables of its own: the grammar's stay as they are, for whoever
    uses it.
    """

    def __init__(
        self,
        grammar: CompiledGrammar,
        height: int,
        most: int = NODES,
        size: int = PIECE,
        interrupt: Interrupt | None = None,
    ) -> None:
        """Enumerates up to `most` configurations. `size`: of a piece.

        Raises UnsupportedFeature where items may not repeat, LimitExceeded(configurations), Interrupted.
        """
        if grammar.network.unique:
            raise UnsupportedFeature("a grammar with arrays whose items may not repeat has no table of distances")
        self.height = height
        self.most = most
        self.size = size
        self.vocabulary = grammar.vocabulary
        interrupt = interrupt or Interrupt()
        limit = grammar.limits.configurations + INTERNED * most
        table = Configurations(grammar.network, limit, interrupt)
        self._table = table
        self._tables = SuccessorTables(table, grammar.vocabulary, grammar.limits.table_bytes, interrupt)
        self._distances = Distances(table, grammar.vocabulary, interrupt)
        self.enumeration = enumerate_configurations(table, height, most, interrupt)
        numbers = np.array(self.enumeration.configurations, np.int32)
        self._numbers = numbers
        self._distances.update()
        self._additive = self._distances.additive[numbers]
        self._place = np.full(table.count, -1, np.int32)
        self._place[numbers] = np.arange(len(numbers), dtype=np.int32)

    @property
    def pieces(self) -> int:
        """Number of pieces."""
        return -(-len(self._numbers) // self.size)

    def piece(self, number: int) -> SuccessorGraph:
        """Piece of the graph: the places that tokens lead to from some of the configurations. Raises
        LimitExceeded(configurations), Interrupted.
        """
        begin, size = self.size * number, self._length(number)
        additive = self._additive[begin : begin + size]
        far = np.flatnonzero(additive > 1).astype(np.int32)
        found = self._tables.together(self._numbers[begin + far].tolist())
        self._distances.update()
        if not found:
            return SuccessorGraph.empty(size)
        source = np.repeat(far, [len(one.strings) for one in found])
        after = np.concatenate([one.configurations for one in found])
        string = np.concatenate([one.strings for one in found])
        least = np.where(self._table.arena.accepts[after], 0, 1).astype(np.int32)
        nearer = least + 1 < additive[source]
        return self._piece(size, source[nearer], after[nearer], string[nearer], least[nearer])

    def read(self, number: int, data: bytes) -> SuccessorGraph:
        """Reads a piece that another process has written. Raises ArtefactError."""
        return SuccessorGraph.from_bytes(data, self._length(number), len(self._numbers), len(self.vocabulary.strings))

    def table(self, grammar_id: str, pieces: Mapping[int, SuccessorGraph]) -> tuple[DistanceTable, Coverage]:
        """The distances that are below the additive ones. A piece that isn't there makes some of them higher."""
        sizes = [self._length(number) for number in range(self.pieces)]
        nothing = {number: SuccessorGraph.empty(size) for number, size in enumerate(sizes) if number not in pieces}
        found = SuccessorGraph.joined([piece for _, piece in sorted((nothing | dict(pieces)).items())])
        upper = found.solved(np.minimum(self._additive, found.beyond + 1))
        walked = np.repeat([number in pieces for number in range(self.pieces)], sizes)
        least = np.where(walked, found.least_beyond + 1, np.minimum(self._additive, 1))
        lower = found.solved(np.minimum(self._additive, least))
        improved = np.flatnonzero(upper < self._additive)
        keys = ConfigurationKeys(self._table)
        lengths = self.vocabulary.lengths
        entries = {
            keys.of(int(self._numbers[place])): Entry(int(upper[place]), found.onward(upper, place, lengths))
            for place in improved.tolist()
        }
        outcome = Coverage(
            configurations=len(self._numbers),
            pairs=self._pairs(),
            walked=int((walked | (self._additive <= 1)).sum()),
            exact=int((upper == lower).sum()),
            lower=len(improved),
        )
        whole = len(self.enumeration.through) - 1
        return DistanceTable.of(grammar_id, self.vocabulary, whole, int(lower[0]), entries), outcome

    def _pairs(self) -> int:
        """The distinct items of the enumeration."""
        items = (item for number in self._numbers.tolist() for item in self._table.items(number))
        return len(np.unique(np.fromiter((state << 32 | node for state, node in items), np.int64)))

    def _length(self, number: int) -> int:
        return min(self.size, len(self._numbers) - self.size * number)

    def _piece(self, size: int, source: Ints, after: Ints, string: Ints, least: Ints) -> SuccessorGraph:
        """Piece of the tokens that could bring their sources, which ascend, below the additive distance."""
        place = np.full(len(after), -1, np.int32)
        met = after < len(self._place)
        place[met] = self._place[after[met]]
        inside, outside = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
        bounds = self._distances.additive[after]
        lengths = self.vocabulary.lengths[string]
        ranked = outside[np.lexsort((string[outside], lengths[outside], bounds[outside], source[outside]))]
        rows, firsts = np.unique(source[ranked], return_index=True)
        best = ranked[firsts]
        piece = SuccessorGraph.empty(size)
        piece.beyond[rows], piece.beyond_string[rows] = bounds[best], string[best]
        least_beyond = np.full(size, INFINITE, np.int32)
        np.minimum.at(least_beyond, source[outside], least[outside])
        first = np.searchsorted(source[inside], np.arange(size + 1)).astype(np.int32)
        return replace(piece, first=first, target=place[inside], string=string[inside], least_beyond=least_beyond)


def computed_table(
    grammar: CompiledGrammar, grammar_id: str, height: int, most: int = NODES, interrupt: Interrupt | None = None
) -> DistanceTable:
    """All of it in this process. Raises LimitExceeded(configurations), Interrupted."""
    precomputation = Precomputation(grammar, height, most, interrupt=interrupt)
    pieces = {number: precomputation.piece(number) for number in range(precomputation.pieces)}
    return precomputation.table(grammar_id, pieces)[0]
